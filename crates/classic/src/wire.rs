//! The protocol of 2001, without I/O. Numbers are big-endian, of 32 bits: first the number of
//! loops; in each loop the number of files; for each file its length, and then its bytes. There are
//! no replies.
//!
//! Numbers are unsigned, 0 to 4,294,967,295: what an original wrote as a negative number is a large
//! one here. No allocation depends on any of them.

/// The default port of `zcs` and `zcc`, as in 2001.
pub(super) const PORT: u16 = 2222;

/// Loops, files and bytes sent or received so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Completed loops.
    pub loops: u64,
    /// Completed files.
    pub files: u64,
    /// Bytes of files, without the numbers of the protocol.
    pub file_bytes: u64,
}

/// Parses the stream in pieces of any size.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    state: State,
    number: u32,
    number_bytes: u8,
    loops: u32,
    files: u32,
    length: u32,
    loop_at: u32,
    file_at: u32,
    tally: Tally,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Loops,
    Files,
    Length,
    Body {
        left: u32,
    },
    Done,
}

impl Decoder {
    /// Takes the next bytes; false when there are more of them than were announced.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> bool {
        while let [first, rest @ ..] = bytes {
            match self.state {
                State::Done => return false,
                State::Body { left } => {
                    let now = (left as usize).min(bytes.len());
                    bytes = &bytes[now..];
                    self.tally.file_bytes += now as u64;
                    self.state = State::Body { left: left - now as u32 }; // at most `left`
                }
                State::Loops | State::Files | State::Length => {
                    self.number = self.number << 8 | u32::from(*first);
                    self.number_bytes += 1;
                    bytes = rest;
                    if self.number_bytes == 4 {
                        self.whole_number();
                    }
                }
            }
            self.advance();
        }
        true
    }

    fn whole_number(&mut self) {
        let number = std::mem::take(&mut self.number);
        self.number_bytes = 0;
        self.state = match self.state {
            State::Loops => {
                self.loops = number;
                if number == 0 { State::Done } else { State::Files }
            }
            State::Files => {
                (self.files, self.file_at) = (number, 0);
                if number == 0 { self.after_loop() } else { State::Length }
            }
            State::Length => {
                self.length = number;
                State::Body { left: number }
            }
            state @ (State::Body { .. } | State::Done) => state,
        };
    }

    /// Advances after the end of a file.
    fn advance(&mut self) {
        if self.state == (State::Body { left: 0 }) {
            self.tally.files += 1;
            self.file_at += 1;
            self.state = if self.file_at == self.files { self.after_loop() } else { State::Length };
        }
    }

    fn after_loop(&mut self) -> State {
        self.tally.loops += 1;
        self.loop_at += 1;
        if self.loop_at == self.loops { State::Done } else { State::Files }
    }

    /// Whether the first number was received, and not yet everything that was announced.
    pub(super) fn is_partial(&self) -> bool {
        !matches!(self.state, State::Loops | State::Done)
    }

    /// Whether everything that was announced was received.
    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Loops, files and bytes received so far.
    pub(super) fn tally(&self) -> Tally {
        self.tally
    }

    /// The place where the stream stopped, if that was before its end: the end of a sentence about
    /// the sender.
    pub(super) fn stopped(&self) -> Option<String> {
        let partly = if self.number_bytes > 0 {
            format!(", {} bytes into it", self.number_bytes)
        } else {
            String::new()
        };
        let file = || format!("file {} of {}", u64::from(self.file_at) + 1, self.files);
        let turn = || format!("loop {} of {}", u64::from(self.loop_at) + 1, self.loops);
        match self.state {
            State::Done => None,
            State::Loops => Some(format!("at the number of loops{partly}")),
            State::Files => Some(format!("at the number of files of {}{partly}", turn())),
            State::Length => Some(format!("at the length of {}, {}{partly}", file(), turn())),
            State::Body { left } => {
                let came = u64::from(self.length) - u64::from(left);
                Some(format!("after {came} of the {} bytes of {}, {}", self.length, file(), turn()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encode(loops: &[Vec<Vec<u8>>]) -> Vec<u8> {
        let number = |number: usize| (number as u32).to_be_bytes();
        let mut out = number(loops.len()).to_vec();
        for files in loops {
            out.extend(number(files.len()));
            for file in files {
                out.extend(number(file.len()));
                out.extend(file);
            }
        }
        out
    }

    fn after(bytes: &[u8]) -> Decoder {
        let mut decoder = Decoder::default();
        assert!(decoder.take(bytes));
        decoder
    }

    #[test]
    fn a_stream_without_loops_or_files_is_whole() {
        assert!(after(&[0, 0, 0, 0]).is_done());
        assert!(!after(&[0, 0, 0, 0]).is_partial() && !after(&[0, 0, 0]).is_partial());
        assert!(after(&[0, 0, 0, 2]).is_partial());
        let decoder = after(&[0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert!(decoder.is_done());
        assert_eq!(decoder.tally(), Tally { loops: 2, files: 0, file_bytes: 0 });
    }

    #[test]
    fn a_stream_that_stopped_early_says_where() {
        for (bytes, stopped) in [
            (&b""[..], "at the number of loops"),
            (b"\0\0", "at the number of loops, 2 bytes into it"),
            (b"\0\0\0\x01\0", "at the number of files of loop 1 of 1, 1 bytes into it"),
            (b"\0\0\0\x02\0\0\0\x01", "at the length of file 1 of 1, loop 1 of 2"),
            (
                b"\0\0\0\x01\0\0\0\x01\xff\xff\xff\xffabc",
                "after 3 of the 4294967295 bytes of file 1 of 1, loop 1 of 1",
            ),
            (
                b"GET / HTTP/1.1\r\n",
                "after 4 of the 1414541105 bytes of file 1 of 790644820, loop 1 of 1195725856",
            ),
        ] {
            assert_eq!(after(bytes).stopped().as_deref(), Some(stopped));
        }
    }

    #[test]
    fn more_than_was_announced_is_noticed() {
        let mut decoder = Decoder::default();
        assert!(!decoder.take(b"\0\0\0\x01\0\0\0\x01\0\0\0\x01ab"));
        assert!(!after(&[0; 4]).take(b"x"));
    }

    proptest! {
        #[test]
        fn any_stream_cut_anywhere_is_counted_to_the_byte(
            loops in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..4), 0..4),
            step in 1_usize..9,
        ) {
            let bytes = encode(&loops);
            let mut decoder = Decoder::default();
            for piece in bytes.chunks(step) {
                prop_assert!(!decoder.is_done());
                prop_assert!(decoder.take(piece));
            }
            prop_assert!(decoder.is_done());
            prop_assert_eq!(decoder.stopped(), None);
            prop_assert_eq!(decoder.tally(), Tally {
                loops: loops.len() as u64,
                files: loops.iter().map(Vec::len).sum::<usize>() as u64,
                file_bytes: loops.iter().flatten().map(Vec::len).sum::<usize>() as u64,
            });
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut decoder = Decoder::default();
            let _ = decoder.take(&bytes);
            let _ = (decoder.stopped(), decoder.tally());
        }
    }
}
