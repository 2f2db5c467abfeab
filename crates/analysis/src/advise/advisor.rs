//! The quantities of a row: its cost, and by how much that is less than today's.

use super::asked::Asked;
use super::figures::{Encrypted, Sampled, Values};
use super::log::{Log, at, observed};
use super::model::{Compared, PathAdvice, PathVerdict, TlsWay};
use super::path_costs::PathCosts;
use super::rows::{Encryption, Parts, Row};
use super::tls::{TlsCosts, Way};
use super::verdict::{self, Judged, Saving};
use crate::model::figure::Figure;
use crate::price::{Price, money_per_month};

/// Inputs common to all rows.
pub(super) struct Advisor<'a> {
    pub(super) log: &'a Log<'a>,
    /// The place of the busiest minute.
    pub(super) busiest: Option<usize>,
    pub(super) asked: Option<Asked>,
    pub(super) price: Option<&'a Price>,
    pub(super) sampled: &'a Sampled,
    pub(super) tls: Option<&'a TlsCosts>,
    pub(super) encryption: Option<&'a Encryption>,
    /// Criteria by which paths are judged; `None` for a host, of which no verdict is asked.
    pub(super) judged: Option<&'a Judged>,
    /// Criteria where another way of encrypting is compared.
    pub(super) judged_ways: Option<&'a Judged>,
}

/// The responses that a quantity is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Minute(usize),
}

impl Part {
    fn costs(self, of: &PathCosts) -> &[Option<f64>] {
        match self {
            Self::All => &of.all,
            Self::Minute(minute) => &of.minutes[minute],
        }
    }

    fn encryption(self, of: &Encryption, way: usize) -> &[Option<f64>] {
        match self {
            Self::All => &of.all[way],
            Self::Minute(minute) => &of.minutes[minute][way],
        }
    }

    fn of(self, parts: &Parts) -> f64 {
        match self {
            Self::All => parts.all,
            Self::Minute(minute) => parts.minutes.get(minute).copied().unwrap_or(0.0),
        }
    }
}

/// A factor that depends on the resample.
type By<'f> = &'f dyn Fn(usize) -> f64;

impl Advisor<'_> {
    /// The rows that have costs; `today` is the place of today's.
    pub(super) fn rows(&self, rows: &[Option<Row>], today: usize) -> Vec<PathAdvice> {
        let of_today = rows.get(today).and_then(Option::as_ref);
        let advised = rows.iter().enumerate().filter_map(|(place, row)| {
            self.advice(row.as_ref()?, of_today.filter(|_| place != today))
        });
        advised.collect()
    }

    /// A row's quantities. `today` is `None` for the row of today.
    pub(super) fn advice(&self, row: &Row, today: Option<&Row>) -> Option<PathAdvice> {
        let compared = |part: Part, by: By<'_>| self.compared(row, today, part, by);
        let of_span = |_| 1e-9 / self.log.span_s;
        let per_request = |resample| 1.0 / at(&self.log.requests, resample);
        let per_byte = |resample| 1.0 / at(&self.log.bytes, resample);
        let cores = compared(Part::All, &of_span)?;
        let asked_cores = self.of_asked_rate().and_then(|by| compared(Part::All, &by));
        let money = self.price.map(|price| {
            let of = |cores: &Figure| money_per_month(cores, price.per_core_hour);
            let Compared { value, saved } = asked_cores.unwrap_or(cores);
            Compared { value: of(&value), saved: saved.map(|saved| of(&saved)) }
        });
        Some(PathAdvice {
            path: row.name.clone(),
            today: today.is_none(),
            us_per_request: compared(Part::All, &|resample| per_request(resample) / 1e3)?,
            us_per_mb: compared(Part::All, &|resample| per_byte(resample) * 1e3),
            cores,
            busiest_cores: self
                .busiest
                .and_then(|minute| compared(Part::Minute(minute), &|_| 1.0 / 60e9)),
            asked_cores,
            money_per_month: money,
            verdict: self.verdict(row, today),
        })
    }

    /// Cores at the rate that was asked for, of ns for the whole log.
    fn of_asked_rate(&self) -> Option<impl Fn(usize) -> f64> {
        let (per_s, of_log) = match self.asked? {
            Asked::Requests(per_s) => (per_s, &self.log.requests),
            Asked::Bytes(per_s) => (per_s, &self.log.bytes),
        };
        Some(move |resample| 1.0 / at(of_log, resample) * per_s / 1e9)
    }

    fn compared(&self, row: &Row, today: Option<&Row>, part: Part, by: By<'_>) -> Option<Compared> {
        let value = values(part.costs(&row.costs), by)?;
        let added = row.way.map_or(0.0, |way| self.encrypted(way, part, by).added);
        let saved = today.and_then(|today| {
            let values = saved(part.costs(&today.costs), part.costs(&row.costs), by)?;
            let other = self.other_way(row, today, part, by);
            let path = part.of(&row.clear) * by(0);
            Some(self.sampled.saving(&values, path, other, self.sampled.level))
        });
        Some(Compared { value: self.sampled.cost(&value, added), saved })
    }

    /// Encryption of some responses by a way, as observed.
    fn encrypted(&self, way: usize, part: Part, by: By<'_>) -> Encrypted {
        let (Some(encryption), Some(tls)) = (self.encryption, self.tls) else {
            return Encrypted::default();
        };
        let added = observed(part.encryption(encryption, way)).unwrap_or(0.0);
        Encrypted {
            added: added * by(0),
            whole: part.of(&encryption.bytes) * tls.ways[way].whole_ns * by(0),
        }
    }

    /// Encryption that a saving is about, where a row encrypts in another way than today's.
    fn other_way(&self, row: &Row, today: &Row, part: Part, by: By<'_>) -> Option<Encrypted> {
        let (way, of_today) = row.way.zip(today.way).filter(|(way, other)| way != other)?;
        let own = self.encrypted(way, part, by);
        let added = self.encrypted(of_today, part, by).added - own.added;
        Some(Encrypted { added: added.abs(), ..own })
    }

    fn verdict(&self, row: &Row, today: Option<&Row>) -> Option<PathVerdict> {
        let (today, judged) = (today?, self.judged?);
        let by: By<'_> = &|_| 1e-9 / self.log.span_s;
        let (of_today, of_row) = (&today.costs, &row.costs);
        let cost = |row: &Row| values(&row.costs.all, by).map_or(0.0, |values| values.observed);
        let other = self.other_way(row, today, Part::All, by);
        // Responses over TLS cost the same by both, unless they are encrypted in another way, and
        // are in no comparison.
        let compared = |row: &Row| match other {
            Some(_) => cost(row),
            None => row.clear.all * by(0),
        };
        if row.way.is_some() && other.is_none() && compared(row) == 0.0 && compared(today) == 0.0 {
            return Some(PathVerdict::NothingToSave);
        }
        let judged = self.judged_ways.filter(|_| other.is_some()).unwrap_or(judged);
        Some(verdict::verdict(
            judged,
            self.sampled,
            &Saving {
                saved: saved(&of_today.all, &of_row.all, by).as_ref(),
                within: saved(&of_today.within, &of_row.within, by).as_ref(),
                today: compared(today),
                path: compared(row),
                encrypted: other,
                all_of_today: cost(today),
            },
        ))
    }

    /// What a way of encrypting adds, to a byte and in all.
    pub(super) fn way(&self, place: usize, way: &Way, of_run: &Sampled) -> Option<TlsWay> {
        let encryption = self.encryption?;
        let each = way.added_ns.iter().map(|ns| ns.map(|ns| ns * 1024.0));
        let cores = |part: Part, by: By<'_>| {
            let values = values(part.encryption(encryption, place), by)?;
            Some(self.sampled.encryption(&values))
        };
        let of_span = |_| 1e-9 / self.log.span_s;
        Some(TlsWay {
            path: way.path.to_string(),
            clear: way.clear.to_string(),
            added_ns_per_kib: of_run.encryption(&Values::from_resamples(each)?),
            cores: cores(Part::All, &of_span)?,
            busiest_cores: self
                .busiest
                .and_then(|minute| cores(Part::Minute(minute), &|_| 1.0 / 60e9)),
            asked_cores: self.of_asked_rate().and_then(|by| cores(Part::All, &by)),
        })
    }
}

/// Costs times a factor that depends on the resample.
fn values(ns: &[Option<f64>], by: By<'_>) -> Option<Values> {
    Values::from_resamples(ns.iter().enumerate().map(|(at, ns)| Some((*ns)? * by(at))))
}

/// Today's costs minus one row's, in the same resamples.
fn saved(today: &[Option<f64>], row: &[Option<f64>], by: By<'_>) -> Option<Values> {
    let pairs = std::iter::zip(today, row).enumerate();
    Values::from_resamples(pairs.map(|(at, (today, row))| Some(((*today)? - (*row)?) * by(at))))
}
