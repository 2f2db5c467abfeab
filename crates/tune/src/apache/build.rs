//! What Apache prints about how it was built, by `-V` and `-l`.

use crate::values::{self, Version};

/// The value of a `-D NAME="VALUE"`.
fn defined<'b>(build: &'b str, name: &str) -> Option<&'b str> {
    let value = build.split(&format!("-D {name}=\"")).nth(1)?.split('"').next()?;
    (!value.is_empty()).then_some(value)
}

/// The `ServerRoot` unless it is given.
pub(super) fn root(build: &str) -> &str {
    defined(build, "HTTPD_ROOT").unwrap_or("/usr/local/apache2")
}

/// The configuration that Apache reads unless it is given another.
pub fn conf_path(build: &str) -> String {
    let conf = defined(build, "SERVER_CONFIG_FILE").unwrap_or("conf/httpd.conf");
    if conf.starts_with('/') { conf.to_owned() } else { format!("{}/{conf}", root(build)) }
}

/// The source files of modules that are part of the program.
pub(super) fn modules(build: &str) -> impl Iterator<Item = &str> {
    build.lines().map(str::trim).filter(|line| line.ends_with(".c") && !line.contains(' '))
}

/// The version: `Server version: Apache/2.4.57 (Debian)`.
pub(super) fn version(build: &str) -> Option<Version> {
    values::version(build, "Apache/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_modules_and_version_are_found() {
        let build = "Server version: Apache/2.4.57 (Debian)\n -D HTTPD_ROOT=\"/etc/apache2\"\n \
                     -D SERVER_CONFIG_FILE=\"apache2.conf\"\nCompiled in modules:\n  core.c\n  \
                     mod_so.c\n";
        assert_eq!(conf_path(build), "/etc/apache2/apache2.conf");
        assert_eq!(modules(build).collect::<Vec<_>>(), ["core.c", "mod_so.c"]);
        assert_eq!(version(build), Some((2, 4, 57)));
        assert_eq!(conf_path(""), "/usr/local/apache2/conf/httpd.conf");
        assert_eq!(version("Apache/2.4"), None);
    }
}
