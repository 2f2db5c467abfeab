//! A file that a server serves, as far as requests for it need it.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use crc32fast::Hasher;
use rustix::fs::OFlags;
use zc_run::{Error, Result, escape, in_words};

/// A file, and its name at the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServedFile {
    pub(super) path: PathBuf,
    /// Its path in requests.
    pub(super) target: String,
    pub(super) bytes: u64,
    /// When it was last modified, as servers say it.
    pub(super) modified: String,
}

impl ServedFile {
    /// CRC-32 of `bytes` bytes of it, from `begin` on.
    ///
    /// # Errors
    /// It cannot be read, or has become shorter.
    pub(super) fn crc32(&self, begin: u64, bytes: u64) -> Result<u32> {
        self.hash(begin, bytes).map_err(|error| {
            let path = escape(&self.path.to_string_lossy(), 400);
            Error::input(
                "cannot-read-served-file",
                format!("cannot read the file \"{path}\" of the mix: {}", in_words(&error)),
            )
            .help("files that are asked for have to stay as they are meanwhile")
        })
    }

    fn hash(&self, begin: u64, bytes: u64) -> io::Result<u32> {
        // What has become a link or a pipe meanwhile is not followed, nor waited for.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&self.path)?;
        let (mut hasher, mut at) = (Hasher::new(), begin);
        let mut buffer = vec![0; 64 << 10];
        while at < begin + bytes {
            let most = (begin + bytes - at).min(buffer.len() as u64) as usize;
            match file.read_at(&mut buffer[..most], at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    hasher.update(&buffer[..read]);
                    at += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(hasher.finalize())
    }
}

/// A time as HTTP writes it (RFC 9110, 5.6.7); `None` beyond the year 9999.
pub(in super::super) fn http_date(unix_s: i64) -> Option<String> {
    let time = jiff::Timestamp::from_second(unix_s).ok()?;
    Some(time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_http_has_them() {
        // The example of RFC 9110.
        assert_eq!(http_date(784_111_777).unwrap(), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(http_date(0).unwrap(), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(http_date(i64::MAX), None);
    }

    #[test]
    fn a_part_of_a_file_is_hashed_and_one_that_is_gone_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let content: Vec<u8> = (0..200_000_u32).map(|index| index as u8).collect();
        std::fs::write(&path, &content).unwrap();
        let file = ServedFile { path, target: "/x".into(), bytes: 200_000, modified: "".into() };
        assert_eq!(file.crc32(0, 200_000).unwrap(), crc32fast::hash(&content));
        assert_eq!(file.crc32(7, 100_000).unwrap(), crc32fast::hash(&content[7..100_007]));
        assert_eq!(file.crc32(7, 0).unwrap(), 0);
        assert_eq!(file.crc32(1, 200_000).unwrap_err().id, "cannot-read-served-file");
        drop(folder);
        let error = file.crc32(0, 1).unwrap_err();
        assert!(error.message.contains("/x\" of the mix: no such file"), "{error}");
    }
}
