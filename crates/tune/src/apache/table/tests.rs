//! The candidates of configurations.

use std::collections::BTreeMap;

use super::super::read::Start;
use super::*;
use crate::candidate::testing::{self, names, tried};
use crate::candidate::{Candidate, Change};

fn offers_of(version: &str, text: &str) -> Vec<Offer> {
    let build = format!("Server version: Apache/{version} (Debian)\n");
    let start = Start { build, ..Start::default() };
    let config =
        Config::read("/e/a.conf", &start, &mut BTreeMap::from([("/e/a.conf", text)])).unwrap();
    let site = config.site(None).unwrap();
    candidates(&config, &site)
}

/// A site with lines of its own, and of its main server.
fn offers(main: &str, own: &str) -> Vec<Offer> {
    let main = format!("LoadModule mpm_event_module m/mod_mpm_event.so\nListen 80\n{main}\n");
    let text = format!("{main}<VirtualHost *:80>\nDocumentRoot /srv/a\n{own}\n</VirtualHost>\n");
    offers_of("2.4.57", &text)
}

#[track_caller]
fn why<'o>(offers: &'o [Offer], wanted: &str) -> &'o str {
    let found = testing::why(offers, wanted);
    found.unwrap_or_else(|| panic!("{wanted} is tried: {:?}", names(offers)))
}

#[test]
fn a_site_with_defaults_is_tried_with_everything_but_these() {
    let offers = offers("CustomLog /l main", "");
    assert_eq!(
        names(&offers),
        [
            "EnableSendfile On",
            "EnableMMAP Off",
            "FlushMaxThreshold 1048576",
            "SendBufferSize 1048576",
            "MaxKeepAliveRequests 0",
            "ListenBacklog 4096",
            "ThreadsPerChild 64",
            "Options +SymLinksIfOwnerMatch -FollowSymLinks",
            "CustomLog /l main expr=false",
            "BufferedLogs On",
        ]
    );
    assert!(why(&offers, "ReadBufferSize").contains("mapped"));
    assert!(why(&offers, "ExtendedStatus").contains("no status_module"));
    why(&offers, "HostnameLookups");
    assert!(why(&offers, "sysctls such as net.ipv4.tcp_congestion_control").contains("socket"));
    assert!(offers.iter().all(|offer| !format!("{offer:?}").contains("SSL")));
}

#[test]
fn what_the_configuration_has_is_tried_the_other_way_round() {
    let main = "LoadModule status_module m/mod_status.so\nBufferedLogs on\nListenBacklog 4096\n\
                ThreadsPerChild 64\nExtendedStatus On\nEnableMMAP off\n<Directory /srv>\n\
                AllowOverride FileInfo\nOptions Indexes SymLinksIfOwnerMatch\n</Directory>";
    let own = "enablesendfile on\nMaxKeepAliveRequests 0\nSendBufferSize 9\nCustomLog /l \"%h %r\" \
               env=!x";
    let offers = offers(main, own);
    assert_eq!(
        names(&offers)[..10],
        [
            "EnableSendfile Off",
            "FlushMaxThreshold 1048576",
            "SendBufferSize 0",
            "MaxKeepAliveRequests 100",
            "ListenBacklog 511",
            "ThreadsPerChild 25",
            "ExtendedStatus Off",
            "AllowOverride None",
            "Options Indexes FollowSymLinks",
            "CustomLog /l %h %r expr=false",
        ]
    );
    assert_eq!(names(&offers)[10], "BufferedLogs Off");
    assert!(why(&offers, "EnableMMAP").contains("sendfile()"));
    let presents: Vec<&str> =
        tried(&offers).iter().map(|candidate| candidate.present.as_str()).collect();
    assert_eq!(presents[7], "AllowOverride FileInfo");
}

#[test]
fn files_that_are_read_are_tried_with_larger_buffers() {
    let read = offers("EnableMMAP Off", "");
    assert!(names(&read).contains(&"ReadBufferSize 65536"));
    why(&read, "CustomLog");
    assert!(why(&offers("Options All", ""), "Options SymLinksIfOwnerMatch").contains("All"));
    let old = offers_of("2.4.10", "Listen 80\nEnableMMAP Off\n");
    assert!(why(&old, "ReadBufferSize").contains("since 2.4.27"));
    assert!(why(&old, "FlushMaxThreshold").contains("since 2.4.47"));
    let prefork = offers("LoadModule mpm_prefork_module m/mod_mpm_prefork.so", "");
    assert!(why(&prefork, "ThreadsPerChild").contains("prefork"));
}

#[test]
fn a_site_with_tls_has_lines_of_its_own() {
    let offers = offers("", "SSLEngine on");
    assert!(why(&offers, "EnableSendfile").contains("TLS"));
    assert!(why(&offers, "SSLOpenSSLConfCmd Options KTLS").contains("mod_ssl"));
    let names = names(&offers);
    for name in
        ["EnableMMAP Off", "SSLSessionCache shmcb:ssl_scache(512000)", "SSLSessionTickets off"]
    {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
}

#[test]
fn each_candidate_has_a_reason_a_reference_and_a_change_of_its_own() {
    for own in ["", "SSLEngine on\nCustomLog /l x"] {
        let offers = offers("", own);
        let candidates = tried(&offers);
        assert!(candidates.len() > 7);
        let mut seen: Vec<&Change> = Vec::new();
        for Candidate { name, present, change, reason, reference } in candidates {
            assert!(reference.starts_with("https://") && reason.len() > 20, "{name}");
            assert!(!seen.contains(&change) && name != present, "{name}");
            seen.push(change);
        }
    }
}
