//! `zc show FILE`: a saved run, read and printed again.

use std::io::Read as _;
use std::path::Path;

use super::args::ShowArgs;
use super::resolve::Format;
use super::{render, tell};
use crate::record::{Fault, Result, Run, in_words, parse};

/// A run of many hours is some tens of megabytes; what is larger than this is something else.
const LARGEST_BYTES: u64 = 1 << 30;

/// Shows it.
///
/// # Errors
/// [`FaultKind::Input`](crate::record::FaultKind): the file cannot be read, or holds no run that this program can read.
pub(super) fn show(args: &ShowArgs) -> Result<()> {
    let (run, broken_lines) = read(&args.file)?;
    if broken_lines > 0 {
        tell::warning(
            &format!(
                "file \"{}\" is cut off: what is shown rests on the {} that are whole",
                tell::path(&args.file),
                blocks(run.blocks.len())
            ),
            Some("the run was killed while it was saving, or the disk was full"),
        );
    }
    tell::result(&render::document(&run, Format::from(args.format)))
}

fn blocks(count: usize) -> String {
    if count == 1 { "1 block".to_owned() } else { format!("{count} blocks") }
}

/// Reads a saved run, and says how many lines at its end were cut off.
pub(super) fn read(path: &Path) -> Result<(Run, usize)> {
    let name = tell::path(path);
    let wrong = |what: &str| {
        Fault::input(format!("cannot read \"{name}\": {what}"))
            .hint("zc show reads what zc run has saved (zc-DATE.json)")
    };
    let metadata = path.metadata().map_err(|error| wrong(&in_words(&error)))?;
    // Anything but a regular file could block for ever (a FIFO) or never end (/dev/zero).
    if metadata.is_dir() {
        return Err(wrong("it is a directory"));
    }
    if !metadata.is_file() {
        return Err(wrong("it is not a regular file"));
    }
    let file = std::fs::File::open(path).map_err(|error| wrong(&in_words(&error)))?;
    let mut bytes = Vec::new();
    file.take(LARGEST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| wrong(&in_words(&error)))?;
    if bytes.len() as u64 > LARGEST_BYTES {
        return Err(wrong("it is larger than any saved run"));
    }
    if bytes.is_empty() {
        return Err(wrong("it is empty"));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => return Err(wrong("it is not a saved run of zc")),
    };
    parse(&text).map_err(|mut fault| {
        fault.sentence = format!("cannot read \"{name}\": {}", fault.sentence);
        fault
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        std::fs::write(&path, bytes).unwrap();
        read(&path).unwrap_err().sentence.replace(&*folder.path().to_string_lossy(), "")
    }

    #[test]
    fn what_is_not_a_run_is_named_and_refused() {
        assert_eq!(refused(b""), "cannot read \"/x.json\": it is empty");
        assert_eq!(refused(b"\xff\xfe"), "cannot read \"/x.json\": it is not a saved run of zc");
        assert_eq!(refused(b"{}"), "cannot read \"/x.json\": it is not a saved run of zc");
        assert_eq!(refused(b"hello"), "cannot read \"/x.json\": it is not a saved run of zc");
    }
}
