//! The option of OpenSSL that asks for kTLS.

pub(super) const DIRECTIVE: &str = "ssl_conf_command";

/// Whether a value of `ssl_conf_command` asks for kTLS (SSL_CONF_cmd(3): a list of options, of which
/// one with a `-` is switched off).
pub(super) fn asks_for_it(value: &str) -> bool {
    let mut words = value.split_whitespace();
    words.next().is_some_and(|command| command.eq_ignore_ascii_case("Options"))
        && words
            .next()
            .unwrap_or_default()
            .split(',')
            .any(|option| option.trim_start_matches('+').eq_ignore_ascii_case("KTLS"))
}

#[cfg(test)]
mod tests {
    use super::asks_for_it;

    #[test]
    fn ktls_is_found_among_the_options() {
        for on in ["Options KTLS", "options ktls", "Options -SessionTicket,KTLS", "Options +KTLS"] {
            assert!(asks_for_it(on), "{on}");
        }
        for off in ["Options -KTLS", "Ciphersuites KTLS", "Options", "", "Options KTLSx"] {
            assert!(!asks_for_it(off), "{off}");
        }
    }
}
