//! What an h2load prints at its end, as far as zc reads it.

/// What it printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Said {
    /// The protocol that it and the server agreed on, by its name in ALPN (RFC 7301), `h2c` for
    /// HTTP/2 without TLS.
    pub(super) protocol: Option<String>,
    /// Bytes of the bodies of all responses.
    pub(super) body_bytes: Option<u64>,
    /// A line that is none of a load that went well.
    odd: Option<String>,
}

/// How the lines of one that went well begin, once they are not empty.
const USUAL: [&str; 17] = [
    "starting benchmark",
    "spawning thread",
    "TLS Protocol",
    "Cipher:",
    "Server Temp Key",
    "Application protocol",
    "progress:",
    "finished in",
    "requests:",
    "status codes:",
    "traffic:",
    "min ",
    "time for request",
    "time for connect",
    "time to 1st byte",
    "req/s",
    "UDP datagram",
];

impl Said {
    pub(super) fn parse(text: &str) -> Self {
        let mut said = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(protocol) = line.strip_prefix("Application protocol: ") {
                said.protocol = Some(protocol.to_owned());
            } else if line.starts_with("traffic: ") {
                said.body_bytes = body_bytes(line);
            } else if !USUAL.iter().any(|usual| line.starts_with(usual)) {
                said.odd.get_or_insert_with(|| line.to_owned());
            }
        }
        said
    }

    /// Whether the requests were of HTTP/2.
    pub(super) fn is_http2(&self) -> bool {
        self.protocol.as_deref().is_some_and(|protocol| protocol.starts_with("h2"))
    }

    /// What it said beside its figures.
    pub(super) fn odd(&self) -> Option<&str> {
        self.odd.as_deref()
    }
}

/// Of `traffic: 6.16KB (6303) total, 218B (218) headers (space savings 39 %), 5.86KB (6000) data`.
fn body_bytes(line: &str) -> Option<u64> {
    let (before, _) = line.rsplit_once(") data")?;
    before.rsplit_once('(')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_prints_is_read() {
        let well = "starting benchmark...\nspawning thread #0: 1 total client(s). 2 total requests\n\
                    TLS Protocol: TLSv1.3\nCipher: TLS_AES_128_GCM_SHA256\n\
                    Server Temp Key: X25519 253 bits\nApplication protocol: h2\n\
                    progress: 50% done\nprogress: 100% done\n\n\
                    finished in 1.31ms, 1530.22 req/s, 4.60MB/s\n\
                    requests: 2 total, 2 started, 2 done, 2 succeeded, 0 failed, 0 errored, \
                    0 timeout\nstatus codes: 2 2xx, 0 3xx, 0 4xx, 0 5xx\n\
                    traffic: 6.16KB (6303) total, 218B (218) headers (space savings 39.11%), \
                    5.86KB (6000) data\n\
                    \x20                    min         max         mean         sd        +/- sd\n\
                    time for request:       80us       291us       185us       149us   100.00%\n\
                    time for connect:      395us       395us       395us         0us   100.00%\n\
                    time to 1st byte:      772us       772us       772us         0us   100.00%\n\
                    req/s           :    2052.78     2052.78     2052.78        0.00   100.00%\n";
        let said = Said::parse(well);
        assert_eq!((said.body_bytes, said.odd(), said.is_http2()), (Some(6000), None, true));
        let other = Said::parse("Application protocol: http/1.1\n");
        assert!(!other.is_http2() && other.body_bytes.is_none());
        let gone = Said::parse("starting benchmark...\nclient could not connect to host\n");
        assert_eq!(gone.odd(), Some("client could not connect to host"));
        assert_eq!(gone.protocol, None);
        assert_eq!(Said::parse(""), Said::default());
    }
}
