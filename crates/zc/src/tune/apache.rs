//! The Apache of this machine and its configuration, read as Apache reads it. The only programs that
//! are started are `apache2 -V`, `apache2 -l` and, of copies, `apache2 -t`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::reading::{self, OfThisHost};
use super::server::{MOST_WORDS, Server, worst};
use zc_run::{Result, escape};
use zc_tune::apache::{Apache as Read, Config, Start, conf_path, envvars};
use zc_tune::{Configured, Files as _};

/// Levels of Apache's errors: after the one Apache ends, the others it survives.
const ENDED: &str = ":emerg]";
const ERRORS: [&str; 3] = [":alert]", ":crit]", ":error]"];

/// Where Apache names the files of a copy in its errors.
const CONF: &str = "apache.conf";

/// The file of environment variables beside the configuration, which `apache2ctl` reads.
const ENVVARS: &str = "envvars";

/// Options of the live server in that file, of which `-D` matters to the configuration.
const ARGUMENTS: &str = "APACHE_ARGUMENTS";

/// An Apache and its configuration.
pub(super) struct Apache {
    program: PathBuf,
    /// What `apache2 -V` and `apache2 -l` print.
    build: String,
    conf: PathBuf,
}

impl Apache {
    /// Finds the program, and which configuration it has.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is no Apache, or it does not run.
    pub(super) fn find(conf: Option<&Path>) -> Result<Self> {
        let program = reading::program(&["apache2", "httpd"], "apache2")?;
        // With the live configuration it would load its modules first; it prints what is asked for
        // before it misses one.
        let printed = |option: &str| {
            reading::printed(&program, &["-f", "/dev/null", option], |_, text| {
                text.contains("Apache/") || text.contains("Compiled in modules")
            })
        };
        let build = format!("{}{}", printed("-V")?, printed("-l")?);
        let conf = reading::conf(conf, || conf_path(&build));
        Ok(Self { program, build, conf })
    }

    /// What is known before the configuration is read: the environment of zc, and over it the file
    /// beside the configuration.
    fn surroundings(&self) -> Start {
        let file = self.conf.with_file_name(ENVVARS);
        let text = OfThisHost.read(&file.to_string_lossy()).unwrap_or_default();
        let variables = envvars(&text, reading::variables());
        let arguments = variables.get(ARGUMENTS).map_or("", String::as_str);
        let mut words = arguments.split_whitespace();
        let mut defines = Vec::new();
        while let Some(word) = words.next() {
            if let Some(name) = word.strip_prefix("-D") {
                let name = if name.is_empty() { words.next().unwrap_or_default() } else { name };
                defines.push(name.to_owned());
            }
        }
        Start { build: self.build.clone(), variables, defines }
    }
}

impl Server for Apache {
    fn name(&self) -> &'static str {
        "Apache"
    }

    fn words(&self) -> String {
        let version = self.build.lines().find_map(|line| line.strip_prefix("Server version: "));
        let version = escape(version.unwrap_or("Apache"), 60).replace('/', " ");
        format!("{version}, {}", escape(&self.conf.to_string_lossy(), 300))
    }

    fn build(&self) -> &str {
        &self.build
    }

    fn read(&self, server_name: Option<&str>) -> Result<Box<dyn Configured>> {
        let start = self.surroundings();
        let config = Config::read(&self.conf.to_string_lossy(), &start, &mut OfThisHost)?;
        Ok(Box::new(Read::new(config, server_name)?))
    }

    fn conf(&self) -> &'static str {
        CONF
    }

    fn check(&self, place: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("-t").arg("-f").arg(place.join(CONF));
        command
    }

    fn start(&self, place: &Path, errors: &Path) -> Vec<String> {
        let conf = place.join(CONF);
        let paths = [self.program.as_path(), errors, conf.as_path()];
        let [program, errors, conf] = paths.map(|path| path.to_string_lossy().into_owned());
        [program, "-DFOREGROUND".into(), "-E".into(), errors, "-f".into(), conf].to_vec()
    }

    fn last_words(&self, said: &str, place: &Path) -> Option<String> {
        words(said, place)
    }

    fn why_no_socket(&self) -> Option<&'static str> {
        Some(
            "Apache takes over no listening socket, which could have it for itself, and the copies \
             share a network namespace",
        )
    }

    fn own_check(&self) -> &'static str {
        "apache2ctl configtest"
    }
}

/// See [`Server::last_words`].
fn words(said: &str, place: &Path) -> Option<String> {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    // `AH00526: Syntax error on line 7 of FILE:`, and behind it or on the next line why.
    let file = format!(" of {}:", place.join(CONF).display());
    let syntax = lines.iter().position(|line| line.contains(": Syntax error on line "));
    if let Some(at) = syntax {
        let behind = lines[at].split_once(&file).map_or("", |(_, words)| words.trim());
        let why = if behind.is_empty() { lines.get(at + 1).copied()? } else { behind };
        return Some(escape(why, MOST_WORDS));
    }
    // What follows an error, `AH00015: Unable to open logs`, says less than the error.
    let line = worst(&lines, ENDED, &ERRORS);
    const FILLERS: [&str; 3] = ["AH00558", "Action '", "The Apache error log"];
    let is_filler = |line: &str| FILLERS.iter().any(|begin| line.starts_with(begin));
    let line = line.or_else(|| lines.iter().copied().rfind(|line| !is_filler(line)));
    let mut line = line.or_else(|| lines.last().copied())?;
    // `[Sat Nov 28 12:00:00.000000 2026] [core:emerg] [pid 6:tid 7] (98)...`.
    while let Some(rest) = line.strip_prefix('[').and_then(|line| line.split_once("] ")) {
        line = rest.1;
    }
    Some(escape(line, MOST_WORDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_matter_are_those_that_ended_apache() {
        let place = Path::new("/t/checked");
        for (said, expected) in [
            (
                "AH00558: apache2: Could not reliably determine the server's name\n\
                 AH00526: Syntax error on line 7 of /t/checked/apache.conf:\n\
                 parameter must be 'on' or 'off'\n",
                Some("parameter must be 'on' or 'off'"),
            ),
            (
                "apache2: Syntax error on line 3 of /t/checked/apache.conf: Cannot load x.so into \
                 server: no such file\n",
                Some("Cannot load x.so into server: no such file"),
            ),
            (
                "AH00534: apache2: Configuration error: No MPM loaded.\nAction '-t' failed.\n\
                 The Apache error log may have more information.\n",
                Some("AH00534: apache2: Configuration error: No MPM loaded."),
            ),
            (
                "[Sat Nov 28 12:00:00.000000 2026] [ssl:emerg] [pid 1:tid 2] AH02572: no key\n\
                 [Sat Nov 28 12:00:00.000000 2026] [ssl:emerg] [pid 1:tid 2] AH02312: Fatal error\n",
                Some("AH02572: no key"),
            ),
            (
                "[Sat Nov 28 12:00:00.000000 2026] [core:error] [pid 1:tid 2] [client 10.1.1.1:5] \
                 AH00132: file permissions deny server access: /a\n\
                 [Sat Nov 28 12:00:01.000000 2026] [mpm_event:notice] [pid 1:tid 2] AH00489: ok\n",
                Some("AH00132: file permissions deny server access: /a"),
            ),
            ("\n", None),
        ] {
            assert_eq!(words(said, place).as_deref(), expected, "{said}");
        }
    }
}
