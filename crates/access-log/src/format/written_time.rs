//! A time as strftime(3) writes it, by Apache's `%{format}t`. One time may be in several fields:
//! `[%{%d/%b/%Y %T}t.%{msec_frac}t %{%z}t]`.

use jiff::civil::{DateTime, datetime};
use jiff::fmt::strtime::{self, BrokenDownTime};
use jiff::tz::TimeZone;

use super::error::FormatError;
use crate::time::Moment;

/// Between the fields of a time when they are read together.
const BETWEEN: u8 = b'|';

/// The form of a written time: the descriptions of its fields, with [`BETWEEN`] behind each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrittenTime {
    described: String,
}

impl WrittenTime {
    /// The time that is written by these descriptions, each in a field of its own.
    ///
    /// # Errors
    /// One of them cannot be read, or all together do not tell day and second.
    pub(super) fn described(fields: &[&str]) -> Result<Self, FormatError> {
        let probe: DateTime = datetime(2015, 5, 17, 22, 5, 3, 0);
        let zoned = probe.to_zoned(TimeZone::UTC).map_err(|_| FormatError::Lacks("the time"))?;
        let (mut described, mut text) = (String::new(), Vec::new());
        for field in fields {
            let written = strtime::format(field, &zoned)
                .ok()
                .filter(|written| BrokenDownTime::parse(field, written).is_ok())
                .ok_or_else(|| FormatError::Unknown(format!("%{{{field}}}t")))?;
            described.push_str(field);
            described.push(char::from(BETWEEN));
            Self::add(&mut text, written.as_bytes());
        }
        let time = Self { described };
        match time.read(&text) {
            Some(moment) if moment.unix_s() == zoned.timestamp().as_second() => Ok(time),
            _ => Err(FormatError::Lacks("day, year or second of the time")),
        }
    }

    /// Whether this text is written by the description of one field.
    pub(super) fn is_one(described: &str, text: &[u8]) -> bool {
        BrokenDownTime::parse(described, text).is_ok()
    }

    /// Adds the text of a field to those before it.
    pub(super) fn add(texts: &mut Vec<u8>, text: &[u8]) {
        texts.extend_from_slice(text);
        texts.push(BETWEEN);
    }

    /// The time of the texts of all fields.
    pub(super) fn read(&self, texts: &[u8]) -> Option<Moment> {
        let time = BrokenDownTime::parse(&self.described, texts).ok()?;
        if let Ok(timestamp) = time.to_timestamp() {
            let offset_s = time.offset().map_or(0, |offset| offset.seconds());
            let moment = Moment::utc(timestamp.as_millisecond())?;
            return Some(Moment { offset_s: Some(offset_s), ..moment });
        }
        let utc = time.to_datetime().ok()?.to_zoned(TimeZone::UTC).ok()?;
        let moment = Moment::utc(utc.timestamp().as_millisecond())?;
        Some(Moment { offset_s: None, ..moment })
    }
}
