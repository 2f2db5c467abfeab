//! An open file of /proc, read as a whole: for a reader that begins at offset 0 the kernel generates
//! it anew.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// The bytes of a file, at any length. The buffer grows, and must not be empty.
///
/// # Errors
/// Reading failed.
pub(crate) fn whole<'a>(file: &File, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
    let mut filled = 0;
    loop {
        if filled == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
        match file.read_at(&mut buffer[filled..], filled as u64)? {
            0 => break,
            more => filled += more,
        }
    }
    Ok(&buffer[..filled])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_longer_than_the_buffer_is_whole_each_time() {
        let file = File::open("/proc/version").unwrap();
        let text = std::fs::read("/proc/version").unwrap();
        let mut buffer = vec![0; 1];
        for _ in 0..2 {
            assert_eq!(whole(&file, &mut buffer).unwrap(), text);
        }
        assert!(text.len() > 1 && buffer.len() >= text.len());
    }
}
