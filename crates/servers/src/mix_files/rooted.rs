//! The files of a site for a mix: of those that its server can serve as they are, the nearest in
//! length. Nothing is written, and no file is opened but those that are asked for.
//!
//! Only what everybody may read counts, as a server's workers are another user's. Links are not
//! followed, so nothing outside of the folder is asked for, and hidden files and those that servers
//! run or rewrite are passed over.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::requests::MixFiles;
use super::served_file::{ServedFile, http_date};
use zc_access_log::AskedMix;
use zc_load::is_target;
use zc_run::{Error, Result, escape, in_words};

/// The most files and folders that are looked at.
const MOST_ENTRIES: usize = 200_000;

/// The most folders in one another.
const DEEPEST: usize = 32;

/// Files that are this many times as long as the longest response of the mix are passed over: they
/// would be read for nothing.
const TIMES_LONGEST: u64 = 4;

/// Endings of names that servers run, or read on the way.
const RUN: [&str; 12] =
    ["php", "phtml", "cgi", "fcgi", "pl", "py", "rb", "lua", "shtml", "jsp", "asp", "aspx"];

/// What may be read, and entered, by everybody.
const ALL_MAY_READ: u32 = 0o004;
const ALL_MAY_ENTER: u32 = 0o001;

/// Finds files below `root` for a mix, and returns the requests for them. A server serves `root` by
/// the paths that begin with `prefix`, such as `/`.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): the folder cannot be read, or has no file to ask for.
pub fn mix_of_root(mix: &AskedMix, root: &Path, prefix: &str) -> Result<MixFiles> {
    let longest = mix.requests.iter().map(|asked| asked.bytes).max().unwrap_or(0);
    let found = Walk::below(root, prefix, longest.saturating_mul(TIMES_LONGEST))?;
    let mut files = found.files;
    if files.is_empty() {
        let name = escape(&root.to_string_lossy(), 400);
        let looked = match found.entries {
            0 => "it is empty".to_owned(),
            entries => format!("{entries} files and folders were looked at"),
        };
        let message =
            format!("the folder \"{name}\" has no file that a server can serve as it is: {looked}");
        return Err(Error::input("root-without-files", message).help(
            "name the folder of the site's files, which everybody may read; without --root zc \
             makes files of its own",
        ));
    }
    files.sort_by(|a, b| (a.bytes, &a.path).cmp(&(b.bytes, &b.path)));
    MixFiles::new(mix, &files)
}

/// The files of a folder and of those in it.
struct Walk<'a> {
    prefix: &'a str,
    most_bytes: u64,
    files: Vec<ServedFile>,
    entries: usize,
}

impl<'a> Walk<'a> {
    fn below(root: &Path, prefix: &'a str, most_bytes: u64) -> Result<Self> {
        let mut walk = Self { prefix, most_bytes, files: Vec::new(), entries: 0 };
        walk.folder(root, "", 0).map_err(|error| {
            let name = escape(&root.to_string_lossy(), 400);
            let message = format!("cannot read the folder \"{name}\": {}", in_words(&error));
            Error::input("cannot-read-root", message)
                .help("name the folder of the site's files, which this user may read")
        })?;
        Ok(walk)
    }

    /// What cannot be read further down is passed over: others have folders there.
    fn folder(&mut self, folder: &Path, below: &str, depth: usize) -> std::io::Result<()> {
        let mut folders: Vec<(PathBuf, String)> = Vec::new();
        for entry in fs::read_dir(folder)?.map_while(std::io::Result::ok) {
            if self.entries >= MOST_ENTRIES {
                break;
            }
            self.entries += 1;
            let (path, name) = (entry.path(), entry.file_name());
            // Of a link this is the link itself.
            let Ok(found) = entry.metadata() else { continue };
            if name.as_bytes().starts_with(b".") {
                continue;
            }
            let target = format!("{below}{}", percent_encoded(&name));
            if found.is_dir() && found.mode() & ALL_MAY_ENTER != 0 && depth < DEEPEST {
                folders.push((path, format!("{target}/")));
            } else if found.is_file() {
                self.file(path, &target, &found);
            }
        }
        // In order, so that the same files are found where there are too many.
        folders.sort();
        for (path, below) in folders {
            let _ = self.folder(&path, &below, depth + 1);
        }
        Ok(())
    }

    fn file(&mut self, path: PathBuf, target: &str, found: &Metadata) {
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        let is_run = RUN.iter().any(|other| ending.eq_ignore_ascii_case(other));
        let target = format!("{}{target}", self.prefix);
        let may_read = found.mode() & ALL_MAY_READ != 0;
        if is_run || !may_read || found.len() > self.most_bytes || !is_target(&target) {
            return;
        }
        let Some(modified) = http_date(found.mtime()) else { return };
        self.files.push(ServedFile { path, target, bytes: found.len(), modified });
    }
}

/// A name as a part of a URL's path (RFC 3986, 2.3).
fn percent_encoded(name: &OsStr) -> String {
    let mut text = String::new();
    for byte in name.as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(*byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use zc_access_log::{Asked, AskedKind, AskedOptions};
    use zc_load::Target;

    use super::*;

    fn mix(requests: &[(AskedKind, u64)]) -> AskedMix {
        let asked = requests.iter().map(|(kind, bytes)| Asked { kind: *kind, bytes: *bytes });
        AskedMix { requests: asked.collect(), ..AskedMix::usual(&AskedOptions::usual(1)) }
    }

    fn put(root: &Path, name: &str, bytes: usize) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let folders = path.ancestors().skip(1).take_while(|folder| *folder != root);
        folders.for_each(|it| fs::set_permissions(it, Permissions::from_mode(0o755)).unwrap());
        fs::write(&path, vec![b'x'; bytes]).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    }

    fn paths(files: &MixFiles) -> Vec<&str> {
        files.targets.each().iter().map(|target| &*target.path).collect()
    }

    #[test]
    fn the_nearest_files_are_asked_for() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), "small.css", 1000);
        put(root.path(), "a b/größer.png", 5000);
        put(root.path(), "a b/c/large.bin", 20_000);
        let mix = mix(&[
            (AskedKind::Get, 900),
            (AskedKind::Get, 4000),
            (AskedKind::Head, 19_000),
            (AskedKind::NotModified, 1),
            (AskedKind::Range, 6000),
            (AskedKind::Range, 30_000),
        ]);
        let files = mix_of_root(&mix, root.path(), "/").unwrap();
        let (small, middle, large) =
            ("/small.css", "/a%20b/gr%C3%B6%C3%9Fer.png", "/a%20b/c/large.bin");
        assert_eq!(paths(&files), [small, middle, large, small, large, large]);
        assert_eq!((files.files, files.file_bytes), (3, 26_000));
        // A range is as long as the mix has it, or all but one byte of the longest file.
        assert_eq!((files.mix_body_bytes, files.body_bytes), (40_900, 1000 + 5000 + 6000 + 19_999));
        let range = &files.targets.each()[5];
        assert_eq!(range.headers[0].1, "bytes=0-19998");
        let expected = files.targets.each()[1].expected.unwrap();
        assert_eq!(expected.crc32, Some(crc32fast::hash(&[b'x'; 5000])));
        let modified = fs::metadata(root.path().join("small.css")).unwrap().mtime();
        let unmodified: &Target = &files.targets.each()[3];
        assert_eq!(unmodified.headers[0].1, http_date(modified).unwrap());
        let below = mix_of_root(&mix, root.path(), "/static/").unwrap();
        assert_eq!(paths(&below)[0], "/static/small.css");
    }

    #[test]
    fn what_a_server_would_not_send_as_it_is_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        put(outside.path(), "secret", 1000);
        let of = |name: &str| root.path().join(name);
        symlink(outside.path().join("secret"), of("link")).unwrap();
        symlink(outside.path(), of("folder-link")).unwrap();
        symlink(".", of("circle")).unwrap();
        for name in [".hidden", ".git/config", "index.php", "CGI.PL", "private", "closed/x"] {
            put(root.path(), name, 1000);
        }
        put(root.path(), "too-long", 4001);
        fs::set_permissions(of("private"), Permissions::from_mode(0o640)).unwrap();
        fs::set_permissions(of("closed"), Permissions::from_mode(0o750)).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, of("pipe"), rustix::fs::Mode::from_raw_mode(0o666))
            .unwrap();
        let mix = mix(&[(AskedKind::Get, 1000)]);
        let error = mix_of_root(&mix, root.path(), "/").unwrap_err();
        assert_eq!((&*error.id, error.help.is_some()), ("root-without-files", true));
        put(root.path(), "page.html", 4000);
        assert_eq!(paths(&mix_of_root(&mix, root.path(), "/").unwrap()), ["/page.html"]);
    }

    #[test]
    fn a_folder_that_is_empty_or_none_is_a_sentence() {
        let root = tempfile::tempdir().unwrap();
        let gets = mix(&[(AskedKind::Get, 1000)]);
        let error = mix_of_root(&gets, root.path(), "/").unwrap_err();
        assert!(error.message.ends_with("as it is: it is empty"), "{error}");
        let gone = root.path().join("gone");
        let error = mix_of_root(&gets, &gone, "/").unwrap_err();
        assert_eq!(error.id, "cannot-read-root");
        put(root.path(), "empty", 0);
        // Of a file of one byte at most there is no part.
        let ranges = mix(&[(AskedKind::Range, 10)]);
        let files = mix_of_root(&ranges, root.path(), "/").unwrap();
        assert_eq!((files.targets.each()[0].expected.unwrap().status, files.body_bytes), (200, 0));
    }

    #[test]
    fn a_deep_folder_ends() {
        let root = tempfile::tempdir().unwrap();
        let deep = "d/".repeat(DEEPEST + 1);
        put(root.path(), &format!("{deep}x"), 1000);
        let mix = mix(&[(AskedKind::Get, 1000)]);
        assert_eq!(mix_of_root(&mix, root.path(), "/").unwrap_err().id, "root-without-files");
        put(root.path(), &format!("{}x", "d/".repeat(DEEPEST)), 1000);
        mix_of_root(&mix, root.path(), "/").unwrap();
    }
}
