//! Files of zc's own for a mix, in a folder that a server serves. Their content does not compress,
//! and their names say nothing of what is in them (`.bin`), so a server that compresses sends them
//! as they are.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use super::requests::MixFiles;
use super::served_file::{ServedFile, http_date};
use super::sizes::lengths;
use zc_access_log::{AskedKind, AskedMix};
use zc_load::is_target;
use zc_rig::workload::available_bytes;
use zc_run::{Error, Result, escape, in_words};

/// When all files were last modified: long ago, as servers may take what is recent for what still
/// changes (RFC 9110, 8.8.2.2). 1 January 2024.
const MODIFIED_UNIX_S: u64 = 1_704_067_200;

/// Room that is left to others.
const LEFT_BYTES: u64 = 16 << 20;

/// Writes the files of a mix into `folder`, which exists, and returns the requests for them. A
/// server whose root is `folder` serves them by the paths that begin with `prefix`, such as
/// `/zc-tune/`: they are in its subfolder of that name. Everybody may read them, as a server's
/// workers may be another user's, and `folder` itself; the folders above are the caller's affair.
///
/// # Errors
/// - [`ErrorKind::Output`](zc_run::ErrorKind): they do not fit, or cannot be written.
/// - [`ErrorKind::Unsupported`](zc_run::ErrorKind): they do not fit into memory, so the disk would
///   be measured.
/// - [`ErrorKind::Usage`](zc_run::ErrorKind): the prefix is none.
pub fn write_mix(mix: &AskedMix, folder: &Path, prefix: &str, seed: u64) -> Result<MixFiles> {
    check_prefix(prefix)?;
    let lengths = file_lengths(mix);
    let cannot = |error: &io::Error| cannot_write(folder, error);
    check_room(&lengths, folder)?;
    let within = folder.join(prefix.trim_matches('/'));
    fs::create_dir_all(&within).map_err(|error| cannot(&error))?;
    for folder in within.ancestors().take_while(|path| path.starts_with(folder)) {
        let all_may_read = Permissions::from_mode(0o755);
        fs::set_permissions(folder, all_may_read).map_err(|error| cannot(&error))?;
    }
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let modified = http_date(MODIFIED_UNIX_S as i64).unwrap_or_default();
    let (mut files, mut open, mut content) = (Vec::new(), Vec::new(), Vec::new());
    for (number, bytes) in lengths.into_iter().enumerate() {
        content.resize(usize::try_from(bytes).unwrap_or(usize::MAX), 0);
        random.fill_bytes(&mut content);
        let name = format!("{number}.bin");
        let path = within.join(&name);
        open.push(write(&path, &content).map_err(|error| cannot(&error))?);
        let target = format!("{prefix}{name}");
        files.push(ServedFile { path, target, bytes, modified: modified.clone() });
    }
    // Otherwise they would be written back some seconds later, while something is measured.
    open.iter().try_for_each(File::sync_all).map_err(|error| cannot(&error))?;
    MixFiles::new(mix, &files)
}

fn check_prefix(prefix: &str) -> Result<()> {
    let is_plain = |part: &str| {
        part != ".."
            && part != "."
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b))
    };
    let parts = prefix.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
    let is_valid =
        parts.is_some_and(|parts| parts.split('/').all(|part| !part.is_empty() && is_plain(part)));
    if (is_valid || prefix == "/") && is_target(prefix) {
        return Ok(());
    }
    let message =
        format!("\"{}\" is no folder of a server's to put files into", escape(prefix, 100));
    Err(Error::usage("invalid-mix-prefix", message).help("it looks like /zc-tune/"))
}

/// Lengths of the files that requests are for, in order.
fn file_lengths(mix: &AskedMix) -> Vec<u64> {
    let of = |asked: &&zc_access_log::Asked| asked.kind != AskedKind::Range;
    let mut lengths = lengths(mix.requests.iter().filter(of).map(|asked| asked.bytes));
    // A range is a part of a longer file.
    let ranges = mix.requests.iter().filter(|asked| asked.kind == AskedKind::Range);
    if let Some(longest) = ranges.map(|asked| asked.bytes).max()
        && lengths.last().is_none_or(|last| *last <= longest)
    {
        lengths.push(longest.saturating_mul(2).max(2));
    }
    lengths
}

/// Checks that files of these lengths fit on the disk and into memory.
///
/// # Errors
/// They do not.
fn check_room(lengths: &[u64], folder: &Path) -> Result<()> {
    let found = rustix::fs::statvfs(folder);
    let found = found.map_err(|error| cannot_write(folder, &io::Error::from(error)))?;
    let block = found.f_frsize.max(1);
    let needed = lengths.iter().map(|bytes| bytes.div_ceil(block).saturating_mul(block));
    let needed = needed.fold(0, u64::saturating_add);
    let free = found.f_bavail.saturating_mul(block);
    fits(needed, free, available_bytes(), folder)
}

fn fits(needed: u64, free: u64, memory: Option<u64>, folder: &Path) -> Result<()> {
    let name = escape(&folder.to_string_lossy(), 400);
    if needed.saturating_add(LEFT_BYTES) > free {
        let message = format!(
            "the files of the mix need {} MiB in the folder \"{name}\", and {} MiB are free there",
            mib(needed),
            free >> 20
        );
        return Err(Error::output("no-room-for-mix", message).help(
            "set TMPDIR to a folder with more room, or ask for files that are there: --root DIR",
        ));
    }
    match memory {
        Some(memory) if needed > memory / 2 => {
            let message = format!(
                "the files of the mix have {} MiB and {} MiB of memory are available: the disk \
                 would be measured",
                mib(needed),
                memory >> 20
            );
            Err(Error::unsupported("mix-exceeds-memory", message)
                .help("give its cgroup more memory, or end what else uses it"))
        }
        _ => Ok(()),
    }
}

fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

/// Writes a file that was not there, and leaves it open.
fn write(path: &Path, content: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(MODIFIED_UNIX_S))?;
    // Whatever the umask is.
    file.set_permissions(Permissions::from_mode(0o644))?;
    Ok(file)
}

fn cannot_write(folder: &Path, error: &io::Error) -> Error {
    let message = format!(
        "cannot write the files of the mix in the folder \"{}\": {}",
        escape(&folder.to_string_lossy(), 400),
        in_words(error)
    );
    Error::output("cannot-write-mix", message)
        .help("set TMPDIR to a folder with room that this user may write to")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use zc_access_log::{Asked, AskedOptions};
    use zc_load::Method;

    use super::*;

    fn mix(requests: &[(AskedKind, u64)]) -> AskedMix {
        let asked = requests.iter().map(|(kind, bytes)| Asked { kind: *kind, bytes: *bytes });
        AskedMix { requests: asked.collect(), ..AskedMix::usual(&AskedOptions::usual(1)) }
    }

    #[test]
    fn each_request_has_a_file_that_everybody_may_read_and_says_what_is_to_come() {
        let folder = tempfile::tempdir().unwrap();
        let mix = mix(&[
            (AskedKind::Get, 5000),
            (AskedKind::Head, 5000),
            (AskedKind::NotModified, 0),
            (AskedKind::Range, 700),
            (AskedKind::Get, 0),
            (AskedKind::Get, 5000),
        ]);
        let made = write_mix(&mix, folder.path(), "/zc-tune/", 7).unwrap();
        let within = folder.path().join("zc-tune");
        for (path, mode) in [
            (folder.path().to_owned(), 0o755),
            (within.clone(), 0o755),
            (within.join("0.bin"), 0o644),
            (within.join("1.bin"), 0o644),
        ] {
            let found = fs::metadata(&path).unwrap();
            assert_eq!(found.mode() & 0o7777, mode, "{}", path.display());
            assert!(found.is_dir() || found.mtime() as u64 == MODIFIED_UNIX_S);
        }
        assert!(fs::read_dir(&within).unwrap().count() == 2);
        let content = fs::read(within.join("1.bin")).unwrap();
        assert_eq!((content.len(), fs::metadata(within.join("0.bin")).unwrap().len()), (5000, 0));
        assert_eq!((made.files, made.file_bytes, made.targets.turns()), (2, 5000, 6));
        assert_eq!((made.body_bytes, made.mix_body_bytes), (10_700, 10_700));

        let [get, head, unmodified, range, empty] = made.targets.each() else { panic!() };
        let in_order = [
            AskedKind::Get,
            AskedKind::Head,
            AskedKind::NotModified,
            AskedKind::Range,
            AskedKind::Get,
        ];
        assert_eq!(made.kinds, in_order);
        let crc32 = Some(crc32fast::hash(&content));
        assert_eq!(
            (&*get.path, get.method, &get.headers[..]),
            ("/zc-tune/1.bin", Method::Get, &[][..])
        );
        let expected = get.expected.unwrap();
        assert_eq!((expected.status, expected.body_bytes, expected.crc32), (200, 5000, crc32));
        let expected = head.expected.unwrap();
        assert_eq!((&*head.path, head.method), ("/zc-tune/1.bin", Method::Head));
        assert_eq!((expected.status, expected.body_bytes), (200, 0));
        assert_eq!(expected.content_length, Some(5000));
        assert_eq!(unmodified.path, "/zc-tune/0.bin");
        assert_eq!(
            unmodified.headers,
            [("If-Modified-Since".to_owned(), "Mon, 01 Jan 2024 00:00:00 GMT".to_owned())]
        );
        assert_eq!((unmodified.expected.unwrap().status, unmodified.method), (304, Method::Get));
        assert_eq!(range.headers, [("Range".to_owned(), "bytes=2150-2849".to_owned())]);
        let expected = range.expected.unwrap();
        assert_eq!((expected.status, expected.body_bytes), (206, 700));
        assert_eq!(expected.crc32, Some(crc32fast::hash(&content[2150..2850])));
        assert_eq!((&*empty.path, empty.expected.unwrap().body_bytes), ("/zc-tune/0.bin", 0));
        let turns: Vec<u32> = (0..6).map(|turn| made.targets.of_turn(turn)).collect();
        assert_eq!(turns, [0, 1, 2, 3, 4, 0]);

        // Never over what is there.
        let again = write_mix(&mix, folder.path(), "/zc-tune/", 7).unwrap_err();
        assert_eq!(again.id, "cannot-write-mix");
    }

    #[test]
    fn content_is_the_seeds_and_does_not_compress() {
        let content = |seed| {
            let folder = tempfile::tempdir().unwrap();
            let mix = mix(&[(AskedKind::Get, 100_000)]);
            write_mix(&mix, folder.path(), "/", seed).unwrap();
            fs::read(folder.path().join("0.bin")).unwrap()
        };
        let one = content(1);
        assert_eq!(one, content(1));
        assert_ne!(one, content(2));
        let mut times = [0_u32; 256];
        one.iter().for_each(|byte| times[usize::from(*byte)] += 1);
        // 391 each are expected, with a standard deviation of 20.
        assert!(times.iter().all(|times| (250..550).contains(times)), "{times:?}");
    }

    #[test]
    fn a_range_is_a_part_of_a_longer_file() {
        for (requests, range) in [
            (&[(AskedKind::Range, 1000)][..], "bytes=500-1499"),
            (&[(AskedKind::Range, 1)], "bytes=0-0"),
            (&[(AskedKind::Get, 1000), (AskedKind::Range, 1000)], "bytes=500-1499"),
            (&[(AskedKind::Get, 1001), (AskedKind::Range, 1000)], "bytes=0-999"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let made = write_mix(&mix(requests), folder.path(), "/x/y/", 7).unwrap();
            let last = made.targets.each().last().unwrap();
            assert_eq!(last.headers[0].1, range);
            assert!(last.path.starts_with("/x/y/"), "{last}");
        }
    }

    #[test]
    fn the_usual_mix_is_some_fifty_files() {
        let folder = tempfile::tempdir().unwrap();
        let mix = AskedMix::usual(&AskedOptions::usual(5));
        let made = write_mix(&mix, folder.path(), "/zc-tune/", 5).unwrap();
        assert!((30..=50).contains(&made.files), "{}", made.files);
        assert_eq!((made.body_bytes, made.targets.turns()), (mix.body_bytes(), 256));
        assert!(made.file_bytes < 10 << 20, "{}", made.file_bytes);
    }

    #[test]
    fn what_does_not_fit_is_a_sentence() {
        let folder = Path::new("/x");
        let mib = |many: u64| many << 20;
        fits(mib(100), mib(116), Some(mib(200)), folder).unwrap();
        fits(mib(100), mib(116), None, folder).unwrap();
        let disk = fits(mib(100), mib(115), None, folder).unwrap_err();
        assert_eq!(
            disk.message,
            "the files of the mix need 100 MiB in the folder \"/x\", and 115 MiB are free there"
        );
        let memory = fits(mib(100), mib(999), Some(mib(199)), folder).unwrap_err();
        assert_eq!((&*disk.id, &*memory.id), ("no-room-for-mix", "mix-exceeds-memory"));
        assert!(disk.help.is_some() && memory.help.is_some());
        // No file system has so much.
        let real = tempfile::tempdir().unwrap();
        let error = check_room(&[u64::MAX / 2, u64::MAX / 2, 5], real.path()).unwrap_err();
        assert_eq!(error.id, "no-room-for-mix");
    }

    #[test]
    fn folders_that_are_none_are_refused() {
        let gone = tempfile::tempdir().unwrap().path().join("gone");
        let mix = mix(&[(AskedKind::Get, 1)]);
        assert_eq!(write_mix(&mix, &gone, "/x/", 1).unwrap_err().id, "cannot-write-mix");
        let folder = tempfile::tempdir().unwrap();
        for prefix in ["", "x", "/x", "x/", "//", "/../", "/a/../b/", "/a//b/", "/a b/", "/a%2f/"] {
            let error = write_mix(&mix, folder.path(), prefix, 1).unwrap_err();
            assert_eq!(error.id, "invalid-mix-prefix", "{prefix}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
