//! Files that the user names and that are read whole: certificates, tokens, plans. An endless one,
//! such as /dev/zero, is read no further than such a file can be; a pipe is read to its end.

use std::fs::File;
use std::io::{self, Read as _};

/// The rest of the file; `None` if it is longer than `most` bytes. Reading a pipe without a writer
/// ends only when a signal ends the program.
///
/// # Errors
/// read(2) fails.
pub fn bytes(file: File, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_given_up_and_a_pipe_is_read() {
        let zeros = File::open("/dev/zero").unwrap();
        assert_eq!(bytes(zeros, 1 << 20).unwrap(), None);
        let (reader, mut writer) = io::pipe().unwrap();
        io::Write::write_all(&mut writer, b"abc").unwrap();
        drop(writer);
        let pipe = File::from(std::os::fd::OwnedFd::from(reader));
        assert_eq!(bytes(pipe, 3).unwrap().as_deref(), Some(&b"abc"[..]));
    }
}
