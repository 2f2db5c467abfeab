//! The HAProxy of this machine and its configuration, read as HAProxy reads it. The only programs
//! that are started are `haproxy -vv` and, of copies, `haproxy -c`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::reading::{self, OfThisHost};
use super::server::{MOST_WORDS, Server};
use zc_run::{Result, escape};
use zc_tune::Configured;
use zc_tune::haproxy::{CONF_PATH, Config, HAProxy as Read, Start};

/// The level of messages after which HAProxy ends.
const ENDED: &str = "[ALERT]";

/// Where HAProxy names the files of a copy in its messages.
const CONF: &str = "haproxy.cfg";

/// HAProxy writes messages to stderr, and has the log of a copy on stdout. The shell becomes it.
const START: &str = "exec \"$0\" -db -f \"$1\" >>\"$2\" 2>>\"$3\"";

/// A HAProxy and its configuration.
pub(super) struct HAProxy {
    program: PathBuf,
    /// What `haproxy -vv` prints.
    build: String,
    conf: PathBuf,
}

impl HAProxy {
    /// Finds the program, and which configuration it has.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is no HAProxy, or it does not run.
    pub(super) fn find(conf: Option<&Path>) -> Result<Self> {
        let program = reading::program(&["haproxy"], "haproxy")?;
        let build = reading::printed(&program, &["-vv"], |output, text| {
            output.status.success() && text.contains("Proxy version ")
        })?;
        let conf = reading::conf(conf, || CONF_PATH.to_owned());
        Ok(Self { program, build, conf })
    }
}

impl Server for HAProxy {
    fn name(&self) -> &'static str {
        "HAProxy"
    }

    fn words(&self) -> String {
        let version = self.build.split("Proxy version ").nth(1).unwrap_or_default();
        let version = escape(version.split_whitespace().next().unwrap_or_default(), 60);
        format!("HAProxy {version}, {}", escape(&self.conf.to_string_lossy(), 300))
    }

    fn build(&self) -> &str {
        &self.build
    }

    fn read(&self, server_name: Option<&str>) -> Result<Box<dyn Configured>> {
        let start = Start { build: self.build.clone(), variables: reading::variables() };
        let config = Config::read(&self.conf.to_string_lossy(), start, &mut OfThisHost)?;
        Ok(Box::new(Read::new(config, server_name)?))
    }

    fn conf(&self) -> &'static str {
        CONF
    }

    fn check(&self, place: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("-c").arg("-f").arg(place.join(CONF));
        command
    }

    fn start(&self, place: &Path, errors: &Path) -> Vec<String> {
        let (conf, log) = (place.join(CONF), place.join("requests.log"));
        let paths = [self.program.as_path(), conf.as_path(), log.as_path(), errors];
        let paths = paths.map(|path| path.to_string_lossy().into_owned());
        ["/bin/sh", "-c", START].into_iter().map(str::to_owned).chain(paths).collect()
    }

    fn last_words(&self, said: &str, place: &Path) -> Option<String> {
        words(said, place)
    }

    fn why_no_socket(&self) -> Option<&'static str> {
        None
    }

    fn own_check(&self) -> &'static str {
        "haproxy -c -f FILE"
    }

    fn is_proxy(&self) -> bool {
        true
    }
}

/// See [`Server::last_words`].
fn words(said: &str, place: &Path) -> Option<String> {
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    let ended = lines.clone().find(|line| line.starts_with(ENDED));
    // Others with a level are warnings and notices, which each start has, and go on with a bar.
    let is_message = |line: &&str| line.starts_with(['[', ' ']);
    let line = ended.or_else(|| lines.rfind(|line| !is_message(line)))?;
    // `[ALERT]    (13530) : config : parsing [/t/checked/haproxy.cfg:11] : unknown keyword ...`.
    let line = line.split_once(") : ").filter(|_| ended.is_some()).map_or(line, |(_, it)| it);
    let line = line.strip_prefix("config : ").unwrap_or(line);
    let file = format!("parsing [{}:", place.join(CONF).display());
    let line = match line.strip_prefix(&file).and_then(|rest| rest.split_once(']')) {
        Some((_, words)) => words.trim_start_matches([' ', ':']),
        None => line,
    };
    Some(escape(line, MOST_WORDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_matter_are_those_that_ended_haproxy() {
        let place = Path::new("/t/checked");
        for (said, expected) in [
            (
                "[NOTICE]   (13) : haproxy version is 2.6.12-1+deb12u4\n\
                 [ALERT]    (13) : config : parsing [/t/checked/haproxy.cfg:11] : unknown keyword \
                 'x' in 'global' section\n\
                 [ALERT]    (13) : config : Fatal errors found in configuration.\n",
                Some("unknown keyword 'x' in 'global' section"),
            ),
            (
                "[ALERT]    (13) : config : parsing [/t/checked/haproxy.cfg:4]: negation is not \
                 supported\n",
                Some("negation is not supported"),
            ),
            (
                "[ALERT]    (13) : Starting frontend f: cannot bind socket [0.0.0.0:8001]\n",
                Some("Starting frontend f: cannot bind socket [0.0.0.0:8001]"),
            ),
            ("[WARNING]  (13) : config : missing timeouts\n   | While\n", None),
            ("/bin/sh: 1: exec: /x: not found\n", Some("/bin/sh: 1: exec: /x: not found")),
            ("\n", None),
        ] {
            assert_eq!(words(said, place).as_deref(), expected, "{said}");
        }
    }
}
