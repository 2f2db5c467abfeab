//! JSON lines: an object for each request, of which a few keys are read. `dialects.rs` has the keys
//! and their units for servers that choose the names themselves; others are set by `Fields`.

mod dialects;
mod duration;
mod fields;
mod key;
mod object;

use super::reading::{DurationUnit, Reading};
use super::scheme;
use crate::entry::{Bytes, Entry, Method, Protocol, Stamp};
use crate::time::Moment;
use crate::{number, request, time};
pub(super) use dialects::{Dialect, caddy, common_names, envoy, google_cloud, nginx, traefik};
use duration::Unit;
pub use fields::Fields;
use key::{Key, Role};
use object::Scalar;

/// Reads lines by keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Json {
    /// If several of one role are there, the first counts. Those that were named come first.
    keys: Vec<Key>,
    pub(super) stamp: Stamp,
    /// Whether the unit of durations is a setting of the server.
    has_any_unit: bool,
    /// The keys that were named, as they were, and whether a line had a value for them.
    named: Vec<(String, bool)>,
    pub(super) durations: DurationUnit,
}

impl Json {
    pub(super) fn new(dialect: Dialect) -> Self {
        let Dialect { keys, stamp, has_any_unit } = dialect;
        let keys = keys.iter().map(|(path, role)| Key { path: (*path).to_owned(), role: *role });
        Self {
            keys: keys.collect(),
            stamp,
            has_any_unit,
            named: Vec::new(),
            durations: DurationUnit::OfFormat,
        }
    }

    /// Takes these keys before those that are known, for what they are of.
    pub(super) fn prepend_keys(&mut self, fields: &Fields) {
        let keys = fields.keys();
        // Bytes that were named count alone.
        let is_bytes = |role| matches!(role, Role::Bytes(_));
        if keys.iter().any(|key| is_bytes(key.role)) {
            self.keys.retain(|key| !is_bytes(key.role));
        }
        self.has_any_unit &= !keys.iter().any(|key| matches!(key.role, Role::Duration { .. }));
        self.keys.splice(0..0, keys.iter().cloned());
        self.named = fields.texts().map(|text| (text.to_owned(), false)).collect();
    }

    /// Finds the unit of durations by the first lines, where it is a setting.
    pub(super) fn detect_unit(&mut self, lines: &[&[u8]]) {
        let is_duration = |key: &Key| matches!(key.role, Role::Duration { .. });
        let Some(key) = self.keys.iter().find(|key| is_duration(key)).filter(|_| self.has_any_unit)
        else {
            return;
        };
        let key = std::slice::from_ref(key);
        let values: Vec<Scalar<'_>> = lines
            .iter()
            .filter_map(|line| object::scalars(line, key)?.pop()?)
            .filter(|value| duration::us(value, u64::pow(10, 9)) != Some(0))
            .collect();
        let unit_ns = match duration::unit(values.iter()) {
            Unit::Seconds => return,
            Unit::Milliseconds => {
                self.durations = DurationUnit::Found("ms");
                1_000_000
            }
            Unit::Nanoseconds => {
                self.durations = DurationUnit::Found("ns");
                1
            }
            Unit::Doubtful => {
                self.durations = DurationUnit::Doubtful;
                self.keys.retain(|key| !is_duration(key));
                return;
            }
        };
        for key in self.keys.iter_mut().filter(|key| is_duration(key)) {
            key.role = Role::Duration { unit_ns };
        }
    }

    /// The named keys without a value on any line.
    pub(super) fn without_value(&self) -> Vec<String> {
        self.named
            .iter()
            .filter(|(_, has_value)| !has_value)
            .map(|(text, _)| text.clone())
            .collect()
    }

    /// Reads a line.
    pub(super) fn read(&mut self, line: &[u8]) -> Reading {
        self.entry(line).map_or(Reading::Unreadable, Reading::Entry)
    }

    fn entry(&mut self, line: &[u8]) -> Option<Entry> {
        let found = object::scalars(line, &self.keys)?;
        let (mut time, mut method, mut protocol, mut status) = (None, None, None, None);
        let (mut bytes, mut dash, mut duration_us) = (Bytes::default(), None, None);
        let (mut is_tls, mut of_connection) = (None, None);
        for (place, (key, value)) in self.keys.iter().zip(&found).enumerate() {
            let Some(value) = value else { continue };
            let text = value.text();
            let text = text.as_bytes();
            let mut has_value = true;
            match key.role {
                Role::Time if time.is_none() => time = Some(moment(value)?),
                Role::Status if status.is_none() => status = Some(number::status(text)?),
                Role::Method if method.is_none() => method = Some(Method::from_name(text)),
                Role::Request if method.is_none() => {
                    let (of, version) = request::parts(text);
                    method = Some(of);
                    protocol = protocol.or(version);
                }
                Role::Protocol if protocol.is_none() => protocol = Protocol::from_name(text),
                Role::Bytes(counted) if bytes.field_mut(counted).is_none() => match text {
                    b"-" => dash = dash.or(Some(counted)),
                    text => *bytes.field_mut(counted) = Some(number::bytes(text)?),
                },
                Role::Duration { unit_ns } if duration_us.is_none() => {
                    duration_us = duration::us(value, unit_ns);
                    has_value = duration_us.is_some();
                }
                Role::OfTls if is_tls.is_none() => {
                    is_tls = Some(!matches!(text, b"" | b"-" | b"off"));
                }
                Role::Scheme if is_tls.is_none() => is_tls = scheme::is_tls(text),
                Role::OfConnection => of_connection = number::parse_u64(text),
                _ => {}
            }
            if let Some((_, named_has_value)) = self.named.get_mut(place) {
                *named_has_value |= has_value;
            }
        }
        let (method, status) = (method?, status?);
        match dash {
            Some(counted) => bytes.set_dash(counted, method, status),
            None => _ = bytes.size()?,
        }
        let time = time?;
        Some(Entry { time, method, status, bytes, duration_us, protocol, is_tls, of_connection })
    }
}

fn moment(value: &Scalar<'_>) -> Option<Moment> {
    match value {
        // A float has no more digits than it needs, so that seconds keep their fraction.
        Scalar::Float(_) | Scalar::Unsigned(_) => time::epoch(value.text().as_bytes()),
        Scalar::Text(text) => {
            let text = text.trim_matches(['[', ']']).as_bytes();
            time::iso(text).or_else(|| time::clf(text)).or_else(|| time::epoch(text))
        }
        Scalar::Other => None,
    }
}
