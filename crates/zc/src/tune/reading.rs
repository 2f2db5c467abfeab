//! What of this machine is read for a server: its program, how that was built, the files of its
//! configuration, and facts that candidates depend on. Nothing of it is written.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::super::read;
use zc_run::{Error, Result, escape, in_words};
use zc_tune::{Facts, Files};

/// The longest file that is read.
const LARGEST_BYTES: u64 = 64 << 20;

/// Where programs of an administrator are, which not every user has in the PATH.
const MORE_FOLDERS: [&str; 4] =
    ["/usr/sbin", "/usr/local/sbin", "/usr/local/nginx/sbin", "/usr/local/apache2/bin"];

/// Sysctls whose present values decide about candidates.
const SYSCTLS: [&str; 2] = ["net.ipv4.tcp_congestion_control", "net.ipv4.tcp_notsent_lowat"];

/// The first program of these names.
///
/// # Errors
/// [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is none.
pub(super) fn program(names: &[&str], package: &str) -> Result<PathBuf> {
    names.iter().find_map(|name| in_path(name)).ok_or_else(|| {
        let message = format!("there is no {} in the PATH", names.join(" or "));
        Error::unsupported("program-missing", message)
            .help(format!("install it where the configuration is measured: apt install {package}"))
    })
}

/// The configuration: the one that is given, made absolute, else the program's own.
pub(super) fn conf(given: Option<&Path>, own: impl FnOnce() -> String) -> PathBuf {
    match given {
        Some(conf) => std::path::absolute(conf).unwrap_or_else(|_| conf.to_owned()),
        None => PathBuf::from(own()),
    }
}

/// Finds a program in the PATH, or where administrators have theirs.
pub(super) fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    let folders = std::env::split_paths(&path).chain(MORE_FOLDERS.map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// What a program prints with these options, if `is_it` finds in it what the server says.
///
/// # Errors
/// [`ErrorKind::Unsupported`](zc_run::ErrorKind): it does not run, or is another program.
pub(super) fn printed(
    program: &Path,
    options: &[&str],
    is_it: impl Fn(&Output, &str) -> bool,
) -> Result<String> {
    let failed = |why: String| {
        let command = format!("{} {}", program.to_string_lossy(), options.join(" "));
        let message = format!("\"{}\" failed: {why}", escape(&command, 200));
        Error::unsupported("program-failed", message).help("is it a server that runs here?")
    };
    let output = Command::new(program)
        .args(options)
        // Caddy makes a folder at home whatever it is asked.
        .env("HOME", "/dev/null")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(in_words(&error)))?;
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let text = text.concat();
    match is_it(&output, &text) {
        true => Ok(text),
        false => Err(failed(escape(&text, 200))),
    }
}

/// Variables of zc's environment that can be part of a line.
pub(super) fn variables() -> BTreeMap<String, String> {
    let all = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    all.filter(|(_, value)| !value.chars().any(char::is_control)).collect()
}

/// What candidates depend on, for a server with this build.
pub(super) fn facts(build: &str) -> Facts {
    let sysctl = |name: &str| {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        std::fs::read_to_string(path).ok().map(|value| value.trim().to_owned())
    };
    let controls = sysctl("net.ipv4.tcp_available_congestion_control").unwrap_or_default();
    let sysctls: BTreeMap<String, String> =
        SYSCTLS.iter().filter_map(|name| Some(((*name).to_owned(), sysctl(name)?))).collect();
    Facts {
        has_ktls: Path::new("/proc/net/tls_stat").exists(),
        build: build.to_owned(),
        congestion_controls: controls.split_whitespace().map(str::to_owned).collect(),
        sysctls,
    }
}

/// The path of the file that a link leads to, where it can be followed: `patch` changes no file
/// through a link.
pub(super) fn without_links(path: &str) -> String {
    std::fs::canonicalize(path)
        .map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// The files of this machine.
pub(super) struct OfThisHost;

impl Files for OfThisHost {
    fn read(&mut self, path: &str) -> Result<String> {
        let wrong = |why: &str| {
            let message = format!("cannot read \"{}\": {why}", escape(path, 300));
            Error::input("cannot-read-configuration", message)
                .help("-c names the server's configuration; as root all of it can be read")
        };
        let too_long = || wrong("it is longer than 64 MiB");
        let bytes = read::bytes(Path::new(path), LARGEST_BYTES, wrong)?.ok_or_else(too_long)?;
        // Words are bytes; what is no UTF-8 is in comments and names of files.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn names(&mut self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    fn exists(&mut self, path: &str) -> bool {
        Path::new(path).exists()
    }

    fn is_folder(&mut self, path: &str) -> bool {
        Path::new(path).is_dir()
    }
}
