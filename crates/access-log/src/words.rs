//! The words of a line: separated by spaces, or in quotes or brackets.

use memchr::memchr;

/// Splits a line into words, from its beginning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<'l> {
    rest: &'l [u8],
}

impl<'l> Words<'l> {
    pub(crate) fn new(line: &'l [u8]) -> Self {
        Self { rest: line }
    }

    /// The text from here on.
    pub(crate) fn rest(&self) -> &'l [u8] {
        self.rest
    }

    /// The next word without what encloses it. Where a quote or bracket is not closed, the rest of
    /// the line is the word, as where a server or syslog has cut it.
    pub(crate) fn enclosed(&mut self) -> Option<&'l [u8]> {
        self.skip_spaces();
        match self.rest {
            [b'"', inside @ ..] => Some(self.up_to(b'"', inside)),
            [b'[', inside @ ..] => Some(self.up_to(b']', inside)),
            _ => self.bare(),
        }
    }

    /// The next word up to a space, whatever it contains.
    pub(crate) fn bare(&mut self) -> Option<&'l [u8]> {
        self.skip_spaces();
        let end = memchr(b' ', self.rest).unwrap_or(self.rest.len());
        let word;
        (word, self.rest) = self.rest.split_at(end);
        (!word.is_empty()).then_some(word)
    }

    fn skip_spaces(&mut self) {
        while let Some(rest) = self.rest.strip_prefix(b" ") {
            self.rest = rest;
        }
    }

    fn up_to(&mut self, close: u8, inside: &'l [u8]) -> &'l [u8] {
        let (word, rest) = match memchr(close, inside) {
            Some(end) => (&inside[..end], &inside[end + 1..]),
            None => (inside, &[][..]),
        };
        self.rest = rest;
        word
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_bare_or_enclosed() {
        let mut words = Words::new(b"a  [b c] \"d e\" - \"f g");
        let mut next = || words.enclosed();
        assert_eq!(next(), Some(&b"a"[..]));
        assert_eq!(next(), Some(&b"b c"[..]));
        assert_eq!(next(), Some(&b"d e"[..]));
        assert_eq!(next(), Some(&b"-"[..]));
        assert_eq!(next(), Some(&b"f g"[..]));
        assert_eq!(next(), None);
    }

    proptest! {
        #[test]
        fn every_line_has_an_end(line: Vec<u8>) {
            let mut words = Words::new(&line);
            prop_assert!(std::iter::from_fn(|| words.enclosed()).count() <= line.len());
        }
    }
}
