//! The candidates of configurations.

use super::super::testing::read;
use super::*;
use crate::candidate::testing::{names, tried, why};

/// A site with lines of its own sections.
fn offers(global: &str, front: &str, back: &str) -> Vec<Offer> {
    let text = format!(
        "global\n{global}\ndefaults\n mode http\nfrontend f\n bind :80\n{front}\n default_backend \
         b\nbackend b\n server s 192.0.2.9:80\n{back}\n"
    );
    of(&text)
}

fn of(text: &str) -> Vec<Offer> {
    let config = read(text).unwrap();
    candidates(&config, &config.site(None).unwrap(), &Facts::default())
}

#[test]
fn a_site_with_defaults_is_tried_with_everything_but_these() {
    let offers = offers("", "", "");
    assert_eq!(
        names(&offers),
        [
            "option splice-auto",
            "option splice-response",
            "http-reuse always",
            "option http-server-close",
            "tune.bufsize 32768",
            "tune.bufsize 65536",
            "tune.sndbuf.client 131072",
            "tune.rcvbuf.server 131072",
            "sysctl net.ipv4.tcp_notsent_lowat=131072",
            "sysctl net.ipv4.tcp_wmem=4096 131072 16777216",
        ]
    );
    let all = tried(&offers);
    assert!(all.iter().all(|each| !each.reason.is_empty() && each.reference.starts_with("http")));
    assert_eq!(all[0].present, "no option splice-auto (default)");
    assert!(all[0].reference.ends_with("#option%20splice-auto"), "{}", all[0].reference);
    assert_eq!(all[2].present, "http-reuse safe (default)");
    assert_eq!(why(&offers, "tune.pipesize"), Some("nothing is spliced"));
    assert_eq!(why(&offers, "log"), Some("it is not in effect"));
    assert!(why(&offers, "busy-polling").is_some() && why(&offers, "option httpclose").is_some());
}

#[test]
fn what_is_in_effect_is_tried_the_other_way_round() {
    let offers = offers(
        " tune.bufsize 32768\n nbthread 4\n log /dev/log local0",
        " option splice-auto\n log global\n option httpclose",
        " http-reuse always\n no option splice-auto",
    );
    let names = names(&offers);
    for name in [
        "no option splice-auto",
        "http-reuse safe",
        "no option httpclose",
        "tune.bufsize 16384",
        "tune.pipesize 262144",
        "no log",
        "option dontlog-normal",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    for name in ["option splice-auto", "http-reuse always", "tune.bufsize 32768"] {
        assert!(!names.contains(&name), "{name}: {names:?}");
    }
}

#[test]
fn over_tls_nothing_is_spliced_and_records_have_a_size() {
    let offers = of("frontend f\n mode http\n bind :443 ssl crt /c.pem\n default_backend b\n\
                     backend b\n server s 192.0.2.9:80\n");
    assert!(why(&offers, "option splice-auto").is_some_and(|why| why.contains("over TLS")));
    assert!(names(&offers).contains(&"tune.ssl.maxrecord 4096"));
    let offers = of("global\n nosplice\nlisten l\n bind :80\n server s 192.0.2.9:80\n");
    assert_eq!(why(&offers, "option splice-auto"), Some("\"nosplice\" is in effect"));
    assert!(why(&offers, "http-reuse").is_some_and(|why| why.contains("mode http")));
}
