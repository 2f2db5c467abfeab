//! Origins of requests: a URL taken apart, and the addresses of its host.

use std::net::SocketAddr;

use super::targets::Targets;
use zc_kernel::names;
use zc_run::address::{in_brackets, with_plain_zone, with_port, without_zone};
use zc_run::{Error, Result, escape, in_words};

/// The longest URL. Servers refuse less: nginx 8 KiB.
const LONGEST: usize = 16 << 10;

/// A resource of a server, or several, with the addresses of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    url: String,
    pub(super) is_https: bool,
    /// The name of the host, without brackets: what a certificate is checked against. An address
    /// may have a zone.
    pub(super) host: String,
    /// The host and its port, unless that is the scheme's own: the header `Host`.
    pub(super) authority: String,
    /// Resources to request: the URL's path and query, unless others were given.
    pub(super) targets: Targets,
    /// Not empty. The first that accepts a connection is taken.
    pub(super) addresses: Vec<SocketAddr>,
    /// Whether a load starts without a connection to it.
    pub(super) may_be_missing: bool,
}

impl Origin {
    /// Takes `url` apart, such as `http://host:8080/path?query`, and looks its host up.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](zc_run::ErrorKind): not a URL of HTTP.
    /// [`ErrorKind::Remote`](zc_run::ErrorKind): the host has no address.
    pub fn resolve(url: &str) -> Result<Self> {
        let (mut origin, port) = Self::parse(url)?;
        origin.addresses = names::addresses(&origin.host, port).map_err(|error| {
            Error::remote(
                "cannot-find-host",
                format!("cannot find host \"{}\": {}", escape(&origin.host, 200), in_words(&error)),
            )
            .help("check the spelling, or write its address: http://192.0.2.1/")
        })?;
        if origin.addresses.is_empty() {
            let host = escape(&origin.host, 200);
            return Err(Error::remote(
                "host-without-address",
                format!("host \"{host}\" has no address"),
            )
            .help("write its address: http://192.0.2.1/"));
        }
        Ok(origin)
    }

    /// Same as [`resolve`](Self::resolve), but connections are made to `address`, and the host is
    /// only a name.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](zc_run::ErrorKind): not a URL of HTTP.
    pub fn at(url: &str, address: SocketAddr) -> Result<Self> {
        let (mut origin, _) = Self::parse(url)?;
        origin.addresses = vec![address];
        Ok(origin)
    }

    /// Same as [`at`](Self::at), but with the URL's port instead of that of `address`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](zc_run::ErrorKind): not a URL of HTTP.
    pub fn on(url: &str, address: SocketAddr) -> Result<Self> {
        let (mut origin, port) = Self::parse(url)?;
        origin.addresses = vec![with_port(address, port)];
        Ok(origin)
    }

    /// The same server, sent these requests in turn instead.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](zc_run::ErrorKind): its URL names a resource, or one of `targets` is
    /// not a path.
    pub fn asked_for(self, targets: Targets) -> Result<Self> {
        let named = &self.targets.each()[0].path;
        if named != "/" {
            return Err(Error::usage(
                "url-with-path",
                format!("URL {} has the path \"{}\"", self.quoted(), escape(named, 200)),
            )
            .help("where the paths are given apart, name the server only: http://HOST:PORT"));
        }
        match targets.each().iter().map(|target| &target.path).find(|path| !is_target(path)) {
            Some(odd) => Err(Error::usage(
                "invalid-url-path",
                format!("\"{}\" is not the path of a URL", escape(odd, 200)),
            )),
            None => Ok(Self { targets, ..self }),
        }
    }

    /// The same server, which may be missing when the load starts. A connection that cannot be
    /// opened then is opened for the first request that is to use it.
    #[must_use]
    pub fn may_be_missing(self) -> Self {
        Self { may_be_missing: true, ..self }
    }

    /// The URL as it was given.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL of a target, by its index.
    pub(super) fn url_of(&self, target: usize) -> String {
        match self.targets.each() {
            [_] => self.url.clone(),
            each => format!("{}{}", self.url.trim_end_matches('/'), each[target].path),
        }
    }

    /// The URL with an address in place of the host: `http://192.0.2.1:8001/path?query`.
    pub fn by_address(&self) -> String {
        let scheme = if self.is_https { "https" } else { "http" };
        let target = &self.targets.each()[0].path;
        match self.addresses.first() {
            Some(address) => format!("{scheme}://{address}{target}"),
            None => self.url.clone(),
        }
    }

    /// Whether its scheme is `https`.
    pub fn uses_tls(&self) -> bool {
        self.is_https
    }

    /// The addresses of its host, one at least.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The URL in quotes, for messages.
    pub(super) fn quoted(&self) -> String {
        format!("\"{}\"", escape(&self.url, 200))
    }

    /// Takes a URL apart; without addresses, with the port.
    fn parse(url: &str) -> Result<(Self, u16)> {
        let wrong = |what: &str| {
            Error::usage("invalid-url", format!("URL \"{}\" {what}", escape(url, 200)))
        };
        if url.len() > LONGEST {
            return Err(wrong("is too long").help(format!("at most {LONGEST} bytes")));
        }
        if let Some(odd) = url.chars().find(|c| !c.is_ascii_graphic()) {
            let odd = escape(&odd.to_string(), 10);
            return Err(wrong(&format!("contains \"{odd}\""))
                .help("write what is not ASCII, and spaces, in percent-encoding: %20"));
        }
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(wrong("has no scheme").help(format!("write http://{}", escape(url, 200))));
        };
        let is_https = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => {
                return Err(wrong(&format!("has the scheme \"{scheme}\""))
                    .help("http:// and https:// are known"));
            }
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if authority.contains('@') {
            return Err(wrong("contains a user name")
                .help("send it as a header: 'Authorization: Basic ...'"));
        }
        let default_port = if is_https { 443 } else { 80 };
        let authority = with_plain_zone(authority);
        let (host, port) = host_and_port(&authority).ok_or_else(|| {
            wrong("has no valid host").help("it looks like http://host:8080/path or http://[::1]/")
        })?;
        let port = match port {
            None => default_port,
            Some(port) => port.parse().ok().filter(|port| *port != 0).ok_or_else(|| {
                wrong(&format!("has the port \"{port}\"")).help("ports are 1 to 65535")
            })?,
        };
        // The zone of an address means nothing to the server (RFC 6874).
        let name = without_zone(host);
        let named = if name.contains(':') { format!("[{name}]") } else { name.to_owned() };
        let origin = Self {
            url: url.to_owned(),
            is_https,
            host: host.to_owned(),
            authority: if port == default_port { named } else { format!("{named}:{port}") },
            targets: Targets::from(match target.starts_with('/') {
                true => target.to_owned(),
                false => format!("/{target}"),
            }),
            addresses: Vec::new(),
            may_be_missing: false,
        };
        Ok((origin, port))
    }
}

/// Whether a text can be asked for as it is: a path, with or without a query.
pub fn is_target(text: &str) -> bool {
    text.starts_with('/')
        && text.len() <= LONGEST
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Splits `host:port`, `[::1]:port` and both without a port; `None` if there is no host.
fn host_and_port(authority: &str) -> Option<(&str, Option<&str>)> {
    let (host, port) = if authority.starts_with('[') {
        in_brackets(authority)?
    } else {
        let parts = authority.split_once(':');
        let (host, port) = parts.map_or((authority, None), |(host, port)| (host, Some(port)));
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._~%!$&'()*+,;=".contains(c);
        if host.is_empty() || !host.chars().all(plain) {
            return None;
        }
        (host, port)
    };
    Some((host, port.filter(|port| !port.is_empty())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use zc_run::ErrorKind;

    use super::*;

    fn parts(url: &str) -> (bool, String, String, String, u16) {
        let (origin, port) = Origin::parse(url).unwrap();
        let path = origin.targets.each()[0].path.clone();
        (origin.is_https, origin.host, origin.authority, path, port)
    }

    #[test]
    fn urls_are_taken_apart() {
        for (url, https, host, authority, target, port) in [
            ("http://host", false, "host", "host", "/", 80),
            ("http://host:80/a/b?c=d#e", false, "host", "host", "/a/b?c=d", 80),
            ("HTTPS://a.b:8443/", true, "a.b", "a.b:8443", "/", 8443),
            ("https://a.b:443?q", true, "a.b", "a.b", "/?q", 443),
            ("http://[::1]:8080/x", false, "::1", "[::1]:8080", "/x", 8080),
            ("http://[::1]/x", false, "::1", "[::1]", "/x", 80),
            ("http://[fe80::1%25lo]:81/x", false, "fe80::1%lo", "[fe80::1]:81", "/x", 81),
            ("http://[fe80::1%lo]", false, "fe80::1%lo", "[fe80::1]", "/", 80),
            ("http://127.0.0.1:/", false, "127.0.0.1", "127.0.0.1", "/", 80),
        ] {
            let expected = (https, host.to_owned(), authority.to_owned(), target.to_owned(), port);
            assert_eq!(parts(url), expected, "{url}");
        }
    }

    #[test]
    fn what_is_no_url_of_http_is_refused_with_a_hint() {
        let said = [
            "localhost:8080/x",
            "ftp://host/",
            "http:///x",
            "http://",
            "http://[::1",
            "http://[::1]x/",
            "http://[nonsense]/",
            "http://[fe80::1%]/",
            "http://[fe80::1%25a%25b]/",
            "http://ho\"st/",
            "http://host:0/",
            "http://host:65536/",
            "http://host:8o/",
            "http://me:pw@host/",
            "http://host/a b",
            "http://host/\r\nX: y",
            "http://höst/",
        ]
        .map(|url| {
            let error = Origin::resolve(url).unwrap_err();
            assert!(error.id == "invalid-url" && error.help.is_some(), "{url}: {error:?}");
            error.message
        });
        insta::assert_snapshot!(said.join("\n"), @r#"
        URL "localhost:8080/x" has no scheme
        URL "ftp://host/" has the scheme "ftp"
        URL "http:///x" has no valid host
        URL "http://" has no valid host
        URL "http://[::1" has no valid host
        URL "http://[::1]x/" has no valid host
        URL "http://[nonsense]/" has no valid host
        URL "http://[fe80::1%]/" has no valid host
        URL "http://[fe80::1%25a%25b]/" has no valid host
        URL "http://ho"st/" has no valid host
        URL "http://host:0/" has the port "0"
        URL "http://host:65536/" has the port "65536"
        URL "http://host:8o/" has the port "8o"
        URL "http://me:pw@host/" contains a user name
        URL "http://host/a b" contains " "
        URL "http://host/\r\nX: y" contains "\r"
        URL "http://höst/" contains "ö"
        "#);
        assert!(Origin::resolve(&format!("http://host/{}", "x".repeat(LONGEST))).is_err());
    }

    #[test]
    fn a_host_is_looked_up_or_given() {
        let origin = Origin::resolve("http://127.0.0.1:8080/").unwrap();
        assert_eq!(origin.addresses, ["127.0.0.1:8080".parse().unwrap()]);
        let v6 = Origin::resolve("http://[::1]:8080/").unwrap();
        assert_eq!(v6.addresses, ["[::1]:8080".parse().unwrap()]);
        let zoned = Origin::resolve("http://[fe80::1%25lo]:8080/").unwrap();
        assert_eq!(zoned.addresses, ["[fe80::1%1]:8080".parse().unwrap()]);
        let unknown = Origin::resolve("http://[fe80::1%25zc-no-such]/").unwrap_err();
        assert!(unknown.message.contains("fe80::1%zc-no-such"), "{unknown}");
        let there = "127.0.0.1:9".parse().unwrap();
        assert_eq!(Origin::at("http://a.test/", there).unwrap().addresses, [there]);
        let unknown = Origin::resolve("http://no-such-host.invalid/").unwrap_err();
        assert_eq!(unknown.kind, ErrorKind::Remote);
        assert!(unknown.message.contains("no-such-host.invalid"), "{}", unknown.message);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_or_makes_a_second_line(url in "(https?://)?\\PC{0,40}") {
            if let Ok((origin, _)) = Origin::parse(&url) {
                let target = origin.targets.each()[0].path.clone();
                prop_assert!(target.starts_with('/'));
                let is_graphic = |text: &String| text.chars().all(|c| c.is_ascii_graphic());
                prop_assert!([target, origin.authority].iter().all(is_graphic));
            }
        }
    }
}
