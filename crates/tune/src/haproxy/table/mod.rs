//! The table of candidates of HAProxy: which lines are worth a try in a configuration, and which
//! cannot be tried here.
//!
//! Defaults are those of <https://docs.haproxy.org/2.6/configuration.html>. A line is tried the
//! other way round where the configuration has it already.

mod entries;
mod entry;
#[cfg(test)]
mod tests;

use super::tree::Config;
use crate::candidate::{Facts, Offer};
use crate::site::Site;
use crate::sysctls;
use entry::Context;

/// The candidates for a site, in the order of the table, and what is not tried.
pub fn candidates(config: &Config, site: &Site, facts: &Facts) -> Vec<Offer> {
    let context = Context { config, site };
    let entries = entries::ENTRIES.iter();
    let mut offers: Vec<Offer> = entries.flat_map(|entry| entry.offers(&context)).collect();
    offers.extend(sysctls::offers(facts));
    let not = |(name, why): &(&str, &str)| Offer::Not {
        name: (*name).to_owned(),
        why: (*why).to_owned(),
    };
    offers.extend(entries::LEFT_OUT.iter().map(not));
    offers
}
