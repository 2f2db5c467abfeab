//! Words of a configuration, exactly as nginx separates them (`ngx_conf_read_token` in
//! <https://github.com/nginx/nginx/blob/master/src/core/ngx_conf_file.c>).
//!
//! What other parsers get wrong: a quote opens a string only at the beginning of a word; `#` begins
//! a comment only there; `${` is no block; a backslash keeps any byte from ending a word, and is
//! itself kept unless it is followed by a quote, a backslash, `t`, `r` or `n`; and behind a closing
//! quote only a space, `;`, `{` or `)` may follow.

use std::fmt;
use std::ops::Range;

/// How a directive ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// `;`
    Semicolon,
    /// `{`
    Open,
    /// `}`, before which no words may stand.
    Close,
    /// The text is at its end.
    Text,
}

/// Why no directive can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The text ends in a word, or before the end of its directive.
    Unfinished,
    /// A quote of this kind is not closed.
    OpenQuote(char),
    /// What stands where it may not.
    Unexpected(char),
    /// What follows a closing quote.
    AfterQuote(char),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfinished => {
                f.write_str("the file ends within a directive, where \";\" or \"}\" is expected")
            }
            Self::OpenQuote(quote) => write!(f, "a quote {quote} is not closed"),
            Self::Unexpected(letter) => write!(f, "unexpected \"{letter}\""),
            Self::AfterQuote(letter) => write!(f, "unexpected \"{letter}\" after a closing quote"),
        }
    }
}

/// One word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// Where it is written, with its quotes.
    pub(super) written: Range<usize>,
    /// Its value.
    pub(crate) value: String,
}

/// A position in the text of a file.
#[derive(Debug, Clone)]
pub(crate) struct Lexer<'a> {
    pub(super) text: &'a str,
    /// The next byte to read.
    pub(crate) at: usize,
    /// Its line, from 1.
    pub(super) line: u32,
    /// The line on which the last directive's first word began.
    pub(super) began: u32,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// What a word means: escapes resolved.
fn value(written: &str) -> String {
    if !written.contains('\\') {
        return written.to_owned();
    }
    let mut out = String::with_capacity(written.len());
    let mut letters = written.chars().peekable();
    while let Some(letter) = letters.next() {
        let resolved = match (letter, letters.peek()) {
            ('\\', Some('t')) => '\t',
            ('\\', Some('r')) => '\r',
            ('\\', Some('n')) => '\n',
            ('\\', Some(&escaped @ ('"' | '\'' | '\\'))) => escaped,
            _ => {
                out.push(letter);
                continue;
            }
        };
        letters.next();
        out.push(resolved);
    }
    out
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1, began: 1 }
    }

    /// The next byte, if any.
    fn take(&mut self) -> Option<u8> {
        let byte = *self.text.as_bytes().get(self.at)?;
        self.at += 1;
        self.line += u32::from(byte == b'\n');
        Some(byte)
    }

    /// Steps over spaces and comments; the byte that follows them is not taken.
    fn space(&mut self) {
        let mut in_comment = false;
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            if in_comment {
                in_comment = byte != b'\n';
            } else if byte == b'#' {
                in_comment = true;
            } else if !is_space(byte) {
                return;
            }
            self.take();
        }
    }

    fn word(&self, written: Range<usize>, inside: Range<usize>) -> Word {
        Word { value: value(self.text.get(inside).unwrap_or_default()), written }
    }

    /// A word in `quote`, whose opening is taken.
    fn quoted(&mut self, quote: u8) -> Result<Word, Fault> {
        let start = self.at;
        let line = self.line;
        while let Some(byte) = self.take() {
            if byte == b'\\' {
                self.take();
            } else if byte == quote {
                return Ok(self.word(start - 1..self.at, start..self.at - 1));
            }
        }
        self.line = line;
        Err(Fault::OpenQuote(char::from(quote)))
    }

    /// A word without quotes. What ends it is not taken.
    fn bare(&mut self) -> Result<Word, Fault> {
        let start = self.at;
        let mut after_dollar = false;
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            if byte == b'{' && after_dollar {
                self.take();
                continue;
            }
            // The first byte of a word may be one that would end it elsewhere: `)` after a quote.
            if self.at > start && (is_space(byte) || byte == b';' || byte == b'{') {
                return Ok(self.word(start..self.at, start..self.at));
            }
            after_dollar = byte == b'$';
            self.take();
            if byte == b'\\' {
                self.take();
            }
        }
        Err(Fault::Unfinished)
    }

    /// The words up to the end of the next directive, and how it ends.
    pub(crate) fn directive(&mut self) -> Result<(Vec<Word>, End), Fault> {
        let mut words: Vec<Word> = Vec::new();
        // Whether the last word was quoted and nothing has followed it.
        let mut is_after_quote = false;
        loop {
            let before = self.at;
            self.space();
            let Some(&byte) = self.text.as_bytes().get(self.at) else {
                if words.is_empty() {
                    return Ok((words, End::Text));
                }
                return Err(Fault::Unfinished);
            };
            if is_after_quote && self.at > before && self.text.as_bytes().get(before) == Some(&b'#')
            {
                return Err(Fault::AfterQuote('#'));
            }
            let touches = is_after_quote && self.at == before;
            is_after_quote = false;
            if words.is_empty() {
                self.began = self.line;
            }
            match byte {
                b';' | b'{' | b'}' if (byte == b'}') != words.is_empty() => {
                    return Err(Fault::Unexpected(char::from(byte)));
                }
                b';' | b'{' | b'}' => {
                    self.take();
                    let end = match byte {
                        b';' => End::Semicolon,
                        b'{' => End::Open,
                        _ => End::Close,
                    };
                    return Ok((words, end));
                }
                _ if touches && byte != b')' => {
                    let rest = self.text.get(self.at..).unwrap_or_default();
                    let letter = rest.chars().next().unwrap_or_default();
                    return Err(Fault::AfterQuote(letter));
                }
                b'"' | b'\'' => {
                    self.take();
                    words.push(self.quoted(byte)?);
                    is_after_quote = true;
                }
                _ => words.push(self.bare()?),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let (words, end) = Lexer::new(text).directive().unwrap();
        assert_ne!(end, End::Text, "{text}");
        words.into_iter().map(|word| word.value).collect()
    }

    #[test]
    fn words_are_separated_as_nginx_does() {
        assert_eq!(words("a  b\tc;"), ["a", "b", "c"]);
        assert_eq!(words("log_format x '$a \"$b\"' # comment; {\n 'c';").len(), 4);
        assert_eq!(words("set $a ${b}c;"), ["set", "$a", "${b}c"]);
        assert_eq!(words("set $a x${b}{"), ["set", "$a", "x${b}"]);
        assert_eq!(words("location ~ \\.(gif|png)$ {"), ["location", "~", "\\.(gif|png)$"]);
        assert_eq!(words("location ~ \"^/a{2}\" {"), ["location", "~", "^/a{2}"]);
        assert_eq!(words("if ($a = \"b\") {"), ["if", "($a", "=", "b", ")"]);
        assert_eq!(words("a b\"c d\"e;"), ["a", "b\"c", "d\"e"]);
        assert_eq!(words("a b#c;"), ["a", "b#c"]);
        assert!(Lexer::new("a }b;").directive().is_err());
    }

    #[test]
    fn escapes_are_resolved_as_nginx_does() {
        assert_eq!(
            words(r#"a "b\"c" 'd\'e' f\ g h\;i j\\k;"#),
            ["a", "b\"c", "d'e", "f\\ g", "h\\;i", "j\\k"]
        );
        assert_eq!(words(r"a x\ty \n\r '\d\.';"), ["a", "x\ty", "\n\r", r"\d\."]);
    }
}
