//! `listen`: its address, and its parameters
//! (<https://nginx.org/en/docs/http/ngx_http_core_module.html#listen>).

use super::tree::Directive;

/// What a server listens on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Address {
    /// A host, `*` for all of IPv4, and a port or a range of ports.
    Tcp { host: String, port: String },
    /// A socket in the file system.
    Unix(String),
}

/// The address of a server that has no `listen`: `*:80`, or `*:8000` without privileges.
pub(super) fn default_address() -> Address {
    Address::Tcp { host: "*".to_owned(), port: "80".to_owned() }
}

/// The address of a `listen`.
pub(super) fn address(listen: &Directive) -> Address {
    let text = listen.first();
    if let Some(path) = text.strip_prefix("unix:") {
        return Address::Unix(path.to_owned());
    }
    let is_port = |text: &str| text.starts_with(|letter: char| letter.is_ascii_digit());
    let is_port = |text: &str| {
        is_port(text) && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    let (host, port) = if is_port(text) {
        ("*", text)
    } else if let Some(end) = text.rfind(']') {
        let (host, rest) = text.split_at(end + 1);
        (host, rest.strip_prefix(':').unwrap_or("80"))
    } else {
        text.rsplit_once(':').unwrap_or((text, "80"))
    };
    let host = match host {
        "" | "0.0.0.0" => "*".to_owned(),
        host => host.to_lowercase(),
    };
    Address::Tcp { host, port: port.to_owned() }
}

impl Address {
    /// As in nginx's messages: `*:80`.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Tcp { host, port } => format!("{host}:{port}"),
            Self::Unix(path) => format!("unix:{path}"),
        }
    }
}

/// The parameters after the address.
pub(super) fn parameters(listen: &Directive) -> &[String] {
    listen.args.get(1..).unwrap_or_default()
}

/// The name of a parameter: `backlog` of `backlog=4096`.
pub(super) fn name(parameter: &str) -> &str {
    parameter.split('=').next().unwrap_or(parameter)
}

/// Whether a `listen` has a parameter of this name.
pub(super) fn has(listen: &Directive, parameter: &str) -> bool {
    parameters(listen).iter().any(|other| name(other) == parameter)
}

/// Whether it makes this server the one for requests that no `server_name` matches.
pub(super) fn is_default(listen: &Directive) -> bool {
    has(listen, "default_server") || has(listen, "default")
}

/// Options of the socket. nginx accepts them in only one `listen` of an address, and they hold for
/// all servers there.
const OF_THE_SOCKET: [&str; 11] = [
    "setfib",
    "fastopen",
    "backlog",
    "rcvbuf",
    "sndbuf",
    "accept_filter",
    "deferred",
    "bind",
    "ipv6only",
    "reuseport",
    "so_keepalive",
];

/// Whether a parameter is an option of the socket.
pub(super) fn is_of_the_socket(parameter: &str) -> bool {
    OF_THE_SOCKET.contains(&name(parameter))
}

/// Whether a `listen` has options of the socket.
pub(super) fn sets_socket(listen: &Directive) -> bool {
    parameters(listen).iter().any(|parameter| is_of_the_socket(parameter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen(words: &str) -> Directive {
        Directive::new("listen", words.split(' '))
    }

    #[test]
    fn addresses_are_read_as_nginx_reads_them() {
        for (words, text) in [
            ("80", "*:80"),
            ("*:8080", "*:8080"),
            ("0.0.0.0:80", "*:80"),
            ("127.0.0.1", "127.0.0.1:80"),
            ("Localhost:8000", "localhost:8000"),
            ("[::]:443", "[::]:443"),
            ("[::1]", "[::1]:80"),
            ("8000-8010", "*:8000-8010"),
            ("unix:/run/x.sock", "unix:/run/x.sock"),
        ] {
            assert_eq!(address(&listen(words)).text(), text);
        }
    }

    #[test]
    fn parameters_have_names() {
        let listen = listen("443 ssl http2 backlog=4096 default_server");
        assert!(has(&listen, "ssl") && has(&listen, "backlog") && !has(&listen, "443"));
        assert!(is_default(&listen) && sets_socket(&listen));
    }
}
