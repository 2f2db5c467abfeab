//! From files to blocks of lines, with snippets and other files where they are imported
//! (<https://caddyserver.com/docs/caddyfile/directives/import>). Whether directives exist is
//! Caddy's to say.

use std::collections::BTreeMap;
use std::sync::Arc;

use zc_run::{Error, Result, escape};

use super::lex::{self, Fault};
use super::parse::Parser;
use super::tree::{Config, Line};
use crate::file::{File, Files, completed, folder};
use crate::glob;

/// The configuration that packages have.
pub const CONF_PATH: &str = "/etc/caddy/Caddyfile";

/// Imports in imports, of which Caddy has no circle.
const DEEPEST: usize = 32;

/// Lines with all that is imported.
const MOST_LINES: usize = 100_000;

/// What is known before the configuration is read.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// Caddy's version, as in `Caddy 2.6.2`.
    pub build: String,
    /// Variables of the environment.
    pub variables: BTreeMap<String, String>,
}

impl Config {
    /// Reads the file at `main`, an absolute path, with all that it imports.
    ///
    /// # Errors
    /// A file cannot be read, or is no Caddyfile: a sentence with file and line.
    pub fn read(main: &str, start: Start, files: &mut dyn Files) -> Result<Self> {
        let text = files.read(main)?;
        let Start { build, variables } = start;
        let is_json = text.trim_start().strip_prefix('{').is_some_and(|rest| {
            let rest = rest.trim_start();
            rest.starts_with('"') && rest[1..].contains("\":")
        });
        if is_json {
            let message = format!("\"{}\" is JSON, and zc reads Caddyfiles", escape(main, 300));
            return Err(Error::input("caddy-syntax", message)
                .help("-c names the Caddyfile that it was adapted from"));
        }
        let mut reading = Reading {
            variables: &variables,
            files,
            read: Vec::new(),
            snippets: BTreeMap::new(),
            lines: 0,
        };
        let mut blocks = Vec::new();
        let lines = reading.file(main, text, true)?;
        reading.top(lines, 0, &mut blocks)?;
        let files = reading.read;
        Ok(Self { blocks, files, build, variables })
    }
}

/// The state of reading.
struct Reading<'a> {
    variables: &'a BTreeMap<String, String>,
    files: &'a mut dyn Files,
    read: Vec<File>,
    snippets: BTreeMap<String, Vec<Line>>,
    lines: usize,
}

/// The error of a line.
fn fault(path: &str, line: u32, why: &str) -> Error {
    let message = format!("file \"{}\", line {line}: {why}", escape(path, 300));
    Error::input("caddy-syntax", message).help("caddy validate --config FILE")
}

impl Reading<'_> {
    /// The lines of a file, which is imported into a block or not.
    fn file(&mut self, path: &str, text: String, is_top: bool) -> Result<Vec<Line>> {
        let known = self.read.iter().position(|file| *file.path == *path);
        let file = known.unwrap_or(self.read.len());
        let shared: Arc<str> = path.into();
        let faulty = |(line, why): Fault| fault(path, line, why);
        let words = lex::words(&text, self.variables).map_err(faulty)?;
        let parser = Parser { text: &text, words: &words, path: &shared, file, at: 0 };
        let lines = if is_top { parser.top() } else { parser.inside() }.map_err(faulty)?;
        if known.is_none() {
            self.read.push(File { path: shared, text });
        }
        Ok(lines)
    }

    /// Sorts what stands outside of any block into snippets and the rest.
    fn top(&mut self, lines: Vec<Line>, depth: usize, out: &mut Vec<Line>) -> Result<()> {
        for line in lines {
            if line.word(0) == "import" {
                for (path, text) in self.imported(&line, depth)? {
                    let lines = self.file(&path, text, true)?;
                    self.top(lines, depth + 1, out)?;
                }
                continue;
            }
            let name = line.words.first().filter(|_| line.words.len() == 1);
            let snippet = name.and_then(|name| name.strip_prefix('(')?.strip_suffix(')'));
            match snippet {
                // What it imports is had where it is imported.
                Some(name) => {
                    self.snippets.insert(name.to_owned(), line.block.unwrap_or_default());
                }
                None => out.push(self.resolved(line, depth)?),
            }
        }
        Ok(())
    }

    /// A line whose block has what it imports.
    fn resolved(&mut self, mut line: Line, depth: usize) -> Result<Line> {
        self.count(&line)?;
        let Some(lines) = line.block.take() else { return Ok(line) };
        let mut block = Vec::new();
        self.block(lines, depth, &mut block)?;
        line.block = Some(block);
        Ok(line)
    }

    fn block(&mut self, lines: Vec<Line>, depth: usize, out: &mut Vec<Line>) -> Result<()> {
        for line in lines {
            if line.word(0) != "import" {
                out.push(self.resolved(line, depth)?);
                continue;
            }
            let arguments = line.words.get(2..).unwrap_or_default();
            if let Some(lines) = self.snippets.get(line.word(1)).cloned() {
                self.check(&line, depth)?;
                self.block(with_arguments(lines, arguments), depth + 1, out)?;
                continue;
            }
            for (path, text) in self.imported(&line, depth)? {
                let lines = self.file(&path, text, false)?;
                self.block(with_arguments(lines, arguments), depth + 1, out)?;
            }
        }
        Ok(())
    }

    /// Counts a line.
    fn count(&mut self, line: &Line) -> Result<()> {
        self.lines += 1;
        if self.lines > MOST_LINES {
            let why = "with what is imported there are more than 100,000 lines";
            return Err(fault(&line.file, line.line, why));
        }
        Ok(())
    }

    /// Whether a line can import something.
    fn check(&mut self, line: &Line, depth: usize) -> Result<()> {
        self.count(line)?;
        if line.block.is_some() {
            let why = "zc reads no blocks that are given to \"import\"";
            return Err(fault(&line.file, line.line, why));
        }
        match depth < DEEPEST {
            true => Ok(()),
            false => Err(fault(&line.file, line.line, "imports go round in a circle")),
        }
    }

    /// The files that a line imports, with their texts.
    fn imported(&mut self, line: &Line, depth: usize) -> Result<Vec<(String, String)>> {
        self.check(line, depth)?;
        let pattern = line.word(1);
        let path = completed(pattern.trim_start_matches("./"), folder(&line.file));
        if pattern.is_empty() {
            return Err(fault(&line.file, line.line, "\"import\" names nothing"));
        }
        let paths = match glob::is_pattern(&path) {
            true => glob::expand(&path, &mut |folder| self.files.names(folder)),
            false => vec![path],
        };
        let read = |path: String| {
            let text = self.files.read(&path)?;
            Ok((path, text))
        };
        paths.into_iter().map(read).collect()
    }
}

/// Lines with the arguments of their import: `{args[0]}` or `{args.0}`, and `{args[:]}` for all.
fn with_arguments(lines: Vec<Line>, arguments: &[String]) -> Vec<Line> {
    let one = |mut line: Line| {
        let words = std::mem::take(&mut line.words);
        line.words = words.into_iter().flat_map(|word| with_argument(word, arguments)).collect();
        line.block = line.block.map(|block| with_arguments(block, arguments));
        line
    };
    lines.into_iter().map(one).collect()
}

fn with_argument(mut word: String, arguments: &[String]) -> Vec<String> {
    if !word.contains("{args") {
        return vec![word];
    }
    if word == "{args[:]}" {
        return arguments.to_vec();
    }
    for (number, argument) in arguments.iter().enumerate() {
        for form in [format!("{{args[{number}]}}"), format!("{{args.{number}}}")] {
            word = word.replace(&form, argument);
        }
    }
    vec![word]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MAIN, read, read_files};
    use super::*;

    fn texts(config: &Config) -> Vec<String> {
        config.blocks.iter().map(Line::text).collect()
    }

    #[test]
    fn sites_have_their_lines_with_snippets_and_files_in_place() {
        let config = read_files(&[
            (
                MAIN,
                "{\n\tdebug\n}\n(log) {\n\tlog {args[0]} {args.1}x {args[9]}\n\theader {args[:]}\n}\n\
                 a.test, b.test,\nhttp://c.test {\n\timport log 1 2\n\timport part/*.caddy\n}\n\
                 import sites/*\n",
            ),
            ("/e/part/1.caddy", "root * {$ROOT:/srv}\nhandle {\n\tfile_server\n}\n"),
            ("/e/sites/d", "(own) {\n\ttls internal\n}\nd.test {\n\timport own\n}\n"),
            ("/e/sites/.hidden", "}"),
        ])
        .unwrap();
        assert_eq!(
            texts(&config),
            [
                " { debug }",
                "a.test, b.test, http://c.test { log 1 2x {args[9]}; header 1 2; root * /srv; \
                 handle { file_server } }",
                "d.test { tls internal }",
            ]
        );
        let handle = &config.blocks[1].children()[3];
        assert_eq!(handle.position(), "/e/part/1.caddy, line 2");
        assert_eq!(config.files.len(), 3);
    }

    #[test]
    fn a_site_alone_needs_no_braces() {
        let config =
            read(":80\n\nroot * /srv # here\nhandle /x {\n\trespond 200\n}\nfile_server\n");
        assert_eq!(
            texts(&config.unwrap()),
            [":80 { root * /srv; handle /x { respond 200 }; file_server }"]
        );
        assert_eq!(texts(&read(":80").unwrap()), [":80"]);
        assert!(read("").unwrap().blocks.is_empty());
    }

    #[test]
    fn what_is_not_read_is_a_sentence_with_its_line() {
        for (text, part) in [
            (":80 {\n", "line 1: a block has no \"}\""),
            ("a,\n}\n", "line 2: \"}\" ends no block"),
            (":80 {\n}\n}\n", "line 3: \"}\" ends no block"),
            (":80\nfile_server\n}\n", "line 3: \"}\" ends no block"),
            (":80 { file_server\n}\n", "line 1: behind \"{\" a line has to end"),
            (":80 {\n\trespond \"x\n}\n", "line 2: a quote has no end"),
            (":80 {\n\timport\n}\n", "line 2: \"import\" names nothing"),
            ("(a) {\n\timport a\n}\n:80 {\n\timport a\n}\n", "line 2: imports go round"),
            ("(a) {\n}\n:80 {\n\timport a {\n\t}\n}\n", "line 4: zc reads no blocks"),
            ("import a {\n}\n", "line 1: zc reads no blocks"),
            ("{\"apps\": {}}", "is JSON"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!((&*error.id, error.kind), ("caddy-syntax", zc_run::ErrorKind::Input));
            assert!(error.message.contains(part) && error.help.is_some(), "{text}: {error}");
        }
        let error = read(":80 {\n\timport none\n}\n").unwrap_err();
        assert_eq!(error.id, "cannot-read-configuration");
        let deep = format!(":80 {}{}", "{\na ".repeat(200), "}\n".repeat(200));
        assert!(read(&deep).unwrap_err().message.contains("more than 100 blocks"));
        let double = |n: u32| format!("(s{n}) {{\nimport s{0}\nimport s{0}\n}}\n", n - 1);
        let many: String = (1..25).map(double).collect();
        let error = read(&format!("(s0) {{\n}}\n{many}:80 {{\nimport s24\n}}\n"));
        assert!(error.unwrap_err().message.contains("more than 100,000 lines"));
    }
}
