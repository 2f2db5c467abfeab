//! From the text of `nginx -T` to a tree, in time proportional to its length.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use zc_run::{Error, Result, escape};

use super::dump::Dump;
use super::lex::{self, End, Lexer, Word};
use super::lua;
use super::tree::{Config, Directive, NEW, Place};
use crate::file::{File, completed, folder};
use crate::glob;

/// Blocks and includes inside each other. nginx has no limit but its stack; the deepest that makes
/// sense, nested locations, are a handful.
const DEEPEST: usize = 64;

/// Directives of all files, each counted as often as it is included. A file that includes another
/// twice, which includes another twice, and so on, has any number of them.
const MOST: u32 = 1_000_000;

/// Bytes that are read again because a marker was a comment in the file that it cut.
const MOST_REPAIRED: usize = 500_000_000;

impl Config {
    /// Reads what `nginx -T` prints.
    ///
    /// Lines before the first marker, such as warnings of nginx, are skipped. Whether directives
    /// exist and are allowed where they stand was nginx's to say.
    ///
    /// # Errors
    /// The text is no such dump, or its files are no configuration: a sentence with file and line.
    pub fn parse(dump: &str) -> Result<Self> {
        let most_repairs = (MOST_REPAIRED / (dump.len() + 1)).clamp(8, 4096);
        let mut dump = Dump::new(dump);
        let mut first: Option<Result<Self>> = None;
        for _ in 0..most_repairs {
            let files = dump.files();
            if files.is_empty() {
                return Err(not_a_dump());
            }
            let mut reading = Reading::new(&files);
            let read = reading.file(0, 0);
            let comment = reading.comment(read.as_ref().err());
            let read = read.map(|main| Self { main, files }).map_err(|fault| fault.error);
            match comment {
                None if read.is_ok() || first.is_none() => return read,
                None => break,
                Some(comment) => dump.take_for_comment(comment),
            }
            first.get_or_insert(read);
        }
        first.unwrap_or_else(|| Err(not_a_dump()))
    }
}

fn not_a_dump() -> Error {
    let message = "the text has no line \"# configuration file PATH:\", so it is not what nginx -T \
                   prints";
    Error::input("not-nginx-dump", message).help("nginx -T -c /etc/nginx/nginx.conf")
}

/// Why a file cannot be read.
struct Fault {
    error: Error,
    /// The file whose text ends too early.
    cut: Option<usize>,
}

type Read<T> = std::result::Result<T, Fault>;

/// What is known while files are read.
struct Reading<'a> {
    files: &'a [File],
    /// The index of each path.
    paths: BTreeMap<&'a str, usize>,
    /// Files that a pattern stands for.
    patterns: HashMap<String, Vec<usize>>,
    is_reached: Vec<bool>,
    /// The last id that was given.
    ids: u32,
    folder: &'a str,
}

impl<'a> Reading<'a> {
    fn new(files: &'a [File]) -> Self {
        Self {
            files,
            paths: files.iter().enumerate().map(|(index, file)| (&*file.path, index)).collect(),
            patterns: HashMap::new(),
            is_reached: vec![false; files.len()],
            ids: NEW,
            folder: folder(&files[0].path),
        }
    }

    /// The first file whose marker must be a comment in the file before it: nothing includes it, or
    /// the file before ends too early. Files come in the order in which they are included, so none
    /// before it can.
    fn comment(&self, fault: Option<&Fault>) -> Option<usize> {
        let index = match fault {
            None => self.is_reached.iter().position(|is_reached| !is_reached),
            Some(fault) => fault.cut.map(|index| index + 1),
        };
        index.filter(|&index| index < self.files.len())
    }

    /// An error in file `index`.
    fn fault(&self, index: usize, line: u32, message: &str) -> Fault {
        let path = escape(&self.files[index].path, 300);
        let error =
            Error::input("nginx-syntax", format!("file \"{path}\", line {line}: {message}"));
        Fault { error: error.help("nginx -t"), cut: None }
    }

    /// The depth inside a block or an include at this line.
    fn deeper(&self, depth: usize, file: usize, line: u32) -> Read<usize> {
        if depth == DEEPEST {
            let message = format!("more than {DEEPEST} blocks and includes in each other");
            return Err(self.fault(file, line, &message));
        }
        Ok(depth + 1)
    }

    /// The directives of file `index`.
    fn file(&mut self, index: usize, depth: usize) -> Read<Vec<Directive>> {
        self.is_reached[index] = true;
        let files = self.files;
        let mut lexer = Lexer::new(&files[index].text);
        self.directives(&mut lexer, index, None, depth)
    }

    /// The directives up to the end of the file or of the block that `opening` began.
    fn directives(
        &mut self,
        lexer: &mut Lexer<'a>,
        file: usize,
        opening: Option<&Directive>,
        depth: usize,
    ) -> Read<Vec<Directive>> {
        let mut out = Vec::new();
        loop {
            let cut = |fault: Fault, lexer: &Lexer<'_>| {
                let is_at_end = lexer.at >= lexer.text.len();
                Fault { cut: is_at_end.then_some(file), ..fault }
            };
            let (words, end) = lexer
                .directive()
                .map_err(|fault| cut(self.fault(file, lexer.line, &fault.to_string()), lexer))?;
            match (end, opening) {
                (End::Text, None) | (End::Close, Some(_)) => return Ok(out),
                (End::Close, None) => {
                    let message = lex::Fault::Unexpected('}').to_string();
                    return Err(self.fault(file, lexer.line, &message));
                }
                (End::Text, Some(block)) => {
                    let name = escape(&block.name, 60);
                    let message = format!("block \"{name}\" is not closed");
                    return Err(cut(self.fault(file, block.line, &message), lexer));
                }
                (End::Semicolon | End::Open, _) => {}
            }
            let mut directive = self.directive(lexer, file, &words)?;
            if end == End::Semicolon && directive.name == "include" && directive.args.len() == 1 {
                self.include(directive, opening, depth, &mut out)?;
                continue;
            }
            if end == End::Open && directive.name.ends_with("_by_lua_block") {
                self.lua(&mut directive, lexer).map_err(|fault| cut(fault, lexer))?;
            } else if end == End::Open {
                let depth = self.deeper(depth, file, directive.line)?;
                let block = self.directives(lexer, file, Some(&directive), depth)?;
                directive.block = Some(block);
            }
            directive.place.bytes.end = lexer.at;
            out.push(directive);
        }
    }

    /// The directive of these words, which the lexer has just read.
    fn directive(&mut self, lexer: &Lexer<'a>, file: usize, words: &[Word]) -> Read<Directive> {
        if self.ids == MOST {
            let message = format!("with its includes it has more than {MOST} directives");
            return Err(self.fault(0, 1, &message));
        }
        self.ids += 1;
        let mut values = words.iter().map(|word| word.value.clone());
        let written =
            |word: &Word| lexer.text.get(word.written.clone()).unwrap_or_default().to_owned();
        let is_quoted = words
            .iter()
            .any(|word| word.written.len() != word.value.len() || word.value.contains('\\'));
        let start = words.first().map_or(lexer.at, |word| word.written.start);
        Ok(Directive {
            name: values.next().unwrap_or_default(),
            args: values.collect(),
            file: Arc::clone(&self.files[file].path),
            line: lexer.began,
            block: None,
            lua: None,
            raw: is_quoted.then(|| words.iter().map(written).collect()),
            id: self.ids,
            place: Place { file, bytes: start..lexer.at, inside: lexer.at },
        })
    }

    /// Takes the code of a block of Lua, whose opening brace is taken.
    fn lua(&self, directive: &mut Directive, lexer: &mut Lexer<'a>) -> Read<()> {
        let Some(code) = lua::take_code(lexer) else {
            let message = format!("the code of \"{}\" is not closed", escape(&directive.name, 60));
            return Err(self.fault(directive.place.file, directive.line, &message));
        };
        directive.lua = Some(code.to_owned());
        Ok(())
    }

    /// Puts the directives of included files in place of `include`.
    fn include(
        &mut self,
        include: Directive,
        opening: Option<&Directive>,
        depth: usize,
        out: &mut Vec<Directive>,
    ) -> Read<()> {
        let (file, line) = (include.place.file, include.line);
        let path = completed(include.first(), self.folder);
        let files = match self.paths.get(path.as_str()) {
            Some(&index) => vec![index],
            None if glob::is_pattern(&path) => self.matching(&path),
            // `geo` may read a file.bin in place of the file.
            None if opening.is_some_and(|block| block.name == "geo") => {
                let mut include = include;
                include.set_args(vec![path]);
                out.push(include);
                return Ok(());
            }
            None => {
                let path = escape(&path, 300);
                let message = format!("the included file \"{path}\" is not in the dump");
                return Err(self.fault(file, line, &message));
            }
        };
        let depth = self.deeper(depth, file, line)?;
        for index in files {
            out.append(&mut self.file(index, depth)?);
        }
        Ok(())
    }

    /// The files that match a pattern, sorted by their paths.
    fn matching(&mut self, pattern: &str) -> Vec<usize> {
        if let Some(files) = self.patterns.get(pattern) {
            return files.clone();
        }
        let prefix = glob::literal_prefix(pattern);
        let candidates =
            self.paths.range(prefix..).take_while(|(path, _)| path.starts_with(prefix));
        let matching = candidates.filter(|(path, _)| glob::matches(pattern, path));
        let files: Vec<usize> = matching.map(|(_, &index)| index).collect();
        self.patterns.insert(pattern.to_owned(), files.clone());
        files
    }
}
