//! Sysctls of the server's network namespace.

use crate::candidate::{Candidate, Change, Facts, Offer};

const REFERENCE: &str = "https://docs.kernel.org/networking/ip-sysctl.html";

const CONGESTION_CONTROL: &str = "net.ipv4.tcp_congestion_control";

/// A sysctl: its name, the value that is tried, and why it may matter.
const VALUES: [(&str, &str, &str); 2] = [
    (
        "net.ipv4.tcp_notsent_lowat",
        "131072",
        "fewer bytes wait in the socket, which takes less memory and more wake-ups",
    ),
    (
        "net.ipv4.tcp_wmem",
        "4096 131072 16777216",
        "a larger buffer takes a whole response in one call, so that the worker need not come \
         back for the rest",
    ),
];

/// Every congestion control that may be used other than the present one, and the other values.
pub(crate) fn offers(facts: &Facts) -> Vec<Offer> {
    let present = facts.sysctl(CONGESTION_CONTROL);
    let controls = facts.congestion_controls.iter();
    let mut offers: Vec<Offer> = controls
        .filter(|control| present != Some(control.as_str()))
        .map(|control| {
            let reason = "how packets are paced and how many are under way decides how often the \
                          sender is woken, and what sendfile() and TLS cost with it";
            offer(facts, CONGESTION_CONTROL, control, reason)
        })
        .collect();
    let differs = |(name, value, _): &&(&str, &str, &str)| {
        facts.sysctl(name).is_none_or(|present| !is_same(present, value))
    };
    let values = VALUES.iter().filter(differs);
    offers.extend(values.map(|(name, value, reason)| offer(facts, name, value, reason)));
    offers
}

fn offer(facts: &Facts, name: &str, value: &str, reason: &str) -> Offer {
    Offer::Try(Candidate {
        name: format!("sysctl {name}={value}"),
        present: facts.sysctl_in_words(name),
        change: Change::Sysctl { name: name.to_owned(), value: value.to_owned() },
        reason: reason.to_owned(),
        reference: REFERENCE.to_owned(),
    })
}

/// Whether two values are the same numbers or words: /proc separates them by tabs.
fn is_same(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}
