//! A response as it arrives: its head, how long its body is, and where it ends (RFC 9112). Bytes go
//! in, in pieces of any size, and nothing here waits or allocates by what a server claims.
//!
//! A message that two readers could understand differently is no response: two lengths, a length
//! beside a transfer coding, a length that is no number.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};

/// The longest head, and the longest trailers, in bytes.
const LONGEST_HEAD: usize = 64 << 10;
/// The most headers.
const MOST_HEADERS: usize = 100;
/// The longest line that gives a chunk's size, with its extensions, in bytes.
const LONGEST_CHUNK_LINE: usize = 1 << 10;
/// The most interim responses (1xx) before the final one.
const MOST_INTERIM: u8 = 8;

/// Why bytes are no response: completes "the server's answer is not valid HTTP/1.1: ".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

/// Why the end of the stream came too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// Before the first byte of a response.
    Unanswered,
    /// Inside it.
    Inside,
}

/// Parsed head of a response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) is_chunked: bool,
    /// Whether the connection can serve another request.
    pub(super) keeps_alive: bool,
    /// Content encoding, or a transfer coding other than `chunked`; `None`: the content is as it
    /// is.
    pub(super) encoding: Option<String>,
    pub(super) location: Option<String>,
    /// `Content-Length`, also of a response that has no body.
    pub(super) length: Option<u64>,
    /// `Server`.
    pub(super) server: Option<String>,
}

/// Position of the next byte in the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Head,
    /// In a body of known length: so many bytes are left.
    Fixed(u64),
    /// In the line before a chunk.
    ChunkLine,
    /// In a chunk.
    Chunk(u64),
    /// In the CR and LF after a chunk: so many of them have been seen.
    ChunkEnd(u8),
    /// In the lines after the last chunk: the length of this one so far, without CR.
    Trailers(usize),
    /// In a body that ends with the connection.
    UntilClose,
    Done,
}

/// A response that arrives.
#[derive(Debug)]
pub(super) struct Reply {
    at: At,
    head: Head,
    /// The beginning of a head or of a chunk's line.
    begun: Vec<u8>,
    body_bytes: u64,
    trailer_bytes: usize,
    interim: u8,
    /// Also keeps texts of the head that cost an allocation.
    keeps_texts: bool,
    /// The request is a HEAD, so the response has no body.
    is_to_head: bool,
}

impl Default for Reply {
    fn default() -> Self {
        Self {
            at: At::Head,
            head: Head::default(),
            begun: Vec::new(),
            body_bytes: 0,
            trailer_bytes: 0,
            interim: 0,
            keeps_texts: false,
            is_to_head: false,
        }
    }
}

impl Reply {
    /// Begins the next response, of a HEAD or of another request. With `keeps_texts` the head's
    /// `server` is kept.
    pub(super) fn reset(&mut self, is_to_head: bool, keeps_texts: bool) {
        let mut begun = std::mem::take(&mut self.begun);
        begun.clear();
        *self = Self { begun, keeps_texts, is_to_head, ..Self::default() };
    }

    pub(super) fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// Whether a byte of it has arrived.
    pub(super) fn has_begun(&self) -> bool {
        self.at != At::Head || !self.begun.is_empty() || self.interim > 0
    }

    /// The head, once it has arrived.
    pub(super) fn head(&self) -> &Head {
        &self.head
    }

    /// Takes what the head says.
    pub(super) fn take_head(&mut self) -> Head {
        std::mem::take(&mut self.head)
    }

    /// Bytes of the body so far, without chunk lines.
    pub(super) fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Number of the next bytes that certainly belong to the body, so that they need not be parsed.
    /// With a body that ends with the connection: all.
    pub(super) fn discardable(&self) -> u64 {
        match self.at {
            At::Fixed(left) | At::Chunk(left) => left,
            At::UntilClose => u64::MAX,
            _ => 0,
        }
    }

    /// Counts bytes that were discarded: at most [`discardable`](Self::discardable).
    pub(super) fn discarded(&mut self, bytes: u64) {
        let bytes = bytes.min(self.discardable());
        self.body_bytes = self.body_bytes.saturating_add(bytes);
        match &mut self.at {
            At::Fixed(left) => {
                *left -= bytes;
                if *left == 0 {
                    self.at = At::Done;
                }
            }
            At::Chunk(left) => {
                *left -= bytes;
                if *left == 0 {
                    self.at = At::ChunkEnd(0);
                }
            }
            _ => {}
        }
    }

    /// Takes the next bytes, gives those of the body to `body`, and returns how many belong to this
    /// response: fewer than all only once it is done.
    ///
    /// # Errors
    /// They are no response.
    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        body: &mut dyn FnMut(&[u8]),
    ) -> Result<usize, Malformed> {
        let mut rest = bytes;
        while !rest.is_empty() && self.at != At::Done {
            let used = match self.at {
                At::Head => self.head_bytes(rest)?,
                At::Fixed(left) | At::Chunk(left) => {
                    let len = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                    body(&rest[..len]);
                    self.discarded(len as u64);
                    len
                }
                At::UntilClose => {
                    body(rest);
                    self.discarded(rest.len() as u64);
                    rest.len()
                }
                At::ChunkLine => self.chunk_line(rest)?,
                At::ChunkEnd(seen) => {
                    if rest[0] != b"\r\n"[usize::from(seen)] {
                        return Err(Malformed("a chunk is longer than its size"));
                    }
                    self.at = if seen == 0 { At::ChunkEnd(1) } else { At::ChunkLine };
                    1
                }
                At::Trailers(len) => self.trailer_bytes(rest, len)?,
                At::Done => 0,
            };
            rest = &rest[used..];
        }
        Ok(bytes.len() - rest.len())
    }

    /// The stream has ended.
    ///
    /// # Errors
    /// The response is not whole.
    pub(super) fn end(&mut self) -> Result<(), Cut> {
        match self.at {
            At::Done => Ok(()),
            At::UntilClose => {
                self.at = At::Done;
                Ok(())
            }
            _ => Err(self.cut()),
        }
    }

    /// The error if the connection ends here.
    pub(super) fn cut(&self) -> Cut {
        if self.has_begun() { Cut::Inside } else { Cut::Unanswered }
    }

    fn head_bytes(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        if self.begun.is_empty() {
            if let Some(len) = self.parse_head(bytes)? {
                return Ok(len);
            }
            self.begun.extend_from_slice(bytes);
        } else {
            let before = self.begun.len();
            self.begun.extend_from_slice(bytes);
            // A head ends with a line: without one, parsing it again from its beginning would be
            // work in vain, by the square of its length where it trickles.
            if bytes.contains(&b'\n') {
                let begun = std::mem::take(&mut self.begun);
                let parsed = self.parse_head(&begun);
                self.begun = begun;
                if let Some(len) = parsed? {
                    self.begun.clear();
                    return Ok(len.saturating_sub(before));
                }
            }
        }
        if self.begun.len() > LONGEST_HEAD {
            return Err(Malformed("its head is longer than 64 KiB"));
        }
        Ok(bytes.len())
    }

    /// Parses a head from its beginning; returns its length once it is whole.
    fn parse_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        let mut room = [const { MaybeUninit::<Header<'_>>::uninit() }; MOST_HEADERS];
        let mut response = Response::new(&mut []);
        let parsed = ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            bytes,
            &mut room,
        );
        let len = match parsed {
            Ok(Status::Complete(len)) => len,
            Ok(Status::Partial) => return Ok(None),
            Err(error) => return Err(Malformed(in_words(error))),
        };
        let status = response.code.unwrap_or_default();
        match status {
            101 => return Err(Malformed("it switches to another protocol")),
            100..=199 => {
                self.interim += 1;
                if self.interim > MOST_INTERIM {
                    return Err(Malformed("interim responses do not end"));
                }
                // The next head follows.
                return Ok(Some(len));
            }
            _ => {}
        }
        let framing = Framing::parse(response.headers)?;
        self.head = Head {
            status,
            is_chunked: framing.is_chunked,
            keeps_alive: framing.keeps_alive(response.version == Some(1)),
            encoding: framing.encoding.map(ToOwned::to_owned),
            location: text(response.headers, "location").filter(|_| (300..400).contains(&status)),
            length: framing.length,
            server: self.keeps_texts.then(|| text(response.headers, "server")).flatten(),
        };
        self.at = match framing {
            // RFC 9112, 6.3: whatever the head says of a body.
            _ if self.is_to_head || matches!(status, 204 | 304) => At::Done,
            Framing { is_chunked: true, .. } => At::ChunkLine,
            Framing { length: Some(0), .. } => At::Done,
            Framing { length: Some(length), .. } => At::Fixed(length),
            _ => {
                self.head.keeps_alive = false;
                At::UntilClose
            }
        };
        Ok(Some(len))
    }

    fn chunk_line(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        const NO_SIZE: Malformed = Malformed("a chunk has no valid size");
        let end = bytes.iter().position(|byte| *byte == b'\n').map(|index| index + 1);
        let used = end.unwrap_or(bytes.len());
        if self.begun.len() + used > LONGEST_CHUNK_LINE {
            return Err(Malformed("the line before a chunk is longer than 1 KiB"));
        }
        let mut begun = std::mem::take(&mut self.begun);
        let line = if begun.is_empty() && end.is_some() {
            &bytes[..used]
        } else {
            begun.extend_from_slice(&bytes[..used]);
            &begun[..]
        };
        // httparse takes a line without any digit for a size of 0.
        if line.first().is_some_and(|byte| !byte.is_ascii_hexdigit()) {
            return Err(NO_SIZE);
        }
        let size = match (end, httparse::parse_chunk_size(line)) {
            (None, Ok(_)) => None,
            (Some(_), Ok(Status::Complete((_, size)))) => Some(size),
            _ => return Err(NO_SIZE),
        };
        if let Some(size) = size {
            begun.clear();
            if self.body_bytes.checked_add(size).is_none() {
                return Err(Malformed("its chunks are longer than 16 EiB"));
            }
            self.at = if size == 0 { At::Trailers(0) } else { At::Chunk(size) };
        }
        self.begun = begun;
        Ok(used)
    }

    fn trailer_bytes(&mut self, bytes: &[u8], mut len: usize) -> Result<usize, Malformed> {
        for (index, byte) in bytes.iter().enumerate() {
            self.trailer_bytes += 1;
            match byte {
                b'\n' if len == 0 => {
                    self.at = At::Done;
                    return Ok(index + 1);
                }
                b'\n' => len = 0,
                b'\r' => {}
                _ => len += 1,
            }
        }
        if self.trailer_bytes > LONGEST_HEAD {
            return Err(Malformed("its trailers are longer than 64 KiB"));
        }
        self.at = At::Trailers(len);
        Ok(bytes.len())
    }
}

/// Framing of the body by the head, and whether the connection stays open.
#[derive(Debug, Default)]
struct Framing<'a> {
    length: Option<u64>,
    is_chunked: bool,
    encoding: Option<&'a str>,
    says_close: bool,
    says_keep_alive: bool,
}

impl<'a> Framing<'a> {
    fn parse(headers: &[Header<'a>]) -> Result<Self, Malformed> {
        let mut framing = Self::default();
        let mut has_coding = false;
        for header in headers {
            let name = header.name;
            if name.eq_ignore_ascii_case("content-length") {
                for length in header.value.split(|byte| *byte == b',') {
                    framing.add_length(length.trim_ascii())?;
                }
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                has_coding = true;
                for coding in tokens(header.value) {
                    if framing.is_chunked {
                        return Err(Malformed("a transfer coding follows \"chunked\""));
                    }
                    match coding {
                        _ if coding.eq_ignore_ascii_case("chunked") => framing.is_chunked = true,
                        _ => framing.encoding = Some(coding),
                    }
                }
            } else if name.eq_ignore_ascii_case("content-encoding") {
                let coding =
                    tokens(header.value).find(|coding| !coding.eq_ignore_ascii_case("identity"));
                framing.encoding = coding.or(framing.encoding);
            } else if name.eq_ignore_ascii_case("connection") {
                for token in tokens(header.value) {
                    framing.says_close |= token.eq_ignore_ascii_case("close");
                    framing.says_keep_alive |= token.eq_ignore_ascii_case("keep-alive");
                }
            }
        }
        if has_coding && framing.length.is_some() {
            return Err(Malformed("it has a length and a transfer coding"));
        }
        Ok(framing)
    }

    fn add_length(&mut self, text: &[u8]) -> Result<(), Malformed> {
        let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        let length =
            str::from_utf8(text).ok().filter(|_| digits).and_then(|text| text.parse().ok());
        let length = length.ok_or(Malformed("its length is no number"))?;
        if self.length.replace(length).is_some_and(|before| before != length) {
            return Err(Malformed("it has two lengths"));
        }
        Ok(())
    }

    fn keeps_alive(&self, is_http_1_1: bool) -> bool {
        !self.says_close && (is_http_1_1 || self.says_keep_alive)
    }
}

/// The words of a list. What is no text is none.
fn tokens(value: &[u8]) -> impl Iterator<Item = &str> {
    let list = str::from_utf8(value).unwrap_or("?");
    list.split(',').map(str::trim).filter(|token| !token.is_empty())
}

fn text(headers: &[Header<'_>], name: &str) -> Option<String> {
    let header = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    Some(String::from_utf8_lossy(header.value).into_owned())
}

fn in_words(error: httparse::Error) -> &'static str {
    match error {
        httparse::Error::HeaderName => "a header has no valid name",
        httparse::Error::HeaderValue => "a header has no valid value",
        httparse::Error::NewLine => "a line ends in the wrong way",
        httparse::Error::Status => "it has no valid status",
        httparse::Error::TooManyHeaders => "it has more than 100 headers",
        httparse::Error::Version => "it does not begin with HTTP/1.1",
        httparse::Error::Token => "it has a byte where none may be",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parses bytes that come in such pieces (the last size again and again). Returns the body and
    /// how many bytes were used, or the error. `discards`: bodies are not looked at.
    fn read(
        bytes: &[u8],
        pieces: &[usize],
        discards: bool,
    ) -> Result<(Vec<u8>, u64, usize, bool), Malformed> {
        let mut reply = Reply::default();
        let (mut body, mut at, mut turn) = (Vec::new(), 0, 0);
        while at < bytes.len() && !reply.is_done() {
            let len = pieces.get(turn).or(pieces.last()).map_or(1, |len| (*len).max(1));
            turn += 1;
            let piece = &bytes[at..bytes.len().min(at + len)];
            let known = reply.discardable();
            if discards && known > 0 {
                let len = piece.len().min(usize::try_from(known).unwrap_or(usize::MAX));
                body.extend_from_slice(&piece[..len]);
                reply.discarded(len as u64);
                at += len;
            } else {
                at += reply.feed(piece, &mut |part| body.extend_from_slice(part))?;
            }
        }
        Ok((body, reply.body_bytes(), at, reply.is_done()))
    }

    /// A valid response, its body, and the bytes.
    fn valid() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
        let body = prop::collection::vec(any::<u8>(), 0..300);
        (body, prop::collection::vec(1..40usize, 0..8), any::<bool>(), 0..3usize).prop_map(
            |(body, cuts, is_chunked, interim)| {
                let mut bytes = b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n".repeat(interim);
                bytes.extend(b"HTTP/1.1 200 OK\r\nServer: a\r\n");
                if !is_chunked {
                    bytes.extend(format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes());
                    bytes.extend(&body);
                    return (body, bytes);
                }
                bytes.extend(b"Transfer-Encoding: chunked\r\n\r\n");
                let mut rest = &body[..];
                for cut in cuts.into_iter().chain([usize::MAX]) {
                    let (chunk, after) = rest.split_at(cut.min(rest.len()));
                    rest = after;
                    if !chunk.is_empty() {
                        bytes.extend(format!("{:X};a=\"b\"\r\n", chunk.len()).into_bytes());
                        bytes.extend(chunk);
                        bytes.extend(b"\r\n");
                    }
                }
                bytes.extend(b"0\r\nTrailer: x\r\n\r\n");
                (body, bytes)
            },
        )
    }

    proptest! {
        #[test]
        fn a_response_is_the_same_in_pieces_of_any_size_and_what_follows_is_left(
            (body, bytes) in valid(),
            pieces in prop::collection::vec(1..200usize, 1..6),
            after in prop::collection::vec(any::<u8>(), 0..20),
            discards: bool,
        ) {
            let mut all = bytes.clone();
            all.extend(after);
            let (got, counted, used, is_done) = read(&all, &pieces, discards).unwrap();
            prop_assert!(is_done);
            prop_assert_eq!(used, bytes.len());
            prop_assert_eq!(counted, body.len() as u64);
            prop_assert_eq!(got, body);
        }

        #[test]
        fn no_bytes_make_it_panic_and_pieces_make_no_difference(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            head in prop::sample::select(vec![
                &b""[..],
                b"HTTP/1.1 200 OK\r\n",
                b"HTTP/1.1 200 OK\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n",
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
            ]),
            pieces in prop::collection::vec(1..50usize, 1..6),
            discards: bool,
        ) {
            let mut all = head.to_vec();
            all.extend(bytes);
            let whole = read(&all, &[all.len()], false);
            let in_pieces = read(&all, &pieces, discards);
            // What is wrong may be seen later in pieces, or not yet.
            match (&whole, &in_pieces) {
                (Ok(one), Ok(other)) => prop_assert_eq!(one, other),
                (Err(_), Err(_)) => {}
                (Err(_), Ok((.., is_done))) => prop_assert!(!is_done),
                (one, other) => prop_assert!(false, "{one:?} {other:?}"),
            }
        }

        #[test]
        fn a_valid_response_with_a_byte_changed_is_read_or_refused(
            (_, mut bytes) in valid(),
            at: prop::sample::Index,
            byte: u8,
            pieces in prop::collection::vec(1..50usize, 1..6),
        ) {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            drop(read(&bytes, &pieces, true));
        }
    }

    #[test]
    fn a_head_says_what_becomes_of_the_connection() {
        for (head, keeps_alive) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 0", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close", false),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, close", false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 0", false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive", true),
            ("HTTP/1.1 200 OK", false),
            ("HTTP/1.1 204 None", true),
        ] {
            let mut reply = Reply::default();
            reply.feed(format!("{head}\r\n\r\n").as_bytes(), &mut |_| ()).unwrap();
            assert_eq!(reply.head().keeps_alive, keeps_alive, "{head}");
        }
    }

    #[test]
    fn a_response_without_a_body_ends_with_its_head_and_keeps_its_connection() {
        for (is_to_head, head, length) in [
            (true, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Some(5)),
            (true, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", None),
            (true, "HTTP/1.1 200 OK\r\n\r\n", None),
            (true, "HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\n", Some(7)),
            (false, "HTTP/1.1 304 Not Modified\r\n\r\n", None),
            (false, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", Some(5)),
            (false, "HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n\r\n", None),
        ] {
            let mut reply = Reply::default();
            reply.reset(is_to_head, false);
            let all = format!("{head}12345");
            let used = reply.feed(all.as_bytes(), &mut |_| ()).unwrap();
            assert!(reply.is_done() && reply.head().keeps_alive, "{head}");
            assert_eq!((used, reply.body_bytes()), (head.len(), 0), "{head}");
            assert_eq!(reply.head().length, length, "{head}");
        }
        let mut reply = Reply::default();
        reply.reset(true, false);
        reply.reset(false, false);
        reply.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", &mut |_| ()).unwrap();
        assert!(!reply.is_done(), "the request after a HEAD is none");
    }

    #[test]
    fn the_end_of_the_stream_is_the_end_of_a_body_without_length_and_of_nothing_else() {
        let end = |bytes: &[u8]| {
            let mut reply = Reply::default();
            reply.feed(bytes, &mut |_| ()).unwrap();
            reply.end()
        };
        assert_eq!(end(b""), Err(Cut::Unanswered));
        assert_eq!(end(b"HTTP/1.1 2"), Err(Cut::Inside));
        assert_eq!(end(b"HTTP/1.1 100 Continue\r\n\r\n"), Err(Cut::Inside));
        assert_eq!(end(b"HTTP/1.1 200 OK\r\n\r\nabc"), Ok(()));
        assert_eq!(end(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc"), Err(Cut::Inside));
        assert_eq!(end(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"), Ok(()));
    }
}
