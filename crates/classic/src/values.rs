//! Values of the options that several tools have.

use std::ffi::OsStr;
use std::ops::RangeInclusive;

use super::getopt::Letter;
use zc_run::{Error, Result};

/// A whole number in plain digits, within `bounds`.
///
/// # Errors
/// It is not one, or out of bounds. The message begins with the option.
pub(super) fn parse_number(
    letter: Letter,
    what: &str,
    value: Option<&OsStr>,
    bounds: RangeInclusive<u64>,
) -> Result<u64> {
    let text = value.unwrap_or_default().to_string_lossy();
    let wrong =
        |is: String| Error::usage("invalid-number", format!("{letter}: {what} \"{text}\" {is}"));
    let help = format!("a whole number from {} to {}", bounds.start(), bounds.end());
    if let Some(digits) = text.strip_prefix('-')
        && digits.parse::<u64>().is_ok()
    {
        return Err(wrong("is negative".to_owned()).help(help));
    }
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong("is not a whole number".to_owned()).help(help));
    }
    match text.parse::<u64>() {
        Ok(number) if bounds.contains(&number) => Ok(number),
        Ok(number) if number < *bounds.start() => {
            Err(wrong(format!("is too small: at least {}", bounds.start())).help(help))
        }
        _ => Err(wrong(format!("is too large: at most {}", bounds.end())).help(help)),
    }
}

/// A TCP port, `least` or above. 0 lets the kernel choose one.
///
/// # Errors
/// It is not a port.
pub(super) fn port(letter: Letter, value: Option<&OsStr>, least: u64) -> Result<u16> {
    Ok(parse_number(letter, "port", value, least..=65_535)? as u16) // checked a moment ago
}

/// A number of CPUs, 1 to 1024.
pub(super) fn nr_cpus(letter: Letter, value: Option<&OsStr>) -> Result<usize> {
    Ok(parse_number(letter, "number of CPUs", value, 1..=1024)? as usize)
}

/// The size of a socket buffer, 1 byte to 1 GiB.
pub(super) fn buffer(letter: Letter, value: Option<&OsStr>) -> Result<usize> {
    Ok(parse_number(letter, "buffer size", value, 1..=1 << 30)? as usize)
}

/// The name of a server: a host name, an address, or 0 for this host.
pub(super) fn server(value: Option<&OsStr>) -> Result<String> {
    let wrong =
        || Error::usage("invalid-host-name", "the name of the server is empty or is not UTF-8");
    match value.and_then(OsStr::to_str) {
        Some(name) if !name.is_empty() => Ok(name.to_owned()),
        _ => Err(wrong().help("a server is a host name, an address, or 0 for this host")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_within_bounds() {
        let number = |text: &str| {
            parse_number(Letter::Short('n'), "number of loops", Some(OsStr::new(text)), 1..=100)
        };
        assert_eq!(number("100").unwrap(), 100);
        let texts = ["0", "101", "99999999999999999999", "-1", "", "1.5", "+5", "0x10"];
        let said = texts.map(|text| number(text).unwrap_err().message).join("\n");
        insta::assert_snapshot!(said, @r#"
        -n: number of loops "0" is too small: at least 1
        -n: number of loops "101" is too large: at most 100
        -n: number of loops "99999999999999999999" is too large: at most 100
        -n: number of loops "-1" is negative
        -n: number of loops "" is not a whole number
        -n: number of loops "1.5" is not a whole number
        -n: number of loops "+5" is not a whole number
        -n: number of loops "0x10" is not a whole number
        "#);
    }
}
