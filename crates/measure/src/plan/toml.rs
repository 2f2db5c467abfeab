//! The file of a plan: TOML, for built-in plans and for users' own. docs/plans.md describes it.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::spec::{Fixed, Rates, Spec};
use zc_run::nearest::unknown;
use zc_run::{Error, Factor, Level, Result, Unsoaked, escape, units};

/// Limits of a budget: as for `--budget`.
const BUDGET_NS: std::ops::RangeInclusive<u64> = 1_000_000_000..=24 * 3600 * 1_000_000_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    name: Spanned<String>,
    #[serde(default)]
    question: String,
    budget: Option<Spanned<String>>,
    compare: Option<Vec<Spanned<String>>>,
    rates: Option<Spanned<String>>,
    unsoaked: Option<Spanned<String>>,
    #[serde(rename = "clients-at-most")]
    clients_at_most: Option<Spanned<String>>,
    #[serde(default)]
    fixed: BTreeMap<Spanned<String>, Spanned<Scalar>>,
    #[serde(default)]
    reference: BTreeMap<Spanned<String>, Spanned<Scalar>>,
    #[serde(default, rename = "factor")]
    factors: Vec<FactorTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FactorTable {
    name: Spanned<String>,
    levels: Spanned<Vec<Spanned<Scalar>>>,
}

/// A string such as `"64k"`, or a number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Number(i64),
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
        }
    }
}

/// Parses a plan. `file` is its name in errors.
///
/// # Errors
/// [`ErrorKind::Usage`](zc_run::ErrorKind): it is not a valid plan; the message names file, line
/// and key.
pub fn parse(text: &str, file: &str) -> Result<Spec> {
    let reader = Reader { text, file };
    let document: Document = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| reader.line(span.start));
        // The other lines of the message draw the source line.
        let what = error.message().lines().next().unwrap_or_default().to_owned();
        Error::usage(
            "invalid-plan",
            format!("plan \"{file}\", line {line}: {}", escape(&what, 200)),
        )
        .help("zc plan NAME prints a plan that is right; docs/plans.md describes them")
    })?;
    reader.spec(document)
}

struct Reader<'a> {
    text: &'a str,
    file: &'a str,
}

impl Reader<'_> {
    fn line(&self, offset: usize) -> usize {
        self.text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
    }

    fn place<T>(&self, what: &Spanned<T>) -> String {
        format!("plan \"{}\", line {}", self.file, self.line(what.span().start))
    }

    /// Adds the place in the file to an error.
    fn at<T>(&self, what: &Spanned<T>, key: &str, mut error: Error) -> Error {
        error.message = format!("{}, \"{}\": {}", self.place(what), escape(key, 40), error.message);
        error
    }

    fn spec(&self, document: Document) -> Result<Spec> {
        let name = document.name.get_ref().trim().to_owned();
        if name.is_empty() || name.chars().count() > 60 {
            return Err(self.at(
                &document.name,
                "name",
                Error::usage("invalid-name", "a name has between 1 and 60 characters"),
            ));
        }
        let factors =
            document.factors.iter().map(|table| self.factor(table)).collect::<Result<Vec<_>>>()?;
        for (place, (factor, _)) in factors.iter().enumerate() {
            if factors[..place].iter().any(|(other, _)| other == factor) {
                let again = &document.factors[place].name;
                return Err(self.at(
                    again,
                    factor.name(),
                    Error::usage("duplicate-factor", "this factor occurs twice"),
                ));
            }
        }
        if factors.is_empty() {
            let nothing = Error::usage(
                "factor-missing",
                "there is no [[factor]], so there is nothing to compare",
            );
            return Err(self.at(&document.name, "factor", nothing));
        }
        let mut reference: Vec<Level> =
            factors.iter().map(|(factor, levels)| usual(*factor, levels)).collect();
        for (key, value) in &document.reference {
            let factor = self.named(key)?;
            let Some(place) = factors.iter().position(|(each, _)| *each == factor) else {
                let not_in_plan = Error::usage(
                    "reference-not-in-plan",
                    "the reference has a level of a factor that the plan does not have",
                );
                return Err(self.at(key, factor.name(), not_in_plan));
            };
            let level = self.level(factor, value)?;
            if !factors[place].1.contains(&level) {
                let no_level = Error::usage(
                    "reference-not-in-plan",
                    format!("the reference's level \"{level}\" is not a level of the factor"),
                );
                return Err(self.at(
                    value,
                    factor.name(),
                    no_level.help(listed(&factors[place].1)),
                ));
            }
            reference[place] = level;
        }
        let compare = match &document.compare {
            None => factors.iter().map(|(factor, _)| *factor).collect(),
            Some(names) => {
                names.iter().map(|name| self.compared(name, &factors)).collect::<Result<_>>()?
            }
        };
        let budget_ns = document.budget.as_ref().map(|budget| {
            units::duration(budget.get_ref(), BUDGET_NS)
                .map_err(|error| self.at(budget, "budget", error))
        });
        let clients_at_most = document.clients_at_most.as_ref().map(|rate| {
            units::rate(rate.get_ref()).map_err(|error| self.at(rate, "clients-at-most", error))
        });
        let fixed = document.fixed.iter().map(|(key, value)| Fixed {
            key: key.get_ref().clone(),
            value: value.get_ref().to_string(),
            place: self.place(key),
        });
        Ok(Spec {
            name,
            question: document.question.trim().to_owned(),
            budget_ns: budget_ns.transpose()?,
            factors,
            reference,
            compare,
            rates: self.one_of(
                document.rates.as_ref(),
                "rates",
                &[("one", Rates::One), ("by-level", Rates::ByLevel)],
            )?,
            unsoaked: self.one_of(
                document.unsoaked.as_ref(),
                "unsoaked",
                &[("in-turn", Unsoaked::InTurn), ("top-speed", Unsoaked::TopSpeed)],
            )?,
            clients_at_most: clients_at_most.transpose()?.flatten(),
            fixed: fixed.collect(),
        })
    }

    fn named(&self, name: &Spanned<String>) -> Result<Factor> {
        name.get_ref().parse().map_err(|error| self.at(name, name.get_ref(), unknown(error)))
    }

    fn factor(&self, table: &FactorTable) -> Result<(Factor, Vec<Level>)> {
        let factor = self.named(&table.name)?;
        let mut levels = Vec::new();
        for text in table.levels.get_ref() {
            if let Some(group) = factor.definition().group(&text.get_ref().to_string()) {
                levels.extend(group.into_iter().map(|value| Level { factor, value }));
                continue;
            }
            let level = self.level(factor, text)?;
            if levels.contains(&level) {
                let twice =
                    Error::usage("duplicate-level", format!("the level \"{level}\" occurs twice"));
                return Err(self.at(text, factor.name(), twice));
            }
            levels.push(level);
        }
        if levels.is_empty() {
            return Err(self.at(
                &table.levels,
                factor.name(),
                Error::usage("level-missing", "a factor needs at least one level"),
            ));
        }
        Ok((factor, levels))
    }

    fn level(&self, factor: Factor, text: &Spanned<Scalar>) -> Result<Level> {
        Level::parse(factor, &text.get_ref().to_string())
            .map_err(|error| self.at(text, factor.name(), error))
    }

    fn compared(&self, name: &Spanned<String>, factors: &[(Factor, Vec<Level>)]) -> Result<Factor> {
        let factor = self.named(name)?;
        if factors.iter().all(|(each, _)| *each != factor) {
            let not_compared = Error::usage(
                "compared-by-unknown-factor",
                format!(
                    "cells cannot be compared by \"{factor}\", which is not a factor of the plan"
                ),
            );
            return Err(self.at(name, "compare", not_compared));
        }
        Ok(factor)
    }

    fn one_of<T: Copy + Default>(
        &self,
        given: Option<&Spanned<String>>,
        key: &str,
        known: &[(&str, T)],
    ) -> Result<T> {
        let Some(given) = given else { return Ok(T::default()) };
        known.iter().find(|(name, _)| name == given.get_ref()).map(|(_, value)| *value).ok_or_else(
            || {
                let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                let what =
                    format!("\"{}\" is none of {}", escape(given.get_ref(), 40), names.join(", "));
                self.at(given, key, Error::usage("invalid-value", what))
            },
        )
    }
}

/// The reference level of a factor when the plan sets none: the factor's usual one, otherwise its
/// first level.
fn usual(factor: Factor, levels: &[Level]) -> Level {
    let usual = factor.definition().usual_reference().map(|value| Level { factor, value });
    usual.filter(|usual| levels.contains(usual)).unwrap_or_else(|| levels[0].clone())
}

fn listed(levels: &[Level]) -> String {
    format!("it has {}", levels.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use zc_run::{Experiment, RecvPath, SendPath};

    const SIZES: &str = "name = \"sizes\"\nbudget = \"90s\"\ncompare = [\"send\"]\nrates \
        = \"by-level\"\n\n[fixed]\nlink = \"veth\"\nflows = 2\n\n\
        [reference]\nmessage = \"64k\"\n\n[[factor]]\nname = \"message\"\nlevels = \
        [4096, \"64k\"]\n\n[[factor]]\nname = \"send\"\n\
        levels = [\"sendfile\", \"read+send\"]\n";

    #[test]
    fn every_key_of_a_plan_is_read() {
        let spec = parse(SIZES, "my.toml").unwrap();
        assert_eq!((spec.name.as_str(), spec.budget_ns), ("sizes", Some(90_000_000_000)));
        assert_eq!(
            (spec.rates, spec.unsoaked, &spec.compare[..]),
            (Rates::ByLevel, Unsoaked::InTurn, &[Factor::Send][..])
        );
        assert_eq!(
            spec.reference,
            [
                Level::parse(Factor::Message, "64k").unwrap(),
                Level::parse(Factor::Send, "read+send").unwrap(),
            ]
        );
        let fixed: Vec<(&str, &str)> =
            spec.fixed.iter().map(|fixed| (&*fixed.key, &*fixed.value)).collect();
        assert_eq!(fixed, [("flows", "2"), ("link", "veth")]);
        assert_eq!(spec.fixed[1].place, "plan \"my.toml\", line 7");
        let labels: Vec<String> = spec
            .cells(SendPath::ReadSend, RecvPath::Recv)
            .unwrap()
            .cells
            .into_iter()
            .map(|cell| cell.label)
            .collect();
        assert_eq!(
            labels,
            ["4k sendfile", "4k read+send", "64k sendfile", "64k read+send", "64k read+send (A/A)"]
        );
    }

    #[test]
    fn errors_name_file_line_and_key() {
        let mut said = [
            ("name = \"send\"", "name = \"sand\""),
            ("\"sendfile\"", "\"senfile\""),
            ("4096", "\"4kB\""),
            ("4096", "65536"),
            ("[4096, \"64k\"]", "[]"),
            ("message = \"64k\"", "message = \"1m\""),
            ("message = \"64k\"", "mtu = 1500"),
            ("compare = [\"send\"]", "compare = [\"mtu\"]"),
            ("by-level", "each"),
            ("90s", "90"),
            ("name = \"message\"", "name = \"send\""),
        ]
        .map(|(from, to)| parse(&SIZES.replacen(from, to, 1), "p").unwrap_err().message)
        .to_vec();
        said.push(parse("name = \"x\"\n", "p").unwrap_err().message);
        insta::assert_snapshot!(said.join("\n"));
        // The rest of these is the parser's sentence.
        for (from, to, named) in [
            ("budget =", "bugdet =", "line 2: unknown field `bugdet`"),
            ("[fixed]", "[fixed", "line 6"),
        ] {
            let error = parse(&SIZES.replacen(from, to, 1), "p").unwrap_err();
            assert!(error.id == "invalid-plan" && error.message.contains(named), "{error:?}");
        }
    }

    #[test]
    fn every_built_in_plan_is_valid_and_has_the_texts_of_its_experiment() {
        for experiment in Experiment::ALL.iter().map(|experiment| experiment.definition()) {
            let Ok(text) = experiment.plan_file() else { continue };
            let spec = parse(&text, experiment.name).unwrap();
            assert_eq!((&*spec.name, &*spec.question), (experiment.name, experiment.question));
            let cells = spec.cells(SendPath::ReadSend, RecvPath::Recv).unwrap();
            let known = |label: &str| cells.cells.iter().any(|cell| cell.label == label);
            assert!(known(&cells.reference), "{}", spec.name);
            let mut by = cells.cells.iter().filter_map(|cell| cell.by.as_deref());
            assert!(by.all(known), "{}", spec.name);
        }
    }

    proptest! {
        #[test]
        fn no_text_causes_a_panic(text in any::<String>()) {
            let _ = parse(&text, "p");
        }

        #[test]
        fn no_change_of_one_character_causes_a_panic(at in 0..SIZES.len(), with in any::<char>()) {
            let mut text: Vec<char> = SIZES.chars().collect();
            text[at] = with;
            if let Ok(spec) = parse(&text.into_iter().collect::<String>(), "p") {
                let _ = spec.cells(SendPath::ReadSend, RecvPath::Recv);
            }
        }
    }
}
