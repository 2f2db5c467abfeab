//! Times as logs have them: the common log format's `17/May/2015:10:05:03 +0000`, ISO 8601, and
//! seconds since 1970.

use jiff::civil::DateTime;
use jiff::tz::Offset;

use super::number::{parse_u64, scaled, two_digits};

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Since 1970-01-01T00:00Z without leap seconds, in ms.
    pub unix_ms: i64,
    /// The offset of the server's clock from UTC, in s. `None`: the log has no zone, and the time
    /// was read as if it were UTC.
    pub offset_s: Option<i32>,
}

/// The last moment that is accepted: a day before the end of the year 9999, so that it has a date
/// in every zone.
const LAST_MS: i64 = 253_402_207_199_999;

impl Moment {
    /// A moment of a clock that runs in UTC, of the years 1970 to 9999.
    pub(crate) fn utc(unix_ms: i64) -> Option<Self> {
        (0..=LAST_MS).contains(&unix_ms).then_some(Self { unix_ms, offset_s: Some(0) })
    }

    /// The hour that the server's clock showed, from 0 to 23.
    pub fn hour(&self) -> usize {
        let local_ms = self.unix_ms + i64::from(self.offset_s.unwrap_or(0)) * 1000;
        (local_ms.div_euclid(3_600_000)).rem_euclid(24) as usize
    }

    /// Seconds since 1970.
    pub fn unix_s(&self) -> i64 {
        self.unix_ms.div_euclid(1000)
    }
}

/// The length of a time in the common log format, without its zone.
const CLF_LOCAL_LENGTH: usize = "17/May/2015:10:05:03".len();

/// The length of the time with its zone that a text begins with, `17/May/2015:10:05:03 +0000` or
/// with a fraction behind the second; `None` if the text is shorter.
pub(crate) fn clf_length(text: &[u8]) -> Option<usize> {
    let (_, rest) = text.split_at_checked(CLF_LOCAL_LENGTH)?;
    let is_of_fraction = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let fraction = rest.iter().position(|byte| !is_of_fraction(byte))?;
    Some(CLF_LOCAL_LENGTH + fraction + " +0000".len())
}

/// A time in the common log format (strftime(3): `%d/%b/%Y:%H:%M:%S %z`). HAProxy writes a fraction
/// and no zone.
pub(crate) fn clf(text: &[u8]) -> Option<Moment> {
    let (local, rest) = text.split_at_checked(CLF_LOCAL_LENGTH)?;
    let &[d0, d1, b'/', m0, m1, m2, b'/', y0, y1, y2, y3, b':', ref time @ ..] = local else {
        return None;
    };
    let month = match &[m0, m1, m2] {
        b"Jan" => 1,
        b"Feb" => 2,
        b"Mar" => 3,
        b"Apr" => 4,
        b"May" => 5,
        b"Jun" => 6,
        b"Jul" => 7,
        b"Aug" => 8,
        b"Sep" => 9,
        b"Oct" => 10,
        b"Nov" => 11,
        b"Dec" => 12,
        _ => return None,
    };
    let (fraction_ms, rest) = fraction(rest)?;
    let zone = rest.strip_prefix(b" ").map_or((rest.is_empty()).then_some(None), zone)?;
    moment([y0, y1, y2, y3], month, two_digits(&[d0, d1])?, time, fraction_ms, zone)
}

/// A date and a time of ISO 8601 with `T` or a space between them; without a zone it is read as
/// UTC.
pub(crate) fn iso(text: &[u8]) -> Option<Moment> {
    let (local, rest) = text.split_at_checked("2015-05-17T10:05:03".len())?;
    let &[y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1, b'T' | b' ', ref time @ ..] = local else {
        return None;
    };
    let (fraction_ms, rest) = fraction(rest)?;
    let zone = if rest.is_empty() { None } else { zone(rest)? };
    moment(
        [y0, y1, y2, y3],
        two_digits(&[m0, m1])?,
        two_digits(&[d0, d1])?,
        time,
        fraction_ms,
        zone,
    )
}

/// Seconds since 1970 with decimals; larger numbers are ms, us or ns. All of these are between 1973
/// and 5138 by one reading alone.
pub(crate) fn epoch(text: &[u8]) -> Option<Moment> {
    let digits = memchr::memchr(b'.', text).unwrap_or(text.len());
    let unix_ms = match digits {
        0..=11 => scaled(text, 1000)?,
        12..=14 => parse_u64(&text[..digits])?,
        15..=17 => parse_u64(&text[..digits])? / 1000,
        _ => parse_u64(&text[..digits])? / 1_000_000,
    };
    Moment::utc(unix_ms.try_into().ok()?)
}

/// `.655` as ms, and what comes after it.
fn fraction(text: &[u8]) -> Option<(u64, &[u8])> {
    let Some(fraction) = text.strip_prefix(b".") else { return Some((0, text)) };
    let end = fraction.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(fraction.len());
    let (digits, rest) = text.split_at(end + 1);
    (end > 0).then(|| scaled(&[b"0", digits].concat(), 1000))?.map(|ms| (ms, rest))
}

/// `+0200`, `+02:00`, `Z`, as an offset in s.
fn zone(text: &[u8]) -> Option<Option<i32>> {
    let (sign, hours, minutes) = match text {
        b"Z" | b"z" => return Some(Some(0)),
        [sign, h0, h1, m0, m1] | [sign, h0, h1, b':', m0, m1] => (sign, [*h0, *h1], [*m0, *m1]),
        _ => return None,
    };
    let sign = match sign {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    Some(Some(
        sign * (i32::from(two_digits(&hours)?) * 3600 + i32::from(two_digits(&minutes)?) * 60),
    ))
}

/// A date, `10:05:03`, and an offset; `None` if there is no such day or time.
fn moment(
    year: [u8; 4],
    month: i8,
    day: i8,
    time: &[u8],
    fraction_ms: u64,
    offset_s: Option<i32>,
) -> Option<Moment> {
    let &[h0, h1, b':', m0, m1, b':', s0, s1] = time else { return None };
    let year = i16::try_from(parse_u64(&year)?).ok()?;
    // A leap second is the second before it, as for the kernel's clock.
    let second = two_digits(&[s0, s1])?;
    let second = if second == 60 { 59 } else { second };
    let local =
        DateTime::new(year, month, day, two_digits(&[h0, h1])?, two_digits(&[m0, m1])?, second, 0)
            .ok()?;
    let offset = Offset::from_seconds(offset_s.unwrap_or(0)).ok()?;
    let unix_s = offset.to_timestamp(local).ok()?.as_second();
    let unix_ms = unix_s.checked_mul(1000)?.checked_add_unsigned(fraction_ms)?;
    (0..=LAST_MS).contains(&unix_ms).then_some(Moment { unix_ms, offset_s })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(unix_ms: i64, offset_s: Option<i32>) -> Option<Moment> {
        Some(Moment { unix_ms, offset_s })
    }

    #[test]
    fn times_are_as_date_1_has_them() {
        // date -ud '2015-05-17 10:05:03' +%s
        let second = 1_431_857_103;
        assert_eq!(clf(b"17/May/2015:10:05:03 +0000"), at(second * 1000, Some(0)));
        assert_eq!(clf(b"17/May/2015:12:05:03 +0200"), at(second * 1000, Some(7200)));
        assert_eq!(clf(b"17/May/2015:04:35:03 -0530"), at(second * 1000, Some(-19_800)));
        assert_eq!(clf(b"17/May/2015:10:05:03.655"), at(second * 1000 + 655, None));
        assert_eq!(iso(b"2015-05-17T10:05:03Z"), at(second * 1000, Some(0)));
        assert_eq!(iso(b"2015-05-17T12:05:03.1234567+02:00"), at(second * 1000 + 123, Some(7200)));
        assert_eq!(iso(b"2015-05-17 10:05:03"), at(second * 1000, None));
        assert_eq!(epoch(b"1431857103.655"), at(second * 1000 + 655, Some(0)));
        assert_eq!(epoch(b"1431857103655"), at(second * 1000 + 655, Some(0)));
        assert_eq!(epoch(b"1431857103655000000"), at(second * 1000 + 655, Some(0)));
        assert_eq!(clf(b"31/Dec/2016:23:59:60 +0000"), clf(b"31/Dec/2016:23:59:59 +0000"));
    }

    #[test]
    fn the_hour_that_comes_twice_is_told_apart_by_its_zone() {
        // Europe/Berlin, 25 October 2015: 02:30 CEST, and an hour later 02:30 CET.
        let summer = clf(b"25/Oct/2015:02:30:00 +0200").unwrap();
        let winter = clf(b"25/Oct/2015:02:30:00 +0100").unwrap();
        assert_eq!(winter.unix_ms - summer.unix_ms, 3_600_000);
        assert_eq!((summer.hour(), winter.hour()), (2, 2));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for none in [
            "",
            "-",
            "30/Feb/2015:10:05:03 +0000",
            "17/Mai/2015:10:05:03 +0000",
            "17/May/2015:24:05:03 +0000",
            "17/May/2015:10:05:03 0000",
            "17/May/2015:10:05:03 +00",
            "17/May/2015:10:05:03 +9900",
            "17/May/1969:10:05:03 +0000",
            "17/May/2015:10:05:03.",
            "2015-05-17T10:05",
            "2015-13-17T10:05:03Z",
        ] {
            assert_eq!(clf(none.as_bytes()).or(iso(none.as_bytes())), None, "{none:?}");
        }
        for none in ["", "-", "-1", "1e9", "99999999999999999999", "nan"] {
            assert_eq!(epoch(none.as_bytes()), None, "{none:?}");
        }
    }

    proptest! {
        #[test]
        fn every_second_is_found_again(second in 0..LAST_MS / 1000, quarters in -48..=56_i32) {
            let offset = Offset::from_seconds(quarters * 900).unwrap();
            let local = offset.to_datetime(jiff::Timestamp::from_second(second).unwrap());
            prop_assume!((1970..=9999).contains(&local.year()));
            let utc = jiff::Timestamp::from_second(second).unwrap();
            let zoned = utc.to_zoned(offset.to_time_zone());
            let text = zoned.strftime("%d/%b/%Y:%H:%M:%S %z").to_string();
            let expected = at(second * 1000, Some(quarters * 900));
            prop_assert_eq!(clf(text.as_bytes()), expected);
            let text = zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
            prop_assert_eq!(iso(text.as_bytes()), expected);
        }

        #[test]
        fn whatever_it_is_it_is_a_time_or_none(bytes: Vec<u8>) {
            let _ = (clf(&bytes), iso(&bytes), epoch(&bytes));
        }
    }
}
