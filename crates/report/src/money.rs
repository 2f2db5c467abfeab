//! Sums of money: a sign goes before the number, a word behind it.

use crate::digits::with_half_width;
use zc_analysis::Figure;
use zc_run::escape;

/// `$3.80`, `12 EUR`.
pub(crate) fn money(money: &Figure, currency: &str) -> String {
    let text = match money.value {
        // Not "-0.00".
        value if value.abs() < 0.005 => "0.00".to_owned(),
        value if value.abs() < 10.0 => format!("{value:.2}"),
        value => format!("{value:.0}"),
    };
    of_currency(&text, currency)
}

/// `$3.80 ±0.12`; without a half-width that is no hundredth.
pub(crate) fn money_with_half_width(sum: &Figure, currency: &str) -> String {
    match sum.half_width {
        Some(half) if half >= 0.005 => {
            of_currency(&with_half_width(sum.value, sum.half_width), currency)
        }
        _ => money(sum, currency),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_goes_before_the_number_and_a_word_behind_it() {
        let sum = |value, half_width| Figure { value, half_width, interval: None, blocks: 9 };
        for (value, half, currency, expected) in [
            (3.8, Some(0.12), "$", "$3.80 ±0.12"),
            (-3.8, Some(0.12), "$", "-$3.80 ±0.12"),
            (3.8, None, "EUR", "3.80 EUR"),
            (-0.001, Some(0.001), "", "0.00"),
            (1234.0, Some(2.0), "€", "€1234 ±2"),
        ] {
            assert_eq!(money_with_half_width(&sum(value, half), currency), expected);
        }
    }
}
