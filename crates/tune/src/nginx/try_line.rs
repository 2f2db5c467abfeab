//! A line of the operator's own: `--try 'sendfile_max_chunk 4k'`.
//!
//! It is one simple directive of nginx, a parameter of `listen`, or a sysctl of the server's network
//! namespace. What would reach beyond the copy that is measured (its process, its files, its
//! addresses) is refused here; what nginx does not understand, `nginx -t` says.

use zc_run::nearest::nearest;
use zc_run::{Error, Result, escape};

use super::lex::{End, Fault, Lexer};
use super::listen::name as parameter_name;
use super::tree::Config;
use crate::candidate::{Candidate, Change, Facts};
use crate::own_line::{
    self, ADDRESS, FILES, LONGEST, PROCESS, SITE, TOO_LONG, UNFINISHED, refused,
};
use crate::site::Site;

/// Directives that are none of a site's, each with the reason for which they are not tried.
const REFUSED: [(&str, &str); 22] = [
    ("daemon", PROCESS),
    ("master_process", PROCESS),
    ("pid", PROCESS),
    ("lock_file", PROCESS),
    ("user", PROCESS),
    ("env", PROCESS),
    ("load_module", PROCESS),
    ("working_directory", PROCESS),
    ("worker_priority", PROCESS),
    ("worker_processes", "zc gives the server one CPU"),
    ("worker_cpu_affinity", "zc gives the server one CPU"),
    ("include", "it is many lines: try those one by one"),
    ("server_name", SITE),
    ("root", SITE),
    ("alias", SITE),
    ("return", SITE),
    ("rewrite", SITE),
    ("ssl_certificate", SITE),
    ("ssl_certificate_key", SITE),
    ("error_log", FILES),
    ("proxy_cache_path", FILES),
    ("client_body_temp_path", FILES),
];

/// Parameters of `listen` that may be tried.
const LISTEN: [&str; 7] =
    ["reuseport", "backlog", "rcvbuf", "sndbuf", "fastopen", "deferred", "so_keepalive"];

/// The candidate that a line describes, with or without its semicolon: `sendfile_max_chunk 4k;`,
/// `listen reuseport`, `listen reuseport off`, `sysctl net.ipv4.tcp_notsent_lowat=131072`.
///
/// # Errors
/// Usage: the line is no single directive, or one that cannot be tried.
pub fn try_line(line: &str, config: &Config, site: &Site, facts: &Facts) -> Result<Candidate> {
    let words = words(line)?;
    let [name, args @ ..] = &words[..] else {
        return Err(Error::usage("no-line-to-try", "the line to try is empty").help(EXAMPLES));
    };
    let (name, change) = match name.as_str() {
        "sysctl" => return own_line::of_sysctl(line, args, facts),
        "listen" => listen_parameter(line, args)?,
        _ => directive(line, name, args)?,
    };
    let present = match &change {
        Change::Directive { name, .. } => match config.in_effect(site, name) {
            Some(present) => format!("{name} {}", present.args.join(" ")),
            None => format!("no {name} (default)"),
        },
        Change::Listen { parameter, .. } => {
            let name = parameter_name(parameter);
            let all = config.listen_parameters(site);
            let own = all.iter().find(|own| parameter_name(own) == name);
            own.map_or_else(|| format!("listen without {name}"), |own| format!("listen {own}"))
        }
        Change::Sysctl { .. } | Change::Variable { .. } => String::new(),
    };
    Ok(own_line::candidate(name, present, change))
}

const EXAMPLES: &str = "for example: --try 'sendfile_max_chunk 4k', --try 'listen reuseport', \
                        --try 'sysctl net.ipv4.tcp_notsent_lowat=131072'";

fn directive(line: &str, name: &str, args: &[String]) -> Result<(String, Change)> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.chars().all(is_name) {
        let why = format!("\"{}\" is no name of a directive", escape(name, 40));
        return Err(refused("no-directive-to-try", line, &why).help(EXAMPLES));
    }
    let known = REFUSED.iter().find(|(refused, _)| *refused == name).map(|(_, why)| *why);
    let writes = name.ends_with("_temp_path") || name.ends_with("_cache_path");
    if let Some(why) = known.or(writes.then_some(FILES)) {
        return Err(refused("line-beyond-the-site", line, why).help(EXAMPLES));
    }
    if args.is_empty() {
        let why = "it has no value";
        return Err(refused("line-without-a-value", line, why).help(EXAMPLES));
    }
    let change = Change::Directive { name: name.to_owned(), args: args.to_vec() };
    Ok((format!("{name} {}", args.join(" ")), change))
}

fn listen_parameter(line: &str, args: &[String]) -> Result<(String, Change)> {
    let (parameter, on) = match args {
        [parameter] => (parameter, true),
        [parameter, off] if off == "off" => (parameter, false),
        _ => {
            let why = "one parameter of \"listen\" is tried at a time";
            return Err(refused("listen-with-several", line, why).help(EXAMPLES));
        }
    };
    let name = parameter_name(parameter);
    if !LISTEN.contains(&name) {
        let is_address = |c: char| c.is_ascii_digit() || matches!(c, ':' | '*' | '[' | '.' | '/');
        if parameter.contains(is_address) || parameter == "localhost" {
            return Err(refused("listen-address", line, ADDRESS).help(EXAMPLES));
        }
        let known = LISTEN.join(", ");
        let help = match nearest(name, &LISTEN) {
            Some(name) => format!("did you mean \"listen {name}\"? these may be tried: {known}"),
            None => format!("these may be tried: {known}"),
        };
        let why = format!("\"{}\" is no parameter that zc tries", escape(name, 40));
        return Err(refused("listen-parameter", line, &why).help(help));
    }
    let text = if on { format!("listen {parameter}") } else { format!("listen without {name}") };
    Ok((text, Change::Listen { parameter: parameter.clone(), on }))
}

/// The words of a line as nginx reads them.
fn words(line: &str) -> Result<Vec<String>> {
    let has_control = |text: &str| text.chars().any(char::is_control);
    let line = line.trim();
    if matches!(line, "" | ";") {
        return Ok(Vec::new());
    }
    let text = format!("{line};");
    let mut lexer = Lexer::new(&text);
    let (id, why) = match lexer.directive() {
        _ if line.len() > LONGEST || has_control(line) => TOO_LONG,
        // "\n" in a word is a line feed, too.
        Ok((words, _)) if words.iter().any(|word| has_control(&word.value)) => TOO_LONG,
        // The semicolon is the line's own or the one behind it.
        Ok((words, End::Semicolon)) if matches!(&text[lexer.at..], "" | ";") => {
            return Ok(words.into_iter().map(|word| word.value).collect());
        }
        Ok((_, End::Semicolon)) | Err(Fault::Unexpected(';')) => {
            ("several-lines-to-try", "it is more than one directive: give --try once for each")
        }
        Ok((_, End::Open | End::Close)) | Err(Fault::Unexpected(_)) => {
            ("block-to-try", "a block is many lines: try those one by one")
        }
        Err(Fault::OpenQuote(_)) => UNFINISHED,
        Err(Fault::Unfinished) if line.ends_with('\\') => UNFINISHED,
        Err(Fault::AfterQuote(_)) => ("text-after-a-quote", "behind a closing quote a word ends"),
        // What else takes the semicolon behind the line.
        Ok((_, End::Text)) | Err(Fault::Unfinished) => ("comment-to-try", "it has a comment"),
    };
    Err(refused(id, line, why).help(EXAMPLES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Candidate> {
        let text = "# configuration file /etc/nginx/nginx.conf:\nevents {}\nhttp {\n server {\n \
                    listen 80 backlog=64;\n root /srv;\n sendfile on;\n }\n}\n";
        let config = Config::parse(text).unwrap();
        let site = config.site(None).unwrap();
        try_line(line, &config, &site, &Facts::default())
    }

    fn directive(name: &str, args: &[&str]) -> Change {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Change::Directive { name: name.to_owned(), args }
    }

    #[test]
    fn lines_are_read_as_nginx_reads_them() {
        for (line, name, change) in [
            (
                "sendfile_max_chunk 4k;",
                "sendfile_max_chunk 4k",
                directive("sendfile_max_chunk", &["4k"]),
            ),
            (" sendfile   off ", "sendfile off", directive("sendfile", &["off"])),
            (
                "add_header X 'a  b;{}#' always",
                "add_header X a  b;{}# always",
                directive("add_header", &["X", "a  b;{}#", "always"]),
            ),
            ("etag \"o\\\"n\"", "etag o\"n", directive("etag", &["o\"n"])),
            ("expires ${age}s;", "expires ${age}s", directive("expires", &["${age}s"])),
            (
                "gzip_disable msie\\d a\\;b 'c\\.d'",
                "gzip_disable msie\\d a\\;b c\\.d",
                directive("gzip_disable", &["msie\\d", "a\\;b", "c\\.d"]),
            ),
        ] {
            let candidate = parsed(line).unwrap();
            assert_eq!((candidate.name.as_str(), candidate.change), (name, change));
        }
        assert_eq!(parsed("sendfile off").unwrap().present, "sendfile on");
        assert_eq!(parsed("etag off").unwrap().present, "no etag (default)");
    }

    #[test]
    fn parameters_of_listen_and_sysctls_are_lines_too() {
        let listen = |parameter: &str, on| Change::Listen { parameter: parameter.to_owned(), on };
        let candidate = parsed("listen reuseport;").unwrap();
        assert_eq!(candidate.change, listen("reuseport", true));
        assert_eq!(candidate.present, "listen without reuseport");
        let candidate = parsed("listen backlog off").unwrap();
        assert_eq!(
            (candidate.name.as_str(), candidate.present.as_str()),
            ("listen without backlog", "listen backlog=64",)
        );
        let sysctl = |value: &str| Change::Sysctl {
            name: "net.ipv4.tcp_wmem".to_owned(),
            value: value.to_owned(),
        };
        assert_eq!(parsed("sysctl net.ipv4.tcp_wmem=4096").unwrap().change, sysctl("4096"));
        let several = parsed("sysctl net/ipv4/tcp_wmem = '4096 16384 99'").unwrap();
        assert_eq!(several.change, sysctl("4096 16384 99"));
    }

    #[test]
    fn what_reaches_beyond_the_site_or_is_no_line_is_refused() {
        for (line, id) in [
            ("", "no-line-to-try"),
            (" ; ", "no-line-to-try"),
            ("sendfile", "line-without-a-value"),
            ("sendfile on; tcp_nopush on;", "several-lines-to-try"),
            ("location / { sendfile on; }", "block-to-try"),
            ("sendfile on }", "block-to-try"),
            ("# sendfile on", "comment-to-try"),
            ("sendfile on # a", "comment-to-try"),
            ("sendfile on;;", "several-lines-to-try"),
            ("; sendfile on", "several-lines-to-try"),
            ("add_header X 'a'b", "text-after-a-quote"),
            ("include /etc/nginx/x.conf", "line-beyond-the-site"),
            ("daemon off", "line-beyond-the-site"),
            ("pid /run/x.pid;", "line-beyond-the-site"),
            ("user root", "line-beyond-the-site"),
            ("fastcgi_temp_path /etc", "line-beyond-the-site"),
            ("Sendfile on", "no-directive-to-try"),
            ("../x on", "no-directive-to-try"),
            ("listen 8080", "listen-address"),
            ("listen [::]:80", "listen-address"),
            ("listen unix:/x", "listen-address"),
            ("listen localhost", "listen-address"),
            ("listen reusport", "listen-parameter"),
            ("listen ssl", "listen-parameter"),
            ("listen reuseport backlog=5", "listen-with-several"),
            ("listen", "listen-with-several"),
            ("sysctl net.ipv4.tcp_wmem", "sysctl-without-a-value"),
            ("sysctl net.ipv4.tcp_wmem=", "bad-sysctl"),
            ("sysctl net..x=1", "bad-sysctl"),
            ("sysctl kernel.panic=1", "sysctl-of-the-machine"),
            ("sysctl net.ipv4.../../kernel/x=1", "bad-sysctl"),
            ("add_header X 'a", "unfinished-line"),
            ("sendfile on\\", "unfinished-line"),
            ("sendfile\non", "line-too-long"),
            ("add_header X a\\nb", "line-too-long"),
        ] {
            let error = parsed(line).unwrap_err();
            assert_eq!(error.id, id, "{line}: {error}");
            assert!(error.help.is_some(), "{line}");
        }
        let help = parsed("listen reusport").unwrap_err().help.unwrap();
        assert!(help.contains("did you mean \"listen reuseport\""), "{help}");
        assert!(parsed(&"x".repeat(2000)).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_a_candidate_or_a_sentence(line in "\\PC{0,60}") {
            match parsed(&line) {
                Ok(candidate) => assert!(!candidate.name.is_empty()),
                Err(error) => assert!(!error.message.is_empty()),
            }
        }
    }
}
