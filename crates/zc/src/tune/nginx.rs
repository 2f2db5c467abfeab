//! The nginx of this machine and its configuration, read as nginx reads it. The only programs that
//! are started are `nginx -V` and, of copies, `nginx -t`.
//!
//! `nginx -T` prints the configuration, too, but opens the log, the pid file and the keys first,
//! which only the server's own user may.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::reading::{self, OfThisHost};
use super::server::{MOST_WORDS, Server, worst};
use zc_run::{Result, escape};
use zc_tune::Configured;
use zc_tune::nginx::{Config, Nginx as Read, conf_path, gather};

/// Levels of nginx's errors: after the one nginx ends, the others it survives.
const ENDED: &str = "[emerg]";
const ERRORS: [&str; 3] = ["[alert]", "[crit]", "[error]"];

/// Where nginx names the files of a copy in its errors.
const CONF: &str = "nginx.conf";

/// An nginx and its configuration.
pub(super) struct Nginx {
    program: PathBuf,
    /// What `nginx -V` prints.
    build: String,
    conf: PathBuf,
}

impl Nginx {
    /// Finds the program, and which configuration it has.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is no nginx, or it does not run.
    pub(super) fn find(conf: Option<&Path>) -> Result<Self> {
        let program = reading::program(&["nginx"], "nginx")?;
        let build = reading::printed(&program, &["-V"], |output, text| {
            output.status.success() && text.contains("nginx")
        })?;
        let conf = reading::conf(conf, || conf_path(&build));
        Ok(Self { program, build, conf })
    }
}

impl Server for Nginx {
    fn name(&self) -> &'static str {
        "nginx"
    }

    fn words(&self) -> String {
        let version = self.build.lines().find_map(|line| line.strip_prefix("nginx version: "));
        let version = escape(version.unwrap_or("nginx"), 60).replace('/', " ");
        format!("{version}, {}", escape(&self.conf.to_string_lossy(), 300))
    }

    fn build(&self) -> &str {
        &self.build
    }

    fn read(&self, server_name: Option<&str>) -> Result<Box<dyn Configured>> {
        let text = gather(&self.conf.to_string_lossy(), &mut OfThisHost)?;
        Ok(Box::new(Read::new(Config::parse(&text)?, server_name)?))
    }

    fn conf(&self) -> &'static str {
        CONF
    }

    fn check(&self, place: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["-t", "-q", "-e", "stderr", "-p"]).arg(place);
        command.arg("-c").arg(place.join(CONF));
        command
    }

    fn start(&self, place: &Path, errors: &Path) -> Vec<String> {
        let conf = place.join(CONF);
        let paths = [self.program.as_path(), errors, place, conf.as_path()];
        let [program, errors, place, conf] = paths.map(|path| path.to_string_lossy().into_owned());
        [program, "-e".into(), errors, "-p".into(), place, "-c".into(), conf].to_vec()
    }

    fn last_words(&self, said: &str, place: &Path) -> Option<String> {
        words(said, place)
    }

    fn why_no_socket(&self) -> Option<&'static str> {
        None
    }

    fn own_check(&self) -> &'static str {
        "nginx -t"
    }
}

/// What nginx said that matters most, without time and process: the error that ended it, else its
/// last one. `place` is the folder of its configuration, which no one else knows.
fn words(said: &str, place: &Path) -> Option<String> {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let line = worst(&lines, ENDED, &ERRORS).or_else(|| lines.last().copied())?;
    // `2026/11/28 12:00:00 [emerg] 6532#6532: `.
    let line = match line.split_once("] ") {
        Some((before, words)) if before.contains('[') => words,
        _ => line,
    };
    let is_id = |id: &str| id.chars().all(|c| c.is_ascii_digit() || c == '#');
    let line = match line.split_once(": ") {
        Some((id, words)) if is_id(id) => words,
        _ => line,
    };
    let file = format!(" in {}", place.join(CONF).display());
    let line = line.split_once(&file).map_or(line, |(words, _)| words);
    Some(escape(line, MOST_WORDS))
}

#[cfg(test)]
mod tests {
    use super::super::reading::without_links;
    use super::*;
    use zc_tune::Change;

    #[test]
    fn a_link_in_sites_enabled_is_changed_where_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        for name in ["sites-available", "sites-enabled"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        let site = "server {\n    listen 80;\n    root /srv;\n}\n";
        std::fs::write(at("sites-available/a"), site).unwrap();
        for link in ["a", "b"] {
            let link = at("sites-enabled").join(link);
            std::os::unix::fs::symlink("../sites-available/a", link).unwrap();
        }
        let main = "events {}\nhttp {\n    include sites-enabled/*;\n}\n";
        std::fs::write(at("nginx.conf"), main).unwrap();
        let main = at("nginx.conf");
        let text = gather(&main.to_string_lossy(), &mut OfThisHost).unwrap();
        let config = Config::parse(&text).unwrap();
        let configured = Read::new(config, None).unwrap();
        let off = Change::Directive { name: "sendfile".to_owned(), args: vec!["off".to_owned()] };
        let diff = configured.diff(&[&off], &without_links);
        let real = at("sites-available/a").display().to_string();
        assert!(diff.starts_with(&format!("--- {real}\n+++ {real}\n@@ ")), "{diff}");
        assert_eq!(diff.matches("+++ ").count(), 1, "{diff}");
    }

    #[test]
    fn the_words_that_matter_are_those_that_ended_nginx() {
        let place = Path::new("/t/checked");
        for (said, expected) in [
            (
                "nginx: [emerg] \"sendfile_max_chunk\" directive invalid value in \
                 /t/checked/nginx.conf:7\nnginx: configuration file test failed\n",
                Some("\"sendfile_max_chunk\" directive invalid value"),
            ),
            (
                "2026/11/28 12:00:00 [emerg] 65#65: bind() to 0.0.0.0:80 failed (98: in use)\n\
                 2026/11/28 12:00:03 [emerg] 65#65: still could not bind()\n",
                Some("bind() to 0.0.0.0:80 failed (98: in use)"),
            ),
            (
                "2026/11/28 12:00:00 [error] 7#7: *1 open() \"/a\" failed\n\
                 2026/11/28 12:00:09 [alert] 6#6: worker process 7 exited on signal 11\n\
                 2026/11/28 12:00:09 [notice] 6#6: start worker process 8\n",
                Some("worker process 7 exited on signal 11"),
            ),
            ("listen at 0.0.0.0:8003: in use\n\n", Some("listen at 0.0.0.0:8003: in use")),
            ("\n", None),
        ] {
            assert_eq!(words(said, place).as_deref(), expected, "{said}");
        }
    }
}
