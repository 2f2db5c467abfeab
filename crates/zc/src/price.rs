//! The price of a core: `0.04/core-hour`, with a currency before or after the number or without.

use zc_analysis::Price;
use zc_run::{Error, Result, escape};

/// Most characters of a currency.
const LONGEST: usize = 8;

/// # Errors
/// It is none.
pub(super) fn price(text: &str) -> Result<Price> {
    let wrong = || {
        let message = format!("\"{}\" is no price of a core", escape(text, 40));
        Error::usage("invalid-price", message).help("0.04/core-hour, or $0.04/core-hour")
    };
    let sum = text.strip_suffix("/core-hour").ok_or_else(wrong)?.trim();
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let number = sum.trim_matches(|c: char| !is_of_number(c));
    let at = sum.find(number).filter(|_| !number.is_empty()).ok_or_else(wrong)?;
    let currency = format!("{}{}", &sum[..at], &sum[at + number.len()..]);
    let currency = currency.trim().to_owned();
    let per_core_hour = number.parse::<f64>().ok().filter(|value| value.is_finite());
    let fits = currency.chars().count() <= LONGEST
        && currency.chars().all(|c| !c.is_control() && !matches!(c, '-' | '+' | ','));
    match per_core_hour.filter(|_| fits) {
        Some(per_core_hour) => Ok(Price { per_core_hour, currency }),
        None => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_has_a_currency_or_none() {
        for (text, currency) in [
            ("0.04/core-hour", ""),
            ("$0.04/core-hour", "$"),
            ("0.04 EUR/core-hour", "EUR"),
            ("€ 0.04/core-hour", "€"),
        ] {
            let found = price(text).unwrap();
            assert_eq!((found.per_core_hour, found.currency.as_str()), (0.04, currency), "{text}");
        }
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for text in ["", "0.04", "/core-hour", "x/core-hour", "-1/core-hour", "1.2.3/core-hour"] {
            assert_eq!(price(text).unwrap_err().id, "invalid-price", "{text}");
        }
    }
}
