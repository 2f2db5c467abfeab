//! TLS in a copy: with the site's certificate or a stand-in, and without what needs other hosts or
//! certificates of clients.

/// Whether a directive of http or server has a place in a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It stays.
    Stays,
    /// It is left out, which changes nothing for zc's load.
    LeftOut,
    /// It is left out for a reason that is told.
    Told(&'static str),
}

/// The place of the directive `name` with the first argument `value`, in a copy of a site with or
/// without TLS, with or without a certificate in place of the site's.
pub(super) fn place(name: &str, value: &str, is_https: bool, has_stand_in: bool) -> Place {
    match name {
        // nginx opens them even where no `listen` has TLS.
        "ssl_certificate"
        | "ssl_certificate_key"
        | "ssl_password_file"
        | "ssl_session_ticket_key"
            if !is_https =>
        {
            Place::LeftOut
        }
        "ssl_certificate" | "ssl_certificate_key" | "ssl_password_file" if has_stand_in => {
            Place::LeftOut
        }
        "ssl_session_ticket_key" if has_stand_in => Place::Told("a key of its own takes its place"),
        "ssl_verify_client" if is_https && value != "off" => {
            Place::Told("zc's load has no certificate")
        }
        "ssl_stapling" if is_https && value != "off" => {
            Place::Told("it asks a host of the authority")
        }
        "ssl_client_certificate"
        | "ssl_crl"
        | "ssl_reject_handshake"
        | "ssl_stapling"
        | "ssl_stapling_file"
        | "ssl_stapling_responder"
        | "ssl_stapling_verify"
        | "ssl_trusted_certificate"
        | "ssl_verify_client"
        | "ssl_verify_depth"
        | "quic_host_key" => Place::LeftOut,
        name if name.starts_with("ssl_ocsp") => Place::LeftOut,
        _ => Place::Stays,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_stay_where_they_are_used() {
        assert_eq!(place("ssl_certificate", "a", true, false), Place::Stays);
        assert_eq!(place("ssl_certificate", "a", true, true), Place::LeftOut);
        assert_eq!(place("ssl_certificate", "a", false, false), Place::LeftOut);
        assert_eq!(place("ssl_session_ticket_key", "a", true, false), Place::Stays);
        assert_eq!(place("ssl_verify_client", "off", true, false), Place::LeftOut);
        assert!(matches!(place("ssl_verify_client", "on", true, false), Place::Told(_)));
        assert_eq!(place("ssl_protocols", "TLSv1.3", true, true), Place::Stays);
    }
}
