//! The table of candidates of Apache: which lines are worth a try in a configuration, and which
//! cannot be tried here.
//!
//! Defaults are those of <https://httpd.apache.org/docs/2.4/mod/directives.html>. A line is tried
//! the other way round where the configuration has it already.

mod connections;
mod context;
mod files;
mod folders;
mod left_out;
mod logging;
mod need;
#[cfg(test)]
mod tests;
mod tls;

use super::tree::Config;
use crate::candidate::Offer;
use crate::site::Site;
use context::Context;

/// The candidates for a site, in the order of the table, and what is not tried.
pub fn candidates(config: &Config, site: &Site) -> Vec<Offer> {
    let context = Context::new(config, site);
    let of_tls = if context.is_https { tls::ENTRIES } else { &[] };
    let entries = [files::ENTRIES, of_tls, connections::ENTRIES].into_iter().flatten();
    let mut offers: Vec<Offer> = entries.flat_map(|entry| entry.offers(&context)).collect();
    offers.extend(folders::offers(&context));
    offers.extend(logging::offers(&context));
    offers.extend(left_out::offers(&context));
    offers
}
