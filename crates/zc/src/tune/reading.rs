//! The nginx of this machine and its configuration, read as nginx reads it. Nothing of it is
//! written, and the only program that is started is `nginx -V`.
//!
//! `nginx -T` prints the same, but opens the log, the pid file and the keys first, which only the
//! server's own user may.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::super::read;
use zc_run::{Error, Result, escape, in_words};
use zc_tune::Facts;
use zc_tune::nginx::{Config, Files, conf_path, gather};

/// The longest file that is read.
const LARGEST_BYTES: u64 = 64 << 20;

/// Where programs of an administrator are, which not every user has in the PATH.
const MORE_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/usr/local/nginx/sbin"];

/// Sysctls whose present values decide about candidates.
const SYSCTLS: [&str; 2] = ["net.ipv4.tcp_congestion_control", "net.ipv4.tcp_notsent_lowat"];

/// An nginx and its configuration.
pub(super) struct Nginx {
    /// The program.
    pub(super) program: PathBuf,
    /// What `nginx -V` prints.
    pub(super) build: String,
    conf: PathBuf,
}

impl Nginx {
    /// Finds the program, and which configuration it has.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is no nginx, or it does not run.
    pub(super) fn find(conf: Option<&Path>) -> Result<Self> {
        let program = in_path("nginx");
        let program = program.ok_or_else(|| {
            Error::unsupported("program-missing", "there is no nginx in the PATH")
                .help("install it where the configuration is measured: apt install nginx")
        })?;
        let build = version(&program)?;
        let conf = match conf {
            Some(conf) => std::path::absolute(conf).unwrap_or_else(|_| conf.to_owned()),
            None => PathBuf::from(conf_path(&build)),
        };
        Ok(Self { program, build, conf })
    }

    /// Reads the configuration with all that it includes.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): a file cannot be read, or is none of nginx's.
    pub(super) fn read(&self) -> Result<Config> {
        let main = self.conf.to_string_lossy();
        Config::parse(&gather(&main, &mut OfThisHost)?)
    }

    /// What candidates depend on.
    pub(super) fn facts(&self) -> Facts {
        let sysctl = |name: &str| {
            let path = format!("/proc/sys/{}", name.replace('.', "/"));
            std::fs::read_to_string(path).ok().map(|value| value.trim().to_owned())
        };
        let controls = sysctl("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
        let sysctls: BTreeMap<String, String> =
            SYSCTLS.iter().filter_map(|name| Some(((*name).to_owned(), sysctl(name)?))).collect();
        Facts {
            has_ktls: Path::new("/proc/net/tls_stat").exists(),
            build: self.build.clone(),
            congestion_controls: controls.split_whitespace().map(str::to_owned).collect(),
            sysctls,
        }
    }

    /// The server in words.
    pub(super) fn words(&self) -> String {
        let version = self.build.lines().find_map(|line| line.strip_prefix("nginx version: "));
        let version = escape(version.unwrap_or("nginx"), 60).replace('/', " ");
        format!("{version}, {}", escape(&self.conf.to_string_lossy(), 300))
    }
}

/// Finds a program in the PATH, or where administrators have theirs.
pub(super) fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    let folders = std::env::split_paths(&path).chain(MORE_FOLDERS.map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The configuration with the paths of the files that links lead to, where they can be followed:
/// `patch` changes no file through a link.
pub(super) fn with_links_resolved(config: &Config) -> Config {
    let mut config = config.clone();
    for file in &mut config.files {
        if let Ok(path) = std::fs::canonicalize(&*file.path) {
            file.path = Arc::from(path.to_string_lossy());
        }
    }
    config
}

/// What `nginx -V` prints, which is on stderr.
fn version(program: &Path) -> Result<String> {
    let failed = |why: String| {
        let message = format!("\"{} -V\" failed: {why}", escape(&program.to_string_lossy(), 200));
        Error::unsupported("program-failed", message).help("is it an nginx that runs here?")
    };
    let output = Command::new(program)
        .arg("-V")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(in_words(&error)))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.success() && text.contains("nginx") {
        true => Ok(text),
        false => Err(failed(escape(&text, 200))),
    }
}

/// The files of this machine.
struct OfThisHost;

impl Files for OfThisHost {
    fn read(&mut self, path: &str) -> Result<String> {
        let wrong = |why: &str| {
            let message = format!("cannot read \"{}\": {why}", escape(path, 300));
            Error::input("cannot-read-configuration", message)
                .help("-c names the server's configuration; as root all of it can be read")
        };
        let too_long = || wrong("it is longer than 64 MiB");
        let bytes = read::bytes(Path::new(path), LARGEST_BYTES, wrong)?.ok_or_else(too_long)?;
        // Words of nginx are bytes; what is no UTF-8 is in comments and names of files.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn names(&mut self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use zc_tune::Change;

    use super::*;

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
        let config =
            Config::parse(&gather(&main.to_string_lossy(), &mut OfThisHost).unwrap()).unwrap();
        let site = config.site(None).unwrap();
        let off = Change::Directive { name: "sendfile".to_owned(), args: vec!["off".to_owned()] };
        let diff = with_links_resolved(&config).diff(&site, &[&off]);
        let real = at("sites-available/a").display().to_string();
        assert!(diff.starts_with(&format!("--- {real}\n+++ {real}\n@@ ")), "{diff}");
        assert_eq!(diff.matches("+++ ").count(), 1, "{diff}");
    }
}
