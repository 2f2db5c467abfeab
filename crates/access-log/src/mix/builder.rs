//! Counts entries into a request mix.

use std::collections::BTreeMap;

use super::classes::Classes;
use super::minutes::OpenMinutes;
use super::request_mix::{Counts, Durations, RequestMix};
use super::sizes::Sizes;
use super::slices::Slices;
use super::tally::Tally;
use super::tls::Tls;
use crate::entry::{Class, Counted, Entry, Method, Protocol, Stamp};
use crate::reader::Collect;

/// A request mix that is being counted. Entries may come in any order, from any number of logs.
#[derive(Debug)]
pub struct MixBuilder {
    first_unix_s: i64,
    last_unix_s: i64,
    counted: Counts,
    /// Responses by status, from 0 (none) to 999.
    statuses: Box<[Tally]>,
    methods: [Tally; Method::ALL.len()],
    protocols: [Tally; Protocol::ALL.len()],
    hours: [Tally; 24],
    minutes: OpenMinutes,
    durations: Option<Durations>,
    without_zone: u64,
    tls: Tls,
    slices: Slices,
}

impl Default for MixBuilder {
    fn default() -> Self {
        Self {
            first_unix_s: i64::MAX,
            last_unix_s: i64::MIN,
            counted: Counts::default(),
            statuses: vec![Tally::default(); 1000].into(),
            methods: Default::default(),
            protocols: Default::default(),
            hours: Default::default(),
            minutes: OpenMinutes::default(),
            durations: None,
            without_zone: 0,
            tls: Tls::default(),
            slices: Slices::new(),
        }
    }
}

impl Collect for MixBuilder {
    /// Counts an entry. One without a size counts as 0 bytes, in a class of its own.
    fn add(&mut self, entry: &Entry, stamp: Stamp) {
        let size = entry.bytes.size();
        let size_bytes = size.map_or(0, |(size_bytes, _)| size_bytes);
        let class = entry.class();
        let unix_s = entry.time.unix_s();
        self.first_unix_s = self.first_unix_s.min(unix_s);
        self.last_unix_s = self.last_unix_s.max(unix_s);
        if let Some((_, counted)) = size {
            self.count_bytes(entry, class, size_bytes, counted);
        }
        let is_tls = entry.is_tls.or_else(|| entry.protocol.and_then(Protocol::is_tls));
        self.tls.add(is_tls, size_bytes);
        let status = usize::from(entry.status.unwrap_or(0));
        if let Some(status) = self.statuses.get_mut(status) {
            status.add(size_bytes);
        }
        self.methods[entry.method as usize].add(size_bytes);
        if let Some(protocol) = entry.protocol {
            self.protocols[protocol as usize].add(size_bytes);
        }
        self.hours[entry.time.hour()].add(size_bytes);
        self.without_zone += u64::from(entry.time.offset_s.is_none());
        self.slices.add(unix_s, class, is_tls, size_bytes);
        self.minutes.add(unix_s, size_bytes);
        if let Some(duration_us) = entry.duration_us {
            self.add_duration(entry.time.unix_ms, duration_us, stamp);
        }
    }
}

impl MixBuilder {
    fn count_bytes(&mut self, entry: &Entry, class: Class, size_bytes: u64, counted: Counted) {
        let tally = match counted {
            Counted::Body => &mut self.counted.body,
            Counted::Wire => &mut self.counted.wire,
            Counted::Unsaid => &mut self.counted.unsaid,
        };
        tally.add(size_bytes);
        if let (Some(body), Some(wire)) = (entry.bytes.body, entry.bytes.wire) {
            self.counted.headers.add(wire.saturating_sub(body));
        }
        if counted == Counted::Unsaid && matches!(class, Class::NotModified | Class::Head) {
            match size_bytes {
                0 => self.counted.bodiless_without_bytes += 1,
                _ => self.counted.bodiless_with_bytes += 1,
            }
        }
    }

    fn add_duration(&mut self, unix_ms: i64, duration_us: u64, stamp: Stamp) {
        let durations = self.durations.get_or_insert(Durations { requests: 0, sum_us: 0 });
        durations.requests += 1;
        durations.sum_us = durations.sum_us.saturating_add(duration_us);
        let unix_us = unix_ms.saturating_mul(1000);
        let begin_unix_us = match stamp {
            Stamp::Begin => unix_us,
            Stamp::End => unix_us.saturating_sub_unsigned(duration_us),
        };
        self.minutes.add_duration(begin_unix_us, duration_us);
    }

    /// The mix; `None` if nothing was counted.
    pub fn finish(self) -> Option<RequestMix> {
        let minutes = self.minutes.finish()?;
        let (slices, slice_s) = self.slices.finish();
        let mut sizes = Classes::<Sizes>::default();
        slices.iter().for_each(|slice| sizes.merge(&slice.sizes));
        let mut classes = Classes::<Tally>::default();
        Class::ALL.iter().for_each(|class| *classes.get_mut(*class) = sizes.get(*class).total());
        let mut all = Tally::default();
        Class::ALL.iter().for_each(|class| all.merge(*classes.get(*class)));
        let statuses = self.statuses.iter().enumerate().skip(1);
        let statuses = statuses.map(|(status, tally)| (status as u16, *tally));
        Some(RequestMix {
            first_unix_s: self.first_unix_s,
            last_unix_s: self.last_unix_s,
            all,
            counted: self.counted,
            classes,
            sizes,
            statuses: statuses.filter(|(_, tally)| tally.requests > 0).collect(),
            methods: named(Method::ALL.map(Method::name), self.methods),
            protocols: named(Protocol::ALL.map(Protocol::name), self.protocols),
            hours: self.hours.to_vec(),
            minutes,
            durations: self.durations,
            without_zone: self.without_zone,
            tls: self.tls,
            slice_s,
            slices,
        })
    }
}

/// The tallies that are not empty, by name.
fn named<const N: usize>(
    names: [&'static str; N],
    tallies: [Tally; N],
) -> BTreeMap<&'static str, Tally> {
    names.into_iter().zip(tallies).filter(|(_, tally)| tally.requests > 0).collect()
}
