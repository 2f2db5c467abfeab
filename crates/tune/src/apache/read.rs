//! From files to a tree, line by line as Apache reads them (`ap_build_config_sub` in
//! <https://github.com/apache/httpd/blob/2.4.x/server/config.c>): what decides which lines there
//! are, `Include`, `Define`, `<IfModule>` and their like, counts from its line on.
//!
//! `apache2 -t -D DUMP_INCLUDES` prints the names of the files alone, and loads the modules for it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use zc_run::{Error, Result, escape};

use super::build;
use super::cursor::{Cursor, Joined};
use super::if_version;
use super::modules::Modules;
use super::tree::{Config, Line, NEW, Place};
use super::variables::resolve;
use super::words::{take_word, words};
use crate::file::{File, Files};
use crate::glob;

/// Files that include each other (AP_MAX_INCLUDE_DEPTH).
const DEEPEST_INCLUDE: usize = 128;

/// Sections in each other. Apache has no limit but its stack.
const DEEPEST: usize = 256;

/// Lines of all files, each counted as often as it is included.
const MOST: u32 = 1_000_000;

/// Files that are read, each counted as often as it is included.
const MOST_FILES: usize = 200_000;

/// How an operator has Apache check a configuration.
pub(super) const OWN_CHECK: &str = "apache2ctl configtest";

/// What is known before the configuration is read.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// The text of `apache2 -V` and `apache2 -l`.
    pub build: String,
    /// Variables of the environment.
    pub variables: BTreeMap<String, String>,
    /// Names given by `-D`.
    pub defines: Vec<String>,
}

impl Config {
    /// Reads the file at `main`, an absolute path, and all it includes.
    ///
    /// Whether directives exist and are allowed where they stand is Apache's to say.
    ///
    /// # Errors
    /// A file cannot be read, or a section has no end: a sentence with file and line.
    pub fn read(main: &str, start: &Start, files: &mut dyn Files) -> Result<Self> {
        let root = build::root(&start.build).trim_end_matches('/').to_owned();
        let mut reading = Reading {
            on_disk: files,
            start,
            files: Vec::new(),
            paths: HashMap::new(),
            modules: Modules::of_program(&start.build),
            defines: start.defines.iter().cloned().collect(),
            values: HashMap::new(),
            root: root.clone(),
            ids: NEW,
            read: 0,
            said: Vec::new(),
        };
        let lines = reading.file(main, None, Depth::default())?;
        let Reading { files, modules, said, .. } = reading;
        let file = |(path, text): (Arc<str>, Arc<str>)| File { path, text: text.to_string() };
        let files = files.into_iter().map(file).collect();
        Ok(Self { lines, files, said, root, build: start.build.clone(), modules })
    }
}

/// What a line is inside of.
#[derive(Debug, Clone, Copy, Default)]
struct Depth {
    includes: usize,
    sections: usize,
}

/// A section whose end is waited for.
struct Open<'a> {
    name: &'a str,
    line: u32,
}

/// What is known while files are read.
struct Reading<'a> {
    on_disk: &'a mut dyn Files,
    start: &'a Start,
    files: Vec<(Arc<str>, Arc<str>)>,
    /// The index of each path.
    paths: HashMap<String, usize>,
    modules: Modules,
    /// Names that are defined, and the values of those that have one.
    defines: HashSet<String>,
    values: HashMap<String, String>,
    /// The `ServerRoot` by now.
    root: String,
    /// The last id that was given.
    ids: u32,
    /// Files and folders that were read, each as often as it is included.
    read: usize,
    said: Vec<String>,
}

impl Reading<'_> {
    /// The lines of a file, which a line of another one includes.
    fn file(&mut self, path: &str, by: Option<&str>, depth: Depth) -> Result<Vec<Line>> {
        self.count(path)?;
        let index = match self.paths.get(path) {
            Some(index) => *index,
            None => {
                let text = self.on_disk.read(path).map_err(|error| match by {
                    None => error,
                    Some(by) => error.prefixed(format!("{by}: ")),
                })?;
                self.files.push((Arc::from(path), Arc::from(text)));
                self.paths.insert(path.to_owned(), self.files.len() - 1);
                self.files.len() - 1
            }
        };
        let text = Arc::clone(&self.files[index].1);
        self.lines(&mut Cursor::new(&text), index, None, depth)
    }

    /// Counts a file or a folder that is read.
    fn count(&mut self, path: &str) -> Result<()> {
        self.read += 1;
        if self.read > MOST_FILES {
            let message = format!("\"{}\" is one of more than {MOST_FILES} includes", short(path));
            return Err(Error::input("too-many-includes", message));
        }
        Ok(())
    }

    /// `file "/e/apache2.conf", line 5`.
    fn place(&self, file: usize, line: u32) -> String {
        format!("file \"{}\", line {line}", short(&self.files[file].0))
    }

    fn fault(&self, file: usize, line: u32, message: &str) -> Error {
        let message = format!("{}: {message}", self.place(file, line));
        Error::input("apache-syntax", message).help(OWN_CHECK)
    }

    fn say(&mut self, file: usize, line: u32, what: &str) {
        let place = self.place(file, line);
        self.said.push(format!("{what} ({})", place.trim_start_matches("file ")));
    }

    /// The lines until the end of `open`, or of the file.
    fn lines(
        &mut self,
        cursor: &mut Cursor<'_>,
        file: usize,
        open: Option<&Open<'_>>,
        depth: Depth,
    ) -> Result<Vec<Line>> {
        if depth.sections > DEEPEST {
            let line = open.map_or(0, |open| open.line);
            let message = format!("more than {DEEPEST} sections in each other");
            return Err(self.fault(file, line, &message));
        }
        let mut out = Vec::new();
        while let Some(joined) = cursor.next() {
            if joined.text.is_empty() || joined.text.starts_with('#') {
                continue;
            }
            let resolved = {
                let (values, variables) = (&self.values, &self.start.variables);
                let value = |name: &str| values.get(name).or_else(|| variables.get(name));
                resolve(&joined.text, &|name| value(name).map(String::as_str))
            };
            let mut rest = resolved.as_str();
            let name = take_word(&mut rest);
            let at = joined.line;
            if let Some(closed) = name.strip_prefix("</") {
                let Some(closed) = closed.strip_suffix('>') else {
                    let message = format!("\"{}\" has no \">\"", short(&name));
                    return Err(self.fault(file, at, &message));
                };
                return match open {
                    Some(open) if open.name.eq_ignore_ascii_case(closed) => Ok(out),
                    Some(open) => {
                        let message = format!(
                            "\"{}\" ends where \"<{}>\" of line {} is open",
                            short(&name),
                            short(open.name),
                            open.line
                        );
                        Err(self.fault(file, at, &message))
                    }
                    None => {
                        let message = format!("\"{}\" ends what has not begun", short(&name));
                        Err(self.fault(file, at, &message))
                    }
                };
            }
            match name.strip_prefix('<') {
                Some(section) => {
                    let (section, args) = self.opened(section, rest, file, at)?;
                    let here = Here { joined: &joined, after: cursor.at(), file, depth };
                    self.section((section, args), here, cursor, &mut out)?;
                }
                None if name.is_empty() => {}
                None => {
                    let here = Here { joined: &joined, after: cursor.at(), file, depth };
                    self.directive(&name, rest, here, &mut out)?;
                }
            }
        }
        match open {
            None => Ok(out),
            Some(open) => {
                let message = format!("\"<{}>\" has no end", short(open.name));
                Err(self.fault(file, open.line, &message))
            }
        }
    }

    /// Name and arguments of a section, without the bracket that ends its line.
    fn opened<'s>(
        &self,
        name: &'s str,
        rest: &'s str,
        file: usize,
        line: u32,
    ) -> Result<(&'s str, &'s str)> {
        match (name.strip_suffix('>'), rest.rfind('>')) {
            (Some(name), _) if rest.is_empty() => Ok((name, "")),
            (bare, Some(end)) => Ok((bare.unwrap_or(name), rest[..end].trim_end())),
            _ => {
                let message = format!("\"<{}\" has no \">\"", short(name));
                Err(self.fault(file, line, &message))
            }
        }
    }

    /// A section: that of a condition becomes its lines or nothing.
    fn section(
        &mut self,
        (name, args): (&str, &str),
        here: Here<'_>,
        cursor: &mut Cursor<'_>,
        out: &mut Vec<Line>,
    ) -> Result<()> {
        let (file, depth) = (here.file, here.depth);
        let lower = name.to_ascii_lowercase();
        let open = Open { name, line: here.joined.line };
        let inner = Depth { sections: depth.sections + 1, ..depth };
        if is_code(&lower) {
            let code = self.code(&open, cursor, file)?;
            if lower == "perl" {
                self.say(file, open.line, "the code of \"<Perl>\" is left out");
            } else {
                let mut line = self.line(name, args, here)?;
                line.code = Some(code);
                out.push(line);
            }
            return Ok(());
        }
        match self.holds(&lower, args, file, open.line)? {
            Some(true) => out.extend(self.lines(cursor, file, Some(&open), inner)?),
            Some(false) => self.skip(&open, cursor, file)?,
            None => {
                let mut line = self.line(name, args, here)?;
                line.block = Some(self.lines(cursor, file, Some(&open), inner)?);
                out.push(line);
            }
        }
        Ok(())
    }

    /// Whether the lines of a section count; `None`: it is no condition of reading.
    fn holds(&mut self, lower: &str, args: &str, file: usize, line: u32) -> Result<Option<bool>> {
        let (is_negated, mut rest) = match args.strip_prefix('!') {
            Some(rest) if lower != "ifversion" => (true, rest),
            _ => (false, args),
        };
        let holds = match lower {
            "ifdefine" => self.defines.contains(&take_word(&mut rest)),
            "ifmodule" => self.modules.has(&take_word(&mut rest)),
            "iffile" => {
                let path = self.completed(&take_word(&mut rest));
                self.on_disk.exists(&path)
            }
            "ifversion" => {
                let version = build::version(&self.start.build);
                match version.and_then(|version| if_version::holds(&words(rest), version)) {
                    Some(holds) => holds,
                    None => {
                        let message = format!("zc cannot tell \"<IfVersion {}>\"", short(rest));
                        return Err(self.fault(file, line, &message));
                    }
                }
            }
            // Which directives and sections there are is known by Apache alone.
            "ifdirective" | "ifsection" => {
                let words = format!("\"<{lower} {}>\" is taken to hold", short(args));
                self.say(file, line, &words);
                return Ok(Some(true));
            }
            // It counts where it is used.
            "macro" => return Ok(Some(false)),
            _ => return Ok(None),
        };
        Ok(Some(holds != is_negated))
    }

    /// Reads on to the end of a section whose lines do not count.
    fn skip(&mut self, open: &Open<'_>, cursor: &mut Cursor<'_>, file: usize) -> Result<()> {
        let mut names = vec![open.name.to_owned()];
        for joined in cursor.by_ref() {
            let mut rest = joined.text.as_str();
            let name = take_word(&mut rest);
            if let Some(closed) = name.strip_prefix("</") {
                let closed = closed.strip_suffix('>').unwrap_or(closed);
                match names.pop() {
                    Some(name) if name.eq_ignore_ascii_case(closed) => {}
                    other => {
                        let other = other.unwrap_or_default();
                        let message = format!(
                            "\"</{}>\" ends where \"<{}>\" is open",
                            short(closed),
                            short(&other)
                        );
                        return Err(self.fault(file, joined.line, &message));
                    }
                }
                if names.is_empty() {
                    return Ok(());
                }
            } else if let Some(section) = name.strip_prefix('<') {
                names.push(section.strip_suffix('>').unwrap_or(section).to_owned());
            }
        }
        let message = format!("\"<{}>\" has no end", short(open.name));
        Err(self.fault(file, open.line, &message))
    }

    /// The code of a section, until the line that ends it.
    fn code(&mut self, open: &Open<'_>, cursor: &mut Cursor<'_>, file: usize) -> Result<String> {
        let end = format!("</{}>", open.name);
        let mut code = String::new();
        while let Some(line) = cursor.physical() {
            if line.trim().eq_ignore_ascii_case(&end) {
                return Ok(code);
            }
            code.push_str(line);
        }
        let message = format!("\"<{}>\" has no end", short(open.name));
        Err(self.fault(file, open.line, &message))
    }

    /// A line of the tree.
    fn line(&mut self, name: &str, args: &str, here: Here<'_>) -> Result<Line> {
        let Here { joined, after, file, .. } = here;
        self.ids += 1;
        if self.ids > MOST {
            let message = format!("this is one of more than {MOST} lines");
            return Err(self.fault(file, joined.line, &message));
        }
        let mut raw = joined.text.as_str();
        take_word(&mut raw);
        Ok(Line {
            name: name.to_owned(),
            args: args.to_owned(),
            file: Arc::clone(&self.files[file].0),
            line: joined.line,
            block: None,
            code: None,
            raw: raw.to_owned(),
            id: self.ids,
            place: Place { file, bytes: joined.bytes.clone(), after },
        })
    }

    /// A directive: one that is about reading is carried out.
    fn directive(
        &mut self,
        name: &str,
        args: &str,
        here: Here<'_>,
        out: &mut Vec<Line>,
    ) -> Result<()> {
        let (file, at) = (here.file, here.joined.line);
        let given = words(args);
        let word = |at: usize| given.get(at).map_or("", String::as_str);
        match name.to_ascii_lowercase().as_str() {
            "include" | "includeoptional" => {
                let is_optional = name.eq_ignore_ascii_case("includeoptional");
                let by = self.place(file, at);
                return self.include(word(0), is_optional, &by, here.depth, out);
            }
            "define" => {
                self.defines.insert(word(0).to_owned());
                if let Some(value) = given.get(1) {
                    self.values.insert(word(0).to_owned(), value.clone());
                }
                return Ok(());
            }
            "undefine" => {
                self.defines.remove(word(0));
                self.values.remove(word(0));
                return Ok(());
            }
            "use" => {
                let message = format!("zc does not read macros, and \"{}\" is one", short(word(0)));
                return Err(self.fault(file, at, &message));
            }
            "undefmacro" => return Ok(()),
            "error" => {
                let message = format!("the configuration ends with \"{}\"", short(args));
                return Err(self.fault(file, at, &message));
            }
            "serverroot" => word(0).trim_end_matches('/').clone_into(&mut self.root),
            "loadmodule" => self.modules.load(word(0), word(1)),
            _ => {}
        }
        let line = self.line(name, args, here)?;
        out.push(line);
        Ok(())
    }

    /// A path as Apache completes it.
    fn completed(&self, path: &str) -> String {
        if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", self.root) }
    }

    /// The lines of a file, of all files of a folder and those below, or of all that a pattern
    /// stands for, in the order of their names.
    fn include(
        &mut self,
        path: &str,
        is_optional: bool,
        by: &str,
        depth: Depth,
        out: &mut Vec<Line>,
    ) -> Result<()> {
        let inner = Depth { includes: depth.includes + 1, ..depth };
        if inner.includes > DEEPEST_INCLUDE {
            let message = format!(
                "{by}: more than {DEEPEST_INCLUDE} includes in each other; does a file include \
                 itself?"
            );
            return Err(Error::input("apache-syntax", message).help(OWN_CHECK));
        }
        let full = self.completed(path);
        let mut open = match glob::is_pattern(&full) {
            true => {
                let on_disk = &mut *self.on_disk;
                let found = glob::expand(&full, &mut |folder| on_disk.names(folder));
                if found.is_empty() && !is_optional {
                    let message = format!("{by}: no file matches \"{}\"", short(&full));
                    let help = "IncludeOptional takes a pattern that matches none";
                    return Err(Error::input("apache-syntax", message).help(help));
                }
                found
            }
            false if is_optional && !self.on_disk.exists(&full) => return Ok(()),
            false => vec![full],
        };
        open.reverse();
        while let Some(path) = open.pop() {
            if self.on_disk.is_folder(&path) {
                self.count(&path)?;
                let path = path.trim_end_matches('/');
                let mut names = self.on_disk.names(path);
                names.sort_unstable_by(|one, other| other.cmp(one));
                open.extend(names.into_iter().map(|name| format!("{path}/{name}")));
            } else {
                out.extend(self.file(&path, Some(by), inner)?);
            }
        }
        Ok(())
    }
}

/// Where a line stands.
#[derive(Clone, Copy)]
struct Here<'a> {
    joined: &'a Joined,
    /// The offset after it.
    after: usize,
    file: usize,
    depth: Depth,
}

/// Whether a section has code in place of lines: mod_perl's and mod_lua's.
fn is_code(lower: &str) -> bool {
    lower == "perl" || lower.starts_with("luahook") || lower == "luaquickhandler"
}

fn short(text: &str) -> String {
    escape(text, 300)
}
