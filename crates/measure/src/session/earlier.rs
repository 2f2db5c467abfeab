//! Rates that earlier runs had: two runs one after the other are to be comparable, and costs at two
//! rates are not. A rate that is chosen from measured top speeds may come out different in the next
//! minute.

use std::collections::BTreeMap;

use zc_run::{LinkKind, Severity, Warning};

/// An earlier rate is kept up to this share of what the slowest path can now. Above the share at
/// which rates are chosen: at the boundary between two rates the earlier one is to stay.
const MOST_SHARE: f64 = 0.75;

/// Rates that zc chose in an earlier run on this host.
#[derive(Debug, Clone, PartialEq)]
pub struct EarlierRates {
    /// The name of the file that it is saved in.
    pub file: String,
    /// The link's kind.
    pub link: LinkKind,
    /// Bytes per second by label of the cell.
    pub rates: BTreeMap<String, f64>,
}

/// Rates that are known before top speeds have been looked at, by label of the cell, in bytes per
/// second.
#[derive(Debug, Default)]
pub(super) struct KnownRates {
    pub(super) rates: BTreeMap<String, f64>,
    /// Says where they are from, if nobody gave them.
    pub(super) note: Option<Warning>,
}

impl KnownRates {
    /// Returns the given rates; else those of the newest of `earlier` (newest first) that is of
    /// this link and has all of `cells`, if each can well sustain its own. A cell is its label and
    /// the top speed, in bytes per second, of the slowest of those that share its rate.
    pub(super) fn choose(
        given: &BTreeMap<String, f64>,
        earlier: &[EarlierRates],
        link: LinkKind,
        cells: &[(String, f64)],
    ) -> Self {
        if !given.is_empty() {
            return Self { rates: given.clone(), note: None };
        }
        let has_all = |run: &&EarlierRates| {
            run.link == link && cells.iter().all(|(label, _)| run.rates.contains_key(label))
        };
        let fits = |run: &&EarlierRates| {
            cells.iter().all(|(label, slowest)| {
                let rate = run.rates[label];
                rate > 0.0 && rate <= slowest * MOST_SHARE
            })
        };
        let newest = earlier.iter().find(has_all).filter(fits);
        newest
            .map(|run| Self { rates: run.rates.clone(), note: Some(note(run)) })
            .unwrap_or_default()
    }
}

/// Says whose rate it is.
fn note(run: &EarlierRates) -> Warning {
    let file = zc_run::escape(&run.file, 100);
    let text = format!("the rate is that of \"{file}\", so that the two can be compared");
    Warning::new("earlier-rate", Severity::Note, text)
        .remedy("--rate RATE sets another, and --rate auto chooses anew")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(file: &str, link: LinkKind, rates: &[(&str, f64)]) -> EarlierRates {
        let rates = rates.iter().map(|(label, rate)| ((*label).to_owned(), *rate)).collect();
        EarlierRates { file: file.to_owned(), link, rates }
    }

    fn known(earlier: &[EarlierRates], slowest: f64) -> Option<f64> {
        let cells = [("read+send".to_owned(), slowest), ("sendfile".to_owned(), slowest)];
        let found = KnownRates::choose(&BTreeMap::new(), earlier, LinkKind::Veth, &cells);
        assert_eq!(found.note.is_some(), !found.rates.is_empty());
        found.rates.get("sendfile").copied()
    }

    #[test]
    fn the_newest_run_of_the_same_link_and_cells_gives_the_rate_while_it_has_room() {
        let both = |rate| [("read+send", rate), ("sendfile", rate)];
        let earlier = [
            run("other-link", LinkKind::Null, &both(100e6)),
            run("other-cells", LinkKind::Veth, &[("read+send", 200e6)]),
            run("newest", LinkKind::Veth, &both(800e6)),
            run("older", LinkKind::Veth, &both(400e6)),
        ];
        assert_eq!(known(&earlier, 3e9), Some(800e6));
        // Where a fresh choice would be a lower one.
        assert_eq!(known(&earlier, 1.2e9), Some(800e6));
        // What has no room any more is chosen anew, not taken from an older run.
        assert_eq!(known(&earlier, 1e9), None);
        assert_eq!(known(&[], 3e9), None);
    }

    #[test]
    fn rates_that_were_given_are_taken_whatever_was_earlier() {
        let given = BTreeMap::from([("sendfile".to_owned(), 5e6)]);
        let earlier = [run("newest", LinkKind::Veth, &[("sendfile", 800e6)])];
        let cells = [("sendfile".to_owned(), 1e9)];
        let found = KnownRates::choose(&given, &earlier, LinkKind::Veth, &cells);
        assert!(found.rates == given && found.note.is_none());
    }
}
