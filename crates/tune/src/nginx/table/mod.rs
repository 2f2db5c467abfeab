//! The table of candidates: which lines are worth a try in a configuration, and which cannot be
//! tried here.
//!
//! Defaults are nginx's, per <https://nginx.org/en/docs/>. A line is tried the other way round
//! where the configuration has it already, and left out where it would change nothing.

mod connections;
mod context;
mod files;
mod ktls;
mod ktls_option;
mod left_out;
mod listen;
mod logging;
mod need;
#[cfg(test)]
mod tests;
mod tls;

use super::tree::Config;
use crate::candidate::{Facts, Offer};
use crate::site::Site;
use crate::sysctls;
use context::Context;

/// The candidates for a site, in the order of the table, and what is not tried.
pub fn candidates(config: &Config, site: &Site, facts: &Facts) -> Vec<Offer> {
    let context = Context::new(config, site, facts);
    let of_tls = if context.is_https { tls::ENTRIES } else { &[] };
    let entries = [files::ENTRIES, of_tls, connections::ENTRIES].into_iter().flatten();
    let mut offers: Vec<Offer> = entries.flat_map(|entry| entry.offers(&context)).collect();
    offers.extend(context.is_https.then(|| ktls::offer(&context)));
    offers.extend(listen::offers(&context));
    offers.extend(logging::offers(&context));
    offers.extend(sysctls::offers(facts));
    offers.extend(left_out::offers());
    offers
}
