//! Logs of a copy: with the format and the buffer of the live ones, in files of its own.

use super::tree::Directive;

/// The files of access logs, by the paths they stand for.
#[derive(Debug, Default)]
pub(super) struct Logs {
    paths: Vec<String>,
}

/// Variables in a path: `$host` and `${host}`.
fn variables(path: &str) -> Vec<String> {
    let names = path.split('$').skip(1).map(|rest| match rest.strip_prefix('{') {
        Some(rest) => rest.split('}').next().unwrap_or_default(),
        None => {
            let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            rest.split(|letter| !is_part(letter)).next().unwrap_or_default()
        }
    });
    names.filter(|name| !name.is_empty()).map(|name| format!("-${{{name}}}")).collect()
}

impl Logs {
    /// An `access_log` with a file of the copy's, or None if it goes to no file.
    ///
    /// One path stays one file, as its buffer is one. A path with variables is opened for each
    /// request, which costs, so the variables stay.
    pub(super) fn access_log(&mut self, log: &Directive, folder: &str) -> Option<Directive> {
        let path = log.first();
        if path == "off" {
            return Some(log.clone());
        }
        if ["syslog:", "pipe:", "|"].iter().any(|begin| path.starts_with(begin)) {
            return None;
        }
        let number = self.paths.iter().position(|known| known == path).unwrap_or_else(|| {
            self.paths.push(path.to_owned());
            self.paths.len() - 1
        });
        let file = format!("{folder}/access-{}{}.log", number + 1, variables(path).concat());
        let mut log = log.clone();
        let further = log.args.drain(..).skip(1);
        let args = std::iter::once(file).chain(further).collect();
        log.set_args(args);
        Some(log)
    }
}

/// Levels of `error_log`.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warn", "error", "crit", "alert", "emerg"];

/// An `error_log` of the same level in the copy's file.
pub(super) fn error_log(log: &Directive, folder: &str) -> Directive {
    let levels = log.args.iter().skip(1);
    let levels = levels.filter(|arg| LEVELS.contains(&arg.as_str()) || arg.starts_with("debug_"));
    let args = std::iter::once(format!("{folder}/error.log")).chain(levels.cloned());
    Directive::new("error_log", args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_keep_what_they_cost() {
        let mut logs = Logs::default();
        let mut log = |args: &str| {
            let log = Directive::new("access_log", args.split(' '));
            logs.access_log(&log, "/f").map(|log| log.args.join(" "))
        };
        assert_eq!(
            log("/var/a.log main buffer=64k flush=1s"),
            Some("/f/access-1.log main buffer=64k flush=1s".into())
        );
        assert_eq!(log("logs/$host/${uri}x.log"), Some("/f/access-2-${host}-${uri}.log".into()));
        assert_eq!(log("/var/a.log main"), Some("/f/access-1.log main".into()));
        assert_eq!(log("off"), Some("off".into()));
        assert_eq!(log("syslog:server=unix:/dev/log main"), None);
        let error = Directive::new("error_log", ["syslog:server=a", "warn"]);
        assert_eq!(super::error_log(&error, "/f").args, ["/f/error.log", "warn"]);
    }
}
