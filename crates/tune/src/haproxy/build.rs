//! What HAProxy prints about how it was built, by `-vv`.

use crate::values::{self, Version};

/// The configuration that services of distributions name: HAProxy itself has no default.
pub const CONF_PATH: &str = "/etc/haproxy/haproxy.cfg";

/// `HAProxy version 2.6.12-1+deb12u4 2026/10/17`; `HA-Proxy` before 2.4.
pub(super) fn version_text(build: &str) -> &str {
    let behind = build.split("Proxy version ").nth(1).unwrap_or_default();
    behind.split_whitespace().next().unwrap_or_default()
}

pub(super) fn version(build: &str) -> Option<Version> {
    values::version(build, "Proxy version ")
}

/// The version of the library of TLS.
pub(super) fn openssl(build: &str) -> &str {
    let behind = build.split("Running on OpenSSL version : OpenSSL ").nth(1).unwrap_or_default();
    behind.split_whitespace().next().unwrap_or_default()
}

/// Whether it was built with a feature: `LUA`.
pub(super) fn has_feature(build: &str, name: &str) -> bool {
    let line = build.lines().find_map(|line| line.strip_prefix("Feature list :"));
    line.is_some_and(|line| {
        line.split_whitespace().any(|word| word.strip_prefix('+') == Some(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_and_features_are_found() {
        let build = "HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/\n\
                     Feature list : -PCRE +PCRE2 +LUA\n";
        assert_eq!(version(build), Some((2, 6, 12)));
        assert_eq!(version_text(build), "2.6.12-1+deb12u4");
        assert!(has_feature(build, "LUA") && !has_feature(build, "PCRE"));
        assert!(!has_feature("", "LUA") && version("").is_none() && openssl("").is_empty());
    }
}
