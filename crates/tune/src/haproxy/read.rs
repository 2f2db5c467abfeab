//! From files to sections, line by line as HAProxy reads them (`readcfgfile` in
//! <https://github.com/haproxy/haproxy/blob/v2.6.0/src/cfgparse.c>). Variables count from the line
//! on that sets them. Whether keywords exist is HAProxy's to say.

use std::collections::BTreeMap;
use std::sync::Arc;

use zc_run::{Error, Result, escape};

use super::tree::{Config, Line, Place, Section};
use super::words::split;
use crate::file::{File, Files};

/// The configuration that services of distributions name: HAProxy itself has no default.
pub const CONF_PATH: &str = "/etc/haproxy/haproxy.cfg";

/// Words that open a section.
const SECTIONS: [&str; 18] = [
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
    pub fn read(main: &str, start: Start, files: &mut dyn Files) -> Result<Self> {
        let mut paths = vec![main.to_owned()];
        if files.is_folder(main) {
            let mut names = files.names(main);
            names.retain(|name| name.ends_with(".cfg") && !name.starts_with('.'));
            names.sort();
            if names.is_empty() {
                let message = format!("the folder \"{}\" has no *.cfg", escape(main, 300));
                return Err(Error::input("cannot-read-configuration", message)
                    .help("-c names the configuration, or a folder of several files"));
            }
            let folder = main.trim_end_matches('/');
            paths = names.into_iter().map(|name| format!("{folder}/{name}")).collect();
        }
        let mut config = Self { build: start.build, ..Self::default() };
        let mut variables = start.variables;
        for path in paths {
            let text = files.read(&path)?;
            config.add(&path.into(), text, &mut variables)?;
        }
        Ok(config)
    }

    fn add(
        &mut self,
        path: &Arc<str>,
        text: String,
        variables: &mut BTreeMap<String, String>,
    ) -> Result<()> {
        let file = self.files.len();
        // A section ends with its file.
        let first = self.sections.len();
        let mut at = 0;
        for (number, physical) in (1..).zip(text.split_inclusive('\n')) {
            let start = at;
            at += physical.len();
            let fault = |why: &str| {
                let message = format!("file \"{}\", line {number}: {why}", escape(path, 300));
                Err(Error::input("haproxy-syntax", message).help("haproxy -c -f FILE"))
            };
            let split = match split(physical, variables) {
                Ok(split) => split,
                Err(why) => return fault(why),
            };
            let Some(word) = split.words.first() else { continue };
            if word.starts_with('.') && word.len() > 1 {
                return fault(
                    "zc reads no conditional blocks and messages (\".if\"): -c may name a \
                     configuration without them",
                );
            }
            let is_header = SECTIONS.contains(&word.as_str());
            let bytes = start + split.bytes.start..start + split.bytes.end;
            let place = Place { file, bytes, after: at };
            let line = Line { words: split.words, file: Arc::clone(path), line: number, place };
            if is_header {
                self.sections.push(Section { header: line, lines: Vec::new() });
                continue;
            }
            match self.sections[first..].last_mut() {
                Some(section) => {
                    if line.word(0) == "setenv" && section.kind() == "global" {
                        variables.insert(line.word(1).to_owned(), line.word(2).to_owned());
                    }
                    section.lines.push(line);
                }
                None => {
                    return fault(&format!("\"{}\" is in no section", escape(line.word(0), 60)));
                }
            }
        }
        self.files.push(File { path: Arc::clone(path), text });
        Ok(())
    }
}

/// Whether a word opens a section.
pub(super) fn opens_section(word: &str) -> bool {
    SECTIONS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::super::testing::read;
    use super::*;

    fn texts(config: &Config) -> Vec<String> {
        let of = |section: &Section| {
            let lines: Vec<String> = section.lines.iter().map(Line::text).collect();
            format!("{}: {}", section.header.text(), lines.join("; "))
        };
        config.sections.iter().map(of).collect()
    }

    #[test]
    fn sections_have_their_lines_with_variables_replaced() {
        let text = "global\n maxconn 10 # all\n setenv P 81\n\n# none\nfrontend \"f$P\"\n bind \
                    \":$P\"\n";
        assert_eq!(
            texts(&read(text).unwrap()),
            ["global: maxconn 10; setenv P 81", "frontend f81: bind :81"]
        );
        assert!(read("").unwrap().sections.is_empty());
    }

    #[test]
    fn what_is_not_read_is_a_sentence_with_its_line() {
        for (text, part) in [
            ("maxconn 5\n", "file \"/e/haproxy.cfg\", line 1: \"maxconn\" is in no section"),
            ("global\n a \"b\n", "line 2: a quote has no end"),
            ("global\n.if 1\n.endif\n", "line 2: zc reads no conditional blocks"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!((&*error.id, error.kind), ("haproxy-syntax", zc_run::ErrorKind::Input));
            assert!(error.message.contains(part) && error.help.is_some(), "{text}: {error}");
        }
    }

    #[test]
    fn a_folder_is_read_in_the_order_of_its_names() {
        let mut files = BTreeMap::from([
            ("/e/conf/b.cfg", "frontend f\n bind :80\n"),
            ("/e/conf/a.cfg", "global\n"),
            ("/e/conf/.c.cfg", "x\n"),
            ("/e/conf/d.txt", "x\n"),
        ]);
        let config = Config::read("/e/conf", Start::default(), &mut files).unwrap();
        assert_eq!(texts(&config), ["global: ", "frontend f: bind :80"]);
        assert!(Config::read("/e/none.cfg", Start::default(), &mut files).is_err());
        let mut files = BTreeMap::from([("/e/c/a.cfg", "global\n"), ("/e/c/b.cfg", "maxconn 1\n")]);
        let error = Config::read("/e/c", Start::default(), &mut files).unwrap_err();
        assert!(error.message.contains("/e/c/b.cfg\", line 1"), "{error}");
        let mut files = BTreeMap::from([("/e/d/a.conf", "global\n")]);
        let error = Config::read("/e/d", Start::default(), &mut files).unwrap_err();
        assert!(error.message.contains("\"/e/d\" has no *.cfg"), "{error}");
    }
}
