//! What Apache writes, in a copy: files of the copy's folder, of the kind of the live ones.

use super::tree::Line;
use super::words::{joined, words};

/// The files of access logs, by the paths they stand for.
#[derive(Debug, Default)]
pub(super) struct Logs {
    paths: Vec<String>,
}

impl Logs {
    /// A `CustomLog` or its like with a file of the copy's, or `None` if it goes to no file. One
    /// path stays one file.
    pub(super) fn access_log(&mut self, log: &Line, folder: &str) -> Option<Line> {
        let mut words = log.words();
        let path = words.first()?.clone();
        if path.starts_with('|') || ["syslog", "journald"].iter().any(|to| path.starts_with(to)) {
            return None;
        }
        let number = self.paths.iter().position(|known| *known == path).unwrap_or_else(|| {
            self.paths.push(path);
            self.paths.len() - 1
        });
        words[0] = format!("{folder}/access-{}.log", number + 1);
        Some(Line { args: joined(&words), ..log.clone() })
    }
}

/// A value such as `shmcb:/run/ssl_scache(512000)` with a file of the copy's folder; those without
/// a path stay.
pub(super) fn of_folder(value: &str, folder: &str) -> String {
    let Some((kind, place)) = value.split_once(':') else { return value.to_owned() };
    let (path, size) = match place.find('(') {
        Some(at) => place.split_at(at),
        None => (place, ""),
    };
    let name = path.rsplit('/').next().unwrap_or_default();
    format!("{kind}:{folder}/{name}{size}")
}

/// `Mutex`: mechanisms that have a file have it in the copy's folder.
pub(super) fn mutex(line: &Line, folder: &str) -> Line {
    let mut words = words(&line.args);
    if let Some(first) = words.first_mut() {
        let mechanism = first.split(':').next().unwrap_or_default();
        if first.contains(':') {
            *first = format!("{mechanism}:{folder}");
        }
    }
    Line { args: joined(&words), ..line.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_keep_what_they_cost() {
        let mut logs = Logs::default();
        let mut log = |args: &str| {
            let log = Line::new("CustomLog", args);
            logs.access_log(&log, "/f").map(|log| log.args)
        };
        assert_eq!(
            log("/l/a.log \"%h %r\" env=!x").as_deref(),
            Some("/f/access-1.log \"%h %r\" env=!x")
        );
        assert_eq!(log("logs/b combined").as_deref(), Some("/f/access-2.log combined"));
        assert_eq!(log("/l/a.log combined").as_deref(), Some("/f/access-1.log combined"));
        assert_eq!(log("\"|/usr/bin/rotatelogs /l/x 86400\" combined"), None);
        assert_eq!(log(""), None);
    }

    #[test]
    fn files_of_caches_and_mutexes_are_the_copy_s() {
        for (value, expected) in [
            ("shmcb:/run/a/ssl_scache(512000)", "shmcb:/f/ssl_scache(512000)"),
            ("dbm:/x/y", "dbm:/f/y"),
            ("nonenotnull", "nonenotnull"),
        ] {
            assert_eq!(of_folder(value, "/f"), expected);
        }
        let args = |args: &str| mutex(&Line::new("Mutex", args), "/f").args;
        assert_eq!(args("file:/var/lock default"), "file:/f default");
        assert_eq!(args("posixsem"), "posixsem");
    }
}
