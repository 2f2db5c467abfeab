//! The Caddy of this machine and its Caddyfile, read as Caddy reads it. The only programs that are
//! started are `caddy version` and, of copies, `caddy validate`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::reading::{self, OfThisHost};
use super::server::{MOST_WORDS, Server};
use zc_run::{Result, escape};
use zc_tune::Configured;
use zc_tune::caddy::{CONF_PATH, Caddy as Read, Config, Start};

/// The file of a copy.
const CONF: &str = "Caddyfile";

/// Folders in which Caddy keeps the configuration it runs, and certificates: those of a copy are in
/// its own (<https://caddyserver.com/docs/conventions#data-directory>).
const FOLDERS: [&str; 3] = ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"];

/// Caddy writes errors to stderr, and has the log of a copy's requests on stdout. The shell becomes
/// it.
const START: &str = "export HOME=\"$1\" XDG_CONFIG_HOME=\"$1\" XDG_DATA_HOME=\"$1\"
exec \"$0\" run --adapter caddyfile --config \"$1/Caddyfile\" >>\"$1/requests.log\" 2>>\"$2\"";

/// A Caddy and its configuration.
pub(super) struct Caddy {
    program: PathBuf,
    /// `Caddy 2.6.2`.
    build: String,
    conf: PathBuf,
}

impl Caddy {
    /// Finds the program, and which configuration it has.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is no Caddy, or it does not run.
    pub(super) fn find(conf: Option<&Path>) -> Result<Self> {
        let program = reading::program(&["caddy"], "caddy")?;
        // `v2.9.1 h1:OEYiZ7DbCzAWVb6TNEkjRcSCRGHVoZsJinoDR/n9oaY=`, of packages `2.6.2`.
        let printed = reading::printed(&program, &["version"], |output, text| {
            let version = text.trim_start_matches('v');
            output.status.success() && version.starts_with(|c: char| c.is_ascii_digit())
        })?;
        let version = printed.split_whitespace().next().unwrap_or_default();
        let build = format!("Caddy {}", version.trim_start_matches('v'));
        let conf = reading::conf(conf, || CONF_PATH.to_owned());
        Ok(Self { program, build, conf })
    }
}

impl Server for Caddy {
    fn name(&self) -> &'static str {
        "Caddy"
    }

    fn words(&self) -> String {
        let conf = escape(&self.conf.to_string_lossy(), 300);
        format!("{}, {conf}", escape(&self.build, 60))
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
        command.args(["validate", "--adapter", "caddyfile", "--config"]).arg(place.join(CONF));
        for name in FOLDERS {
            command.env(name, place);
        }
        command
    }

    fn start(&self, place: &Path, errors: &Path) -> Vec<String> {
        let paths = [self.program.as_path(), place, errors];
        let paths = paths.map(|path| path.to_string_lossy().into_owned());
        ["/bin/sh", "-c", START].into_iter().map(str::to_owned).chain(paths).collect()
    }

    fn last_words(&self, said: &str, place: &Path) -> Option<String> {
        words(said, place)
    }

    fn why_no_socket(&self) -> Option<&'static str> {
        Some(
            "zc gives Caddy no listening socket, which could have it for itself, and the copies \
             share a network namespace",
        )
    }

    fn own_check(&self) -> &'static str {
        "caddy validate --config FILE"
    }
}

/// See [`Server::last_words`].
fn words(said: &str, place: &Path) -> Option<String> {
    // What ended it is a line of its own behind those of the log, which are JSON.
    const ENDED: &str = "Error: ";
    let mut lines = said.lines().filter(|line| !line.trim().is_empty());
    let ended = lines.clone().rfind(|line| line.starts_with(ENDED));
    let is_error = |line: &&str| line.starts_with("{\"level\":\"error\"") || !line.starts_with('{');
    let line = ended.or_else(|| lines.rfind(is_error))?;
    let line = line.strip_prefix(ENDED).unwrap_or(line);
    let line = line.strip_prefix("adapting config using caddyfile: ").unwrap_or(line);
    let file = format!("{}:", place.join(CONF).display());
    let line = match line.strip_prefix(&file).and_then(|rest| rest.split_once(": ")) {
        Some((_, words)) => words,
        None => line,
    };
    Some(escape(line, MOST_WORDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_matter_are_those_that_ended_caddy() {
        let place = Path::new("/t/checked");
        let info = "{\"level\":\"info\",\"msg\":\"using provided configuration\"}\n";
        for (said, expected) in [
            (
                "Error: adapting config using caddyfile: /t/checked/Caddyfile:9: unrecognized \
                 directive: nonsense\n",
                Some("unrecognized directive: nonsense"),
            ),
            (
                "Error: loading certificates: open /c.pem: no such file or directory\n",
                Some("loading certificates: open /c.pem: no such file or directory"),
            ),
            (
                "{\"level\":\"error\",\"msg\":\"x\"}\n{\"level\":\"warn\"}\n",
                Some("{\"level\":\"error\",\"msg\":\"x\"}"),
            ),
            ("panic: runtime error\n", Some("panic: runtime error")),
            ("", None),
        ] {
            assert_eq!(words(&format!("{info}{said}"), place).as_deref(), expected, "{said}");
        }
    }
}
