//! Addresses of a site: `example.com`, `http://example.com`, `:8080`
//! (<https://caddyserver.com/docs/caddyfile/concepts#addresses>).

use super::tree::{Config, Line, all};

/// An address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address<'a> {
    /// `None`: Caddy decides.
    scheme: Option<&'a str>,
    /// Empty: all.
    pub(super) host: &'a str,
    port: &'a str,
}

impl<'a> Address<'a> {
    /// What an address says; what is none has a host of any text.
    fn of(text: &'a str) -> Self {
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme), rest),
            None => (None, text),
        };
        let rest = rest.split('/').next().unwrap_or_default();
        let (host, port) = match rest.rsplit_once(':') {
            // An IPv6 address has colons, too.
            Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => (host, port),
            _ => (rest, ""),
        };
        Self { scheme, host, port }
    }

    /// The port it has with these of HTTP and HTTPS.
    pub(super) fn port(&self, http: &'a str, https: &'a str) -> &'a str {
        match (self.port, self.scheme) {
            ("", Some("http")) => http,
            ("", _) => https,
            (port, _) => port,
        }
    }
}

/// The addresses of a site.
pub(super) fn addresses(site: &Line) -> impl Iterator<Item = Address<'_>> {
    let texts = site.words.iter().map(|word| word.trim_end_matches(','));
    texts.filter(|text| !text.is_empty()).map(Address::of)
}

impl Config {
    /// The ports of HTTP and HTTPS.
    pub(super) fn ports(&self) -> (&str, &str) {
        let options = self.global().map(Line::children).unwrap_or_default();
        let of = |name, default| all(options, name).last().map_or(default, |line| line.word(1));
        (of("http_port", "80"), of("https_port", "443"))
    }

    /// Whether a site is asked over TLS at an address: Caddy has a certificate for each host that
    /// is named, and for others where the site says so
    /// (<https://caddyserver.com/docs/automatic-https#activation>).
    pub(super) fn is_https(&self, site: &Line, address: &Address<'_>) -> bool {
        let (http, https) = self.ports();
        let port = address.port(http, https);
        match address.scheme {
            Some(scheme) => scheme == "https",
            None if port == http => false,
            None => {
                port == https || !address.host.is_empty() || all(site.children(), "tls").count() > 0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::read;
    use super::*;

    #[test]
    fn an_address_says_host_port_and_whether_there_is_tls() {
        for (site, host, port, is_https) in [
            ("example.com {\n}", "example.com", "443", true),
            ("http://example.com, b.test {\n}", "example.com", "80", false),
            ("https://example.com/a/b {\n}", "example.com", "443", true),
            (":80 {\n}", "", "80", false),
            (":8080 {\n}", "", "8080", false),
            (":8443 {\n\ttls internal\n}", "", "8443", true),
            (":443 {\n}", "", "443", true),
            ("localhost:8080 {\n}", "localhost", "8080", true),
            ("[::1]:8080 {\n}", "[::1]", "8080", true),
            ("http:// {\n}", "", "80", false),
            ("*.example.com {\n}", "*.example.com", "443", true),
        ] {
            let config = read(site).unwrap();
            let block = &config.blocks[0];
            let address = addresses(block).next().unwrap();
            assert_eq!((address.host, address.port("80", "443")), (host, port), "{site}");
            assert_eq!(config.is_https(block, &address), is_https, "{site}");
        }
        let config = read("{\n\thttp_port 8080\n\thttps_port 8443\n}\n:8080, :8443, a.test {\n}\n");
        let config = config.unwrap();
        let site = &config.blocks[1];
        let tls: Vec<bool> = addresses(site).map(|one| config.is_https(site, &one)).collect();
        assert_eq!(tls, [false, true, true]);
    }
}
