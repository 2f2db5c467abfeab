//! Number of requests that nginx has served, by its page `stub_status`
//! (ngx_http_stub_status_module): a plain GET of HTTP/1.0 for each reading.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use zc_kernel::{clock, names};
use zc_run::address::{in_brackets, with_plain_zone, without_zone};
use zc_run::{Error, Result, escape, in_words};

/// Time allowed for connecting, and for each read and write.
const PATIENCE: Duration = Duration::from_secs(2);

/// The page has some 100 bytes, and its head some 200.
const MOST_BYTES: u64 = 64 << 10;

/// The address of a status page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusUrl {
    /// Name or address, and port.
    to: (String, u16),
    /// The header `Host`.
    host: String,
    path: String,
    url: String,
}

/// A count of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) at_ns: u64,
    /// All so far, that for this page included.
    pub(super) requests: u64,
}

impl StatusUrl {
    /// Parses `http://HOST[:PORT]/PATH`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](zc_run::ErrorKind): it is none.
    pub fn parse(url: &str) -> Result<Self> {
        let wrong = || {
            Error::usage(
                "invalid-url",
                format!("\"{}\" is not the address of a status page", escape(url, 100)),
            )
            .help("http://127.0.0.1:8080/stub_status: http alone, without a user")
        };
        let rest = url.strip_prefix("http://").ok_or_else(wrong)?;
        let (host, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        let authority = with_plain_zone(host);
        let (name, port) = match authority.starts_with('[') {
            true => in_brackets(&authority).ok_or_else(wrong)?,
            false => match authority.split_once(':') {
                Some((name, port)) => (name, Some(port)),
                None => (&*authority, None),
            },
        };
        if name.is_empty() || host.contains('@') || !is_plain(rest) {
            return Err(wrong());
        }
        let to = match port.map_or(Ok(80), str::parse) {
            Ok(port @ 1..) => (name.to_owned(), port),
            _ => return Err(wrong()),
        };
        // The zone of an address means nothing to the server (RFC 6874).
        let host = authority.replacen(name, without_zone(name), 1);
        Ok(Self { to, host, path: path.to_owned(), url: url.to_owned() })
    }

    /// Asks for the page.
    ///
    /// # Errors
    /// Nobody answers, or not with such a page.
    pub(super) fn read(&self) -> Result<Served> {
        let failed = |why: String| {
            Error::failed(
                "status-page-unusable",
                format!("the status page \"{}\" {why}", escape(&self.url, 100)),
            )
            .help("curl shows what it answers; in nginx: location = /stub_status { stub_status; }")
        };
        let answer =
            self.get().map_err(|error| failed(format!("was not read: {}", in_words(&error))))?;
        let at_ns = clock::monotonic_ns();
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) =
            answer.split_once("\r\n\r\n").ok_or_else(|| failed("answered no HTTP".to_owned()))?;
        let first = head.lines().next().unwrap_or_default();
        if first.split(' ').nth(1) != Some("200") {
            return Err(failed(format!("answered \"{}\"", escape(first, 60))));
        }
        let requests =
            requests(body).ok_or_else(|| failed("is not that of stub_status".to_owned()))?;
        Ok(Served { at_ns, requests })
    }

    fn get(&self) -> std::io::Result<Vec<u8>> {
        let mut last = std::io::Error::other("it has no address");
        for address in names::addresses(&self.to.0, self.to.1)? {
            let mut stream = match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(stream) => stream,
                Err(error) => {
                    last = error;
                    continue;
                }
            };
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            let request = format!(
                "GET {} HTTP/1.0\r\nHost: {}\r\nUser-Agent: zc\r\nConnection: close\r\n\r\n",
                self.path, self.host
            );
            stream.write_all(request.as_bytes())?;
            let mut answer = Vec::new();
            stream.take(MOST_BYTES).read_to_end(&mut answer)?;
            return Ok(answer);
        }
        Err(last)
    }
}

/// The third number below `server accepts handled requests`.
fn requests(page: &str) -> Option<u64> {
    let mut lines =
        page.lines().skip_while(|line| !line.starts_with("server accepts handled requests"));
    lines.nth(1)?.split_ascii_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const PAGE: &str = "Active connections: 2 \nserver accepts handled requests\n 10 9 31070465 \n\
                        Reading: 0 Writing: 1 Waiting: 1 \n";

    /// Reads the status of a server that gives this answer.
    fn answered(answer: String) -> Result<Served> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/status?a=b", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 512];
            let length = stream.read(&mut asked).unwrap();
            assert!(asked[..length].starts_with(b"GET /status?a=b HTTP/1.0\r\nHost: 127.0.0.1:"));
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let served = StatusUrl::parse(&url).unwrap().read();
        server.join().unwrap();
        served
    }

    #[test]
    fn requests_are_read_from_the_page() {
        let served = answered(format!("HTTP/1.1 200 OK\r\nServer: nginx\r\n\r\n{PAGE}")).unwrap();
        assert_eq!(served.requests, 31_070_465);
        let said = [
            format!("HTTP/1.1 404 Not Found\r\n\r\n{PAGE}"),
            "HTTP/1.1 200 OK\r\n\r\n<html>".to_owned(),
            "SSH-2.0-x\r\n".to_owned(),
            String::new(),
        ]
        .map(|answer| {
            let error = answered(answer).unwrap_err();
            assert_eq!(error.id, "status-page-unusable");
            // The port is another each time.
            error.message.split_once("?a=b\" ").unwrap().1.to_owned()
        });
        insta::assert_snapshot!(said.join("\n"), @r#"
        answered "HTTP/1.1 404 Not Found"
        is not that of stub_status
        answered no HTTP
        answered no HTTP
        "#);
    }

    #[test]
    fn an_address_is_http_with_a_host() {
        let to = |url: &str| StatusUrl::parse(url).map(|it| (it.to, it.host, it.path)).ok();
        let of = |to: &str, port, host: &str, path: &str| {
            Some(((to.to_owned(), port), host.to_owned(), path.to_owned()))
        };
        assert_eq!(to("http://localhost/s"), of("localhost", 80, "localhost", "/s"));
        assert_eq!(to("http://[::1]:8080"), of("::1", 8080, "[::1]:8080", "/"));
        assert_eq!(to("http://[::1]/s"), of("::1", 80, "[::1]", "/s"));
        assert_eq!(to("http://[fe80::1%25lo]:81/s"), of("fe80::1%lo", 81, "[fe80::1]:81", "/s"));
        for wrong in [
            "",
            "http://",
            "https://a/s",
            "localhost/s",
            "http:///s",
            "http://a:x/",
            "http://a:0/",
            "http://u@a/",
            "http://a/ b",
            "http://a/\r\nX: y",
            "http://:80/",
            "http://::1/",
            "http://[::1",
        ] {
            assert_eq!(to(wrong), None, "{wrong}");
        }
    }
}
