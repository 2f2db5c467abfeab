//! What is typed on a command line or in a plan: sizes, rates, durations, percentages, counts,
//! levels of factors and names.

use arbitrary::Arbitrary;
use zc_run::nearest::{nearest, unknown_among};
use zc_run::{Error, ErrorKind, Factor, Level, LinkKind, RecvPath, SendPath, SoakerKind, units};

/// A text and what it is taken for. The fuzzer's dictionary has the units.
#[derive(Debug, Clone, Arbitrary)]
pub struct Typed<'a> {
    kind: u8,
    bounds: (u64, u64),
    text: &'a str,
}

impl Typed<'_> {
    /// What is accepted is shown as a text that is accepted and means the same.
    pub fn check(&self) {
        let bounds = self.bounds.0.min(self.bounds.1)..=self.bounds.0.max(self.bounds.1);
        match self.kind % 8 {
            0 => {
                if let Some(bytes) = accepted(units::size(self.text, bounds.clone())) {
                    assert!(bounds.contains(&bytes));
                    assert_eq!(units::size(&units::size_text(bytes), bounds).ok(), Some(bytes));
                }
            }
            1 => {
                if let Some(Some(rate)) = accepted(units::rate(self.text)) {
                    assert!((1e4..=1e12).contains(&rate));
                    let text = units::rate_text(rate);
                    let again = units::rate(&text).ok().flatten().expect("a rate");
                    // Three decimals of a number from 1 on.
                    assert!((again / rate - 1.0).abs() < 5.1e-4, "{rate} is shown as {text}");
                }
            }
            2 => {
                // As long as zc's own bounds: a double is exact up to 104 days.
                const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;
                let (least, most) = (*bounds.start() % DAY_NS, *bounds.end() % DAY_NS);
                let bounds = least.min(most)..=least.max(most);
                if let Some(ns) = accepted(units::duration(self.text, bounds.clone())) {
                    assert!(bounds.contains(&ns), "{ns} ns");
                    if ns % 1000 == 0 && ns > 0 {
                        let text = units::duration_text(ns);
                        assert_eq!(units::duration(&text, 0..=DAY_NS).ok(), Some(ns), "{text}");
                    }
                }
            }
            3 => {
                if let Some(share) = accepted(units::percent(self.text)) {
                    assert!((0.001..=0.5).contains(&share), "{share}");
                }
            }
            4 => {
                if let Some(count) = accepted(units::count("flows", self.text, bounds.clone())) {
                    assert!(bounds.contains(&count));
                }
            }
            5 | 6 => {
                let factor = Factor::ALL[self.bounds.0 as usize % Factor::ALL.len()];
                if let Some(level) = accepted(Level::parse(factor, self.text)) {
                    let text = level.to_string();
                    let again = Level::parse(factor, &text).ok();
                    // A rate is shown with three decimals.
                    if factor == Factor::Rate {
                        assert!(again.is_some(), "{text}");
                    } else {
                        assert_eq!(again, Some(level), "{factor}: {text}");
                    }
                }
                drop(accepted(Level::typed(factor, self.text)));
                drop(factor.definition().group(self.text));
            }
            _ => {
                let known: Vec<&str> = Factor::ALL.iter().map(|factor| factor.name()).collect();
                if let Some(name) = nearest(self.text, &known) {
                    assert!(known.contains(&name));
                }
                let _ = accepted::<()>(Err(unknown_among("factor", self.text, &known)));
                same_name::<SendPath>(self.text);
                same_name::<RecvPath>(self.text);
                same_name::<LinkKind>(self.text);
                same_name::<SoakerKind>(self.text);
            }
        }
    }
}

/// What was parsed. An error is one of usage, fit for a terminal.
fn accepted<T>(parsed: Result<T, Error>) -> Option<T> {
    let error = match parsed {
        Ok(value) => return Some(value),
        Err(error) => error,
    };
    assert_eq!(error.kind, ErrorKind::Usage, "{error}");
    assert!(error.message.chars().all(zc_run::is_safe), "{error}");
    let help = error.help.unwrap_or_default();
    assert!(help.chars().all(zc_run::is_safe), "{help:?}");
    None
}

fn same_name<T: std::str::FromStr + std::fmt::Display>(text: &str) {
    if let Ok(name) = text.parse::<T>() {
        assert_eq!(name.to_string(), text);
    }
}
