//! The mounts of NFS that this process sees.
//!
//! Reference: proc_pid_mountinfo(5).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A mount, of NFS or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mounted {
    /// Its mount point.
    pub(super) at: PathBuf,
    /// The part of the file system that is mounted.
    root: String,
    /// Its source: `HOST:/EXPORT`.
    source: String,
    /// The options of the file system; `None`: it is none of NFS.
    options: Option<String>,
}

impl Mounted {
    /// The value of an option.
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        let options = self.options.as_deref()?.split(',');
        options.filter_map(|each| each.strip_prefix(name)?.strip_prefix('=')).next()
    }

    /// The path by which the server knows a file of this mount.
    pub(super) fn path_of(&self, file: &Path) -> Option<String> {
        // The name of a host may have colons (IPv6), and the path of an export has no brackets.
        let after_host =
            self.source.rfind("]:").map_or_else(|| self.source.find(':'), |at| Some(at + 1))?;
        let export = self.source[after_host + 1..].trim_end_matches('/');
        let below = file.strip_prefix(&self.at).ok()?.to_str()?;
        Some(format!("{export}{}/{below}", self.root.trim_end_matches('/')))
    }
}

/// All mounts, the latest ones last.
///
/// # Errors
/// /proc is not there.
pub(super) fn listed() -> io::Result<Vec<Mounted>> {
    let text = fs::read_to_string("/proc/self/mountinfo")?;
    Ok(text.lines().filter_map(mounted).collect())
}

/// The mount of NFS that a file with this path, which has no symbolic links, is in; `None`: it is
/// in another one.
pub(super) fn find_mount<'m>(mounts: &'m [Mounted], path: &Path) -> Option<&'m Mounted> {
    let around = mounts.iter().filter(|mount| path.starts_with(&mount.at));
    around.max_by_key(|mount| mount.at.components().count()).filter(|mount| mount.options.is_some())
}

/// `ID PARENT MAJOR:MINOR ROOT AT OPTIONS [TAG...] - TYPE SOURCE OPTIONS`
fn mounted(line: &str) -> Option<Mounted> {
    let (place, what) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, at) = (place.next()?, place.next()?);
    let mut what = what.split(' ');
    let (kind, source, options) = (what.next()?, what.next()?, what.next()?);
    Some(Mounted {
        at: PathBuf::from(unescaped(at)),
        root: unescaped(root),
        source: unescaped(source),
        options: matches!(kind, "nfs" | "nfs4").then(|| options.to_owned()),
    })
}

/// Without the octal escapes of spaces and the like.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .into_iter()
        .fold(text.to_owned(), |text, (code, character)| text.replace(code, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = "21 1 0:20 / / rw - ext4 /dev/vda rw\n\
        30 21 0:41 / /mnt/a rw shared:5 - nfs4 10.0.0.5:/srv rw,vers=4.2,nconnect=4,addr=10.0.0.5\n\
        31 21 0:42 /sub /mnt/b\\040c ro - nfs [fd00::5]:/ ro,vers=3,addr=fd00::5\n\
        32 30 0:43 / /mnt/a/tmp rw - tmpfs tmpfs rw\n\
        not a mount\n";

    #[test]
    fn a_file_is_in_the_deepest_mount_around_it() {
        let mounts: Vec<Mounted> = LISTED.lines().filter_map(mounted).collect();
        assert_eq!(mounts.len(), 4);
        let path = Path::new("/mnt/a/x/file");
        let a = find_mount(&mounts, path).unwrap();
        assert_eq!((a.option("vers"), a.option("nconnect")), (Some("4.2"), Some("4")));
        assert_eq!(a.option("addr"), Some("10.0.0.5"));
        assert_eq!(a.path_of(path).as_deref(), Some("/srv/x/file"));
        let path = Path::new("/mnt/b c/file");
        let b = find_mount(&mounts, path).unwrap();
        assert_eq!(b.path_of(path).as_deref(), Some("/sub/file"));
        for other in ["/etc/passwd", "/mnt/a/tmp/file", "/mnt/ab"] {
            assert_eq!(find_mount(&mounts, Path::new(other)), None, "{other}");
        }
    }
}
