//! The bytes of a stream as lines: each message of a control connection is one. A function of the
//! bytes alone, however they are cut when they arrive.

/// Received bytes, and the lines in them that have not been taken.
#[derive(Debug, Default)]
pub struct Lines {
    pending: Vec<u8>,
    /// Number of leading bytes known to contain no line feed.
    searched: usize,
}

/// A line has more bytes than it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

impl Lines {
    /// Adds bytes that have arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// Whether all bytes have been taken.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Takes the next line, without its line feed; `None` if it is not complete.
    ///
    /// # Errors
    /// It has more than `most_bytes`. If it is complete, it is taken all the same; if not, it stays
    /// for a caller that would take a longer one.
    pub fn next(&mut self, most_bytes: usize) -> Option<Result<Vec<u8>, TooLong>> {
        let Some(end) = self.pending[self.searched..].iter().position(|&byte| byte == b'\n') else {
            self.searched = self.pending.len();
            return (self.searched > most_bytes).then_some(Err(TooLong));
        };
        let rest = self.pending.split_off(self.searched + end + 1);
        let mut line = std::mem::replace(&mut self.pending, rest);
        self.searched = 0;
        line.pop();
        Some(if line.len() > most_bytes { Err(TooLong) } else { Ok(line) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_however_their_bytes_arrive() {
        let text = b"one\n\n3\xff\nrest";
        for piece in 1..=text.len() {
            let mut lines = Lines::default();
            let mut taken = Vec::new();
            for bytes in text.chunks(piece) {
                lines.push(bytes);
                taken.extend(std::iter::from_fn(|| lines.next(5)));
            }
            let line = |bytes: &[u8]| Ok(bytes.to_vec());
            assert_eq!(taken, [line(b"one"), line(b""), line(b"3\xff")], "{piece}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_already_is_not_waited_for() {
        let mut lines = Lines::default();
        lines.push(b"12345");
        assert_eq!(lines.next(5), None);
        lines.push(b"6");
        assert_eq!(lines.next(5), Some(Err(TooLong)));
        lines.push(b"\n");
        assert_eq!(lines.next(6), Some(Ok(b"123456".to_vec())));
        lines.push(b"123456\nnext\n");
        assert_eq!(lines.next(5), Some(Err(TooLong)));
        assert_eq!(lines.next(5), Some(Ok(b"next".to_vec())));
    }
}
