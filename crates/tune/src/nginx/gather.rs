//! The text of `nginx -T` without nginx: the main file and what it includes, read one by one.
//!
//! `nginx -T` needs the rights of the live server and leaves traces of it: it opens the pid file
//! and the logs, binds the ports, and makes missing folders for temporary files (`ngx_init_cycle`
//! in <https://github.com/nginx/nginx/blob/master/src/core/ngx_cycle.c>).

use std::collections::HashSet;

use zc_run::{Error, Result, escape};

use super::dump::MARKER;
use super::lex::{End, Lexer};
use super::lua;
use crate::file::{Files, completed, folder};
use crate::glob;

/// Includes that are read, each file counted once.
const MOST_FILES: usize = 200_000;

/// Reads the file at `main`, an absolute path, and all it includes; returns them as `nginx -T`
/// prints them, for [`Config::parse`](super::Config::parse).
///
/// # Errors
/// A file cannot be read, with the line that includes it.
pub fn gather(main: &str, files: &mut dyn Files) -> Result<String> {
    let folder = folder(main);
    let mut out = String::new();
    let mut seen = HashSet::from([main.to_owned()]);
    let mut open = vec![(main.to_owned(), None)];
    while let Some((path, by)) = open.pop() {
        let text = files.read(&path).map_err(|error| match by {
            None => error,
            Some(by) => error.prefixed(format!("{by}: ")),
        })?;
        let mut included = Vec::new();
        for (include, line) in includes(&text) {
            let full = completed(&include, folder);
            let by = format!("file \"{}\", line {line}", escape(&path, 300));
            let found = match glob::is_pattern(&full) {
                true => glob::expand(&full, &mut |folder| files.names(folder)),
                false => vec![full],
            };
            for path in found {
                if seen.insert(path.clone()) {
                    included.push((path, Some(by.clone())));
                }
            }
        }
        if seen.len() > MOST_FILES {
            let message =
                format!("\"{}\" includes more than {MOST_FILES} files", escape(main, 300));
            return Err(Error::input("too-many-includes", message));
        }
        open.extend(included.into_iter().rev());
        out.extend([MARKER, &path, ":\n", &text, "\n"]);
    }
    Ok(out)
}

/// What a file includes, and on which lines. What cannot be read as words is left to the parser to
/// tell.
fn includes(text: &str) -> Vec<(String, u32)> {
    let mut out = Vec::new();
    let mut lexer = Lexer::new(text);
    // For each open block, whether it is `geo`, which may include a file that does not exist.
    let mut blocks = Vec::new();
    while let Ok((words, end)) = lexer.directive() {
        let name = words.first().map_or("", |word| word.value.as_str());
        match end {
            End::Text => break,
            End::Close => {
                blocks.pop();
            }
            End::Open if name.ends_with("_by_lua_block") => {
                // Without an end the text has no more words.
                lua::take_code(&mut lexer);
            }
            End::Open => blocks.push(name == "geo"),
            End::Semicolon if name == "include" && words.len() == 2 => {
                if blocks.last() != Some(&true) {
                    out.push((words[1].value.clone(), lexer.began));
                }
            }
            End::Semicolon => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tree::Config;
    use super::*;

    #[test]
    fn files_are_gathered_as_nginx_dumps_them() {
        let mut folder = BTreeMap::from([
            ("/e/n.conf", "include sites/*.conf; http { include a; }\n"),
            ("/e/a", "include /e/*/c.conf;\ncontent_by_lua_block { include x; }\n"),
            ("/e/sites/b.conf", "x;"),
            ("/e/sites/c.conf", "y;\n"),
            ("/e/sites/.d.conf", "z;"),
        ]);
        let text = gather("/e/n.conf", &mut folder).unwrap();
        let markers: Vec<_> = text.lines().filter(|line| line.starts_with(MARKER)).collect();
        assert_eq!(
            markers,
            [
                "# configuration file /e/n.conf:",
                "# configuration file /e/sites/b.conf:",
                "# configuration file /e/sites/c.conf:",
                "# configuration file /e/a:",
            ]
        );
        let config = Config::parse(&text).unwrap();
        let names: Vec<_> = config.main.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["x", "y", "http"]);
        assert_eq!(config.main[2].children().len(), 2);
    }

    #[test]
    fn a_missing_file_is_told_with_the_line_that_includes_it() {
        let mut folder = BTreeMap::from([("/e/n.conf", "\ninclude a;\n")]);
        let error = gather("/e/n.conf", &mut folder).unwrap_err();
        assert_eq!(error.message, "file \"/e/n.conf\", line 2: no file \"/e/a\"");
    }
}
