//! JSON lines: an object for each request, of which a few keys are taken. Which ones, and in which
//! units, is in `dialects.rs` for servers that choose the names themselves; others are set by
//! `Fields`.

mod dialects;
mod key;
mod object;

use super::reading::Reading;
use crate::entry::{Bytes, Entry, Method, Protocol, Stamp};
use crate::time::Moment;
use crate::{number, request, time};
pub(super) use dialects::{Dialect, caddy, common_names, envoy, nginx, traefik};
pub(super) use key::{Key, Role};
use object::Scalar;

/// Reads lines by keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Json {
    /// If several of one role are there, the first counts.
    keys: Vec<Key>,
    pub(super) stamp: Stamp,
}

impl Json {
    pub(super) fn new(dialect: Dialect) -> Self {
        let Dialect { keys, stamp } = dialect;
        let keys = keys.iter().map(|(path, role)| Key { path: (*path).to_owned(), role: *role });
        Self { keys: keys.collect(), stamp }
    }

    /// Takes these keys before those that are known, for what they are of.
    pub(super) fn prefer(&mut self, keys: Vec<Key>) {
        // Bytes that were named count alone.
        let is_bytes = |role| matches!(role, Role::Body | Role::Wire | Role::Unsaid);
        if keys.iter().any(|key| is_bytes(key.role)) {
            self.keys.retain(|key| !is_bytes(key.role));
        }
        self.keys.splice(0..0, keys);
    }

    /// Reads a line.
    pub(super) fn read(&self, line: &[u8]) -> Reading {
        self.entry(line).map_or(Reading::Unreadable, Reading::Entry)
    }

    fn entry(&self, line: &[u8]) -> Option<Entry> {
        let found = object::scalars(line, &self.keys)?;
        let (mut time, mut method, mut protocol, mut status) = (None, None, None, None);
        let (mut bytes, mut duration_us) = (Bytes::default(), None);
        for (key, value) in self.keys.iter().zip(&found) {
            let Some(value) = value else { continue };
            match key.role {
                Role::Time if time.is_none() => time = Some(moment(value)?),
                Role::Status if status.is_none() => {
                    status = Some(number::status(value.text().as_bytes())?);
                }
                Role::Method if method.is_none() => {
                    method = Some(Method::of(value.text().as_bytes()));
                }
                Role::Request if method.is_none() => {
                    let (of, version) = request::parts(value.text().as_bytes());
                    method = Some(of);
                    protocol = protocol.or(version);
                }
                Role::Protocol if protocol.is_none() => {
                    protocol = Protocol::of(value.text().as_bytes());
                }
                Role::Body if bytes.body.is_none() => {
                    bytes.body = Some(number::bytes(value.text().as_bytes())?);
                }
                Role::Wire if bytes.wire.is_none() => {
                    bytes.wire = Some(number::bytes(value.text().as_bytes())?);
                }
                Role::Unsaid if bytes.unsaid.is_none() => {
                    bytes.unsaid = Some(number::bytes(value.text().as_bytes())?);
                }
                Role::Duration { unit_ns } if duration_us.is_none() => {
                    duration_us = self::duration_us(value, unit_ns);
                }
                _ => {}
            }
        }
        bytes.size()?;
        Some(Entry { time: time?, method: method?, status: status?, bytes, duration_us, protocol })
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

fn duration_us(value: &Scalar<'_>, unit_ns: u64) -> Option<u64> {
    match value {
        // Below a microsecond Caddy's seconds are written as 1.5e-7.
        Scalar::Float(number) if *number >= 0.0 && *number < 1e12 => {
            Some((number * unit_ns as f64 / 1000.0) as u64)
        }
        Scalar::Unsigned(number) => Some(number.checked_mul(unit_ns)? / 1000),
        Scalar::Text(text) => Some(number::scaled(text.as_bytes(), unit_ns)? / 1000),
        _ => None,
    }
}
