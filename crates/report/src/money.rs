//! Sums of money: a sign goes before the number, a word behind it.

use crate::digits::with_half_width;
use zc_analysis::Figure;
use zc_run::escape;

/// `$3.80`, `12 EUR`.
pub(crate) fn money(money: &Figure, currency: &str) -> String {
    let text = match money.value {
        value if value.abs() < 10.0 => format!("{value:.2}"),
        value => format!("{value:.0}"),
    };
    of_currency(&text, currency)
}

/// `$3.80 ±0.12`.
pub(crate) fn money_with_half_width(money: &Figure, currency: &str) -> String {
    of_currency(&with_half_width(money.value, money.half_width), currency)
}

/// A number with its currency.
pub(crate) fn of_currency(number: &str, currency: &str) -> String {
    match currency {
        "" => number.to_owned(),
        sign if !sign.chars().any(char::is_alphanumeric) => {
            let (minus, number) =
                number.strip_prefix('-').map_or(("", number), |number| ("-", number));
            format!("{minus}{}{number}", escape(sign, 8))
        }
        word => format!("{number} {}", escape(word, 8)),
    }
}
