//! From files to sections, line by line as HAProxy reads them (`readcfgfile` in
//! <https://github.com/haproxy/haproxy/blob/v2.6.0/src/cfgparse.c>): what decides which lines there
//! are, `.if` and variables, counts from its line on. Whether keywords exist is HAProxy's to say.

use std::collections::BTreeMap;
use std::sync::Arc;

use zc_run::{Error, Result, escape};

use super::condition::{self, Facts};
use super::tree::{Config, Line, Place, Section};
use super::words::split;
use crate::file::{File, Files};

/// Words that open a section.
const SECTIONS: [&str; 19] = [
    "acme",
    "backend",
    "cache",
    "crt-store",
    "defaults",
    "fcgi-app",
    "frontend",
    "global",
    "http-errors",
    "listen",
    "log-forward",
    "log-profile",
    "mailers",
    "peers",
    "program",
    "resolvers",
    "ring",
    "traces",
    "userlist",
];

/// `.if` in each other (MAXNESTEDCONDS).
const DEEPEST: usize = 16;

/// Lines of all files.
const MOST: usize = 1_000_000;

/// How an operator has HAProxy check a configuration.
const OWN_CHECK: &str = "haproxy -c -f FILE";

/// What is known before the configuration is read.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// The text of `haproxy -vv`.
    pub build: String,
    /// Variables of the environment.
    pub variables: BTreeMap<String, String>,
}

impl Config {
    /// Reads the file at `main`, an absolute path, or all files of a folder whose names end in
    /// `.cfg`, in the order of their names (`-f` in section 2 of the management guide).
    ///
    /// # Errors
    /// A file cannot be read, or a line is none: a sentence with file and line.
    pub fn read(main: &str, start: &Start, files: &mut dyn Files) -> Result<Self> {
        let mut paths = vec![main.to_owned()];
        if files.is_folder(main) {
            let mut names = files.names(main);
            names.retain(|name| name.ends_with(".cfg") && !name.starts_with('.'));
            names.sort();
            let folder = main.trim_end_matches('/');
            paths = names.into_iter().map(|name| format!("{folder}/{name}")).collect();
        }
        let mut reading = Reading {
            build: &start.build,
            variables: start.variables.clone(),
            config: Config { build: start.build.clone(), ..Config::default() },
            lines: 0,
        };
        for path in paths {
            let text = files.read(&path)?;
            reading.file(File { path: Arc::from(path), text })?;
        }
        let mut config = reading.config;
        config.certificates = certificates(&config, files);
        Ok(config)
    }
}

/// A block of conditions.
struct Block {
    /// Whether the lines now are read.
    is_read: bool,
    /// Whether a branch of it was read already, or none is to be.
    is_done: bool,
    has_else: bool,
    line: u32,
}

struct Reading<'a> {
    build: &'a str,
    variables: BTreeMap<String, String>,
    config: Config,
    lines: usize,
}

impl Reading<'_> {
    fn file(&mut self, file: File) -> Result<()> {
        let path = Arc::clone(&file.path);
        let index = self.config.files.len();
        let mut blocks: Vec<Block> = Vec::new();
        let mut is_in_section = false;
        let (mut at, mut number) = (0, 0_u32);
        for text in file.text.split_inclusive('\n') {
            let start = at;
            at += text.len();
            number = number.saturating_add(1);
            self.lines += 1;
            if self.lines > MOST {
                return Err(fault(&path, number, &format!("more than {MOST} lines")));
            }
            if !text.ends_with('\n') && !text.trim().is_empty() {
                let why = "the last line has no end, so the file may have been cut";
                return Err(fault(&path, number, why));
            }
            let is_read = blocks.last().is_none_or(|block| block.is_read);
            // What is not read need not be understood, but for its first word.
            let splitted = match split(text, &self.variables) {
                Ok(splitted) => splitted,
                Err(_) if !is_read => continue,
                Err(bad) => return Err(fault(&path, number, bad.0)),
            };
            let Some(first) = splitted.words.first() else { continue };
            if first.starts_with('.') && first.len() > 1 {
                self.macro_line(&splitted.words, &mut blocks)
                    .map_err(|why| fault(&path, number, &why))?;
                if let Some(block) = blocks.last_mut().filter(|block| block.line == 0) {
                    block.line = number;
                }
                continue;
            }
            if !is_read {
                continue;
            }
            let is_header = opens_section(first);
            let bytes = start + splitted.bytes.start..start + splitted.bytes.end;
            let place = Place { file: index, bytes, after: at };
            let line = Line { words: splitted.words, file: Arc::clone(&path), line: number, place };
            if is_header {
                is_in_section = true;
                self.config.sections.push(Section { header: line, lines: Vec::new() });
                continue;
            }
            match self.config.sections.last_mut().filter(|_| is_in_section) {
                Some(section) => {
                    if section.is("global") {
                        set(&mut self.variables, &line.words);
                    }
                    section.lines.push(line);
                }
                None => {
                    let why = format!("\"{}\" is in no section", escape(line.word(0), 60));
                    return Err(fault(&path, number, &why));
                }
            }
        }
        if let Some(block) = blocks.first() {
            return Err(fault(&path, block.line, "\".if\" has no \".endif\""));
        }
        self.config.files.push(file);
        Ok(())
    }

    /// `.if` and its like.
    fn macro_line(
        &self,
        words: &[String],
        blocks: &mut Vec<Block>,
    ) -> std::result::Result<(), String> {
        let holds = || {
            let text = words[1..].join(" ");
            let facts = Facts { build: self.build, variables: &self.variables };
            condition::holds(&text, &facts).map_err(|part| {
                format!("whether \"{}\" holds is not known to zc", escape(&part, 60))
            })
        };
        let is_read = blocks.last().is_none_or(|block| block.is_read);
        match words[0].as_str() {
            ".if" => {
                if blocks.len() >= DEEPEST {
                    return Err(format!("more than {DEEPEST} \".if\" in each other"));
                }
                let is_read_now = is_read && holds()?;
                let is_done = is_read_now || !is_read;
                blocks.push(Block { is_read: is_read_now, is_done, has_else: false, line: 0 });
            }
            name @ (".elif" | ".else") => {
                let Some(block) = blocks.last_mut().filter(|block| !block.has_else) else {
                    return Err(format!("\"{name}\" without \".if\""));
                };
                block.has_else = name == ".else";
                block.is_read = !block.is_done && (name == ".else" || holds()?);
                block.is_done |= block.is_read;
            }
            ".endif" => {
                blocks.pop().ok_or("\".endif\" without \".if\"")?;
            }
            ".alert" if is_read => {
                let text = escape(&words[1..].join(" "), 100);
                return Err(format!("the configuration refuses itself: {text}"));
            }
            ".notice" | ".warning" | ".diag" | ".alert" => {}
            name if is_read => return Err(format!("\"{}\" is unknown", escape(name, 60))),
            _ => {}
        }
        Ok(())
    }
}

/// Whether a word opens a section.
pub(super) fn opens_section(word: &str) -> bool {
    SECTIONS.contains(&word)
}

/// What a line of a global section does with variables.
fn set(variables: &mut BTreeMap<String, String>, words: &[String]) {
    let word = |at: usize| words.get(at).cloned().unwrap_or_default();
    match words[0].as_str() {
        "setenv" => drop(variables.insert(word(1), word(2))),
        "presetenv" => drop(variables.entry(word(1)).or_insert(word(2))),
        "unsetenv" => words[1..].iter().for_each(|name| drop(variables.remove(name))),
        "resetenv" => variables.retain(|name, _| words[1..].contains(name)),
        _ => {}
    }
}

fn fault(path: &str, line: u32, message: &str) -> Error {
    let message = format!("file \"{}\", line {line}: {message}", escape(path, 300));
    Error::input("haproxy-syntax", message).help(OWN_CHECK)
}

/// The files of folders and lists of certificates.
fn certificates(config: &Config, files: &mut dyn Files) -> BTreeMap<String, Vec<String>> {
    let mut out = BTreeMap::new();
    for section in config.sections.iter().filter(|section| section.is_front()) {
        for bind in section.all("bind") {
            for word in ["crt", "crt-list"] {
                let Some(name) = bind.behind(word).filter(|name| !out.contains_key(*name)) else {
                    continue;
                };
                let path = config.in_crt_base(name);
                let found = match word {
                    "crt" if files.is_folder(&path) => {
                        let mut names = files.names(&path);
                        names.sort();
                        names.into_iter().map(|name| format!("{path}/{name}")).collect()
                    }
                    "crt" => continue,
                    // `FILE [options] [names]` (section 11.2 of the manual).
                    _ => {
                        let text = files.read(&path).unwrap_or_default();
                        let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
                        let names = text.lines().filter_map(first);
                        let names = names.filter(|name| !name.starts_with('#'));
                        names.map(|name| config.in_crt_base(&name)).collect()
                    }
                };
                out.insert(name.to_owned(), found);
            }
        }
    }
    out
}

impl Config {
    /// The path of a certificate.
    pub(super) fn in_crt_base(&self, name: &str) -> String {
        match self.global("crt-base") {
            Some(base) if !name.starts_with('/') => format!("{}/{name}", base.word(1)),
            _ => name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MAIN, Tree, read};
    use super::*;

    fn texts(config: &Config) -> Vec<String> {
        let of = |section: &Section| {
            let lines: Vec<String> = section.lines.iter().map(Line::text).collect();
            format!("{}: {}", section.header.text(), lines.join("; "))
        };
        config.sections.iter().map(of).collect()
    }

    #[test]
    fn sections_have_the_lines_that_hold() {
        let text = "global\n maxconn 10 # all\n setenv P 81\n.if defined(P)\n nbthread 2\n\
                    .if 0\n \"unfinished\n.else\n busy-polling\n.endif\n.elif 1\n x\n.else\n y\n\
                    .endif\n.notice \"a\"\nfrontend \"f$P\"\n bind \":$P\"\n";
        assert_eq!(
            texts(&read(text).unwrap()),
            ["global: maxconn 10; setenv P 81; nbthread 2; busy-polling", "frontend f81: bind :81"]
        );
    }

    #[test]
    fn what_haproxy_refuses_to_read_is_a_sentence_with_its_line() {
        for (text, part) in [
            ("maxconn 5\n", "line 1: \"maxconn\" is in no section"),
            ("global\n maxconn 5", "line 2: the last line has no end"),
            ("global\n a \"b\n", "line 2: a quote has no end"),
            ("global\n.if 1\n", "line 2: \".if\" has no \".endif\""),
            (".endif\n", "line 1: \".endif\" without"),
            (".else\n", "line 1: \".else\" without"),
            (".if 1\n.else\n.else\n.endif\n", "line 3: \".else\" without"),
            (".if awk(x)\n.endif\n", "whether \"awk(x)\" holds is not known"),
            (".alert \"no way\"\n", "refuses itself: no way"),
            (".what\n", "\".what\" is unknown"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!((&*error.id, error.kind), ("haproxy-syntax", zc_run::ErrorKind::Input));
            assert!(error.message.contains(part), "{text}: {error}");
        }
        assert!(read(&".if 1\n".repeat(40)).unwrap_err().message.contains("more than 16"));
        assert!(read("").unwrap().sections.is_empty());
    }

    #[test]
    fn a_folder_is_read_in_the_order_of_its_names() {
        let mut files = Tree::from([
            ("/e/conf/b.cfg", "frontend f\n bind :80\n"),
            ("/e/conf/a.cfg", "global\n"),
            ("/e/conf/.c.cfg", "x\n"),
            ("/e/conf/d.txt", "x\n"),
        ]);
        let config = Config::read("/e/conf", &Start::default(), &mut files).unwrap();
        assert_eq!(texts(&config), ["global: ", "frontend f: bind :80"]);
        assert!(Config::read("/e/none.cfg", &Start::default(), &mut files).is_err());
        // A section ends with its file.
        let mut files = Tree::from([("/e/c/a.cfg", "global\n"), ("/e/c/b.cfg", "maxconn 1\n")]);
        assert!(Config::read("/e/c", &Start::default(), &mut files).is_err());
    }

    #[test]
    fn certificates_of_folders_and_lists_are_known() {
        let text = "global\n crt-base /c\nfrontend f\n bind :1 ssl crt d\n bind :2 ssl crt-list \
                    /c/l\n bind :3 ssl crt one.pem\n";
        let mut files = Tree::from([
            (MAIN, text),
            ("/c/d/b.pem", ""),
            ("/c/d/a.pem", ""),
            ("/c/l", "# list\nx.pem [alpn h2] a.test\n\n/y.pem\n"),
        ]);
        let config = Config::read(MAIN, &Start::default(), &mut files).unwrap();
        let expected =
            [("/c/l", vec!["/c/x.pem", "/y.pem"]), ("d", vec!["/c/d/a.pem", "/c/d/b.pem"])];
        let found: Vec<(&str, Vec<&str>)> = config
            .certificates
            .iter()
            .map(|(name, paths)| (name.as_str(), paths.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(found, expected);
    }
}
