//! Conditions of `.if` and `.elif` (section 2.5 of HAProxy's manual, "Conditional blocks").

use std::collections::BTreeMap;

use super::build;

/// Parentheses and negations in each other.
const DEEPEST: usize = 64;

/// What conditions are about.
pub(super) struct Facts<'a> {
    pub(super) build: &'a str,
    pub(super) variables: &'a BTreeMap<String, String>,
}

/// Whether a condition holds; `Err`: the part of it that is not understood.
pub(super) fn holds(text: &str, facts: &Facts<'_>) -> Result<bool, String> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Ok(false);
    }
    let value = any(&mut rest, facts, 0)?;
    if rest.is_empty() { Ok(value) } else { Err(rest.to_owned()) }
}

fn any(rest: &mut &str, facts: &Facts<'_>, depth: usize) -> Result<bool, String> {
    let mut value = all(rest, facts, depth)?;
    while let Some(behind) = rest.strip_prefix("||") {
        *rest = behind.trim_start();
        value |= all(rest, facts, depth)?;
    }
    Ok(value)
}

fn all(rest: &mut &str, facts: &Facts<'_>, depth: usize) -> Result<bool, String> {
    let mut value = term(rest, facts, depth)?;
    while let Some(behind) = rest.strip_prefix("&&") {
        *rest = behind.trim_start();
        value &= term(rest, facts, depth)?;
    }
    Ok(value)
}

fn term(rest: &mut &str, facts: &Facts<'_>, depth: usize) -> Result<bool, String> {
    if depth > DEEPEST {
        return Err((*rest).to_owned());
    }
    if let Some(behind) = rest.strip_prefix('!') {
        *rest = behind.trim_start();
        return term(rest, facts, depth + 1).map(|value| !value);
    }
    if let Some(behind) = rest.strip_prefix('(') {
        *rest = behind.trim_start();
        let value = any(rest, facts, depth + 1)?;
        let behind = rest.strip_prefix(')').ok_or_else(|| (*rest).to_owned())?;
        *rest = behind.trim_start();
        return Ok(value);
    }
    predicate(rest, facts)
}

/// A number, or a predicate with its arguments.
fn predicate(rest: &mut &str, facts: &Facts<'_>) -> Result<bool, String> {
    let unknown = |text: &str| Err(text.to_owned());
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
    let (name, behind) = rest.split_at(end);
    let Some(behind) = behind.strip_prefix('(') else {
        let Ok(number) = name.parse::<i64>() else { return unknown(rest) };
        *rest = behind.trim_start();
        return Ok(number != 0);
    };
    let Some((args, after)) = behind.split_once(')') else { return unknown(rest) };
    let bare = |arg: &str| arg.trim().trim_matches(['"', '\'']).to_owned();
    let args: Vec<String> = args.split(',').map(bare).collect();
    let arg = |at: usize| args.get(at).map_or("", String::as_str);
    let value = match name {
        "defined" => facts.variables.contains_key(arg(0)),
        "feature" => build::has_feature(facts.build, arg(0)),
        "streq" => arg(0) == arg(1),
        "strneq" => arg(0) != arg(1),
        "strstr" => arg(0).contains(arg(1)),
        "version_atleast" => is_at_least(build::version_text(facts.build), arg(0)),
        "version_before" => !is_at_least(build::version_text(facts.build), arg(0)),
        "openssl_version_atleast" => is_at_least(build::openssl(facts.build), arg(0)),
        "openssl_version_before" => !is_at_least(build::openssl(facts.build), arg(0)),
        // What it has unless an option of its command or a line before switches it off.
        "enabled" => !matches!(arg(0), "KQUEUE" | "EVPORTS"),
        _ => return unknown(rest),
    };
    *rest = after.trim_start();
    Ok(value)
}

/// Whether a version is another one or a later one: `2.6.12` is at least `2.4-dev1`.
fn is_at_least(version: &str, other: &str) -> bool {
    let numbers = |text: &str| -> Vec<u32> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        text[..end].split('.').map(|number| number.parse().unwrap_or(0)).collect()
    };
    numbers(version) >= numbers(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILD: &str = "HAProxy version 2.6.12-1+deb12u4 2026/10/17\nFeature list : -KQUEUE +LUA \
                         +OPENSSL\nRunning on OpenSSL version : OpenSSL 3.0.19 27 Jan 2026\n";

    fn of(text: &str) -> Result<bool, String> {
        let variables = [("A".to_owned(), "1".to_owned())].into();
        holds(text, &Facts { build: BUILD, variables: &variables })
    }

    #[test]
    fn conditions_are_evaluated_as_the_manual_has_them() {
        for (text, expected) in [
            ("", false),
            ("0", false),
            ("1", true),
            ("defined(A) && !defined(B)", true),
            ("defined(B) || feature(LUA)", true),
            ("feature(KQUEUE)", false),
            ("!(defined(A) && 1)", false),
            ("streq(\"a\",a)", true),
            ("strneq(a,a)", false),
            ("version_atleast(2.6)", true),
            ("version_atleast(2.4-dev12)", true),
            ("version_atleast(2.10)", false),
            ("version_before(2.6.13)", true),
            ("openssl_version_atleast(1.1.1)", true),
            ("1 || 1 && 0", true),
        ] {
            assert_eq!(of(text), Ok(expected), "{text}");
        }
        for text in ["awk(1)", "x", "(1", "1 2", "defined(A", "&& 1", "!"] {
            assert!(of(text).is_err(), "{text}");
        }
        assert!(of(&"!".repeat(5000)).is_err() && of(&"(".repeat(5000)).is_err());
    }
}
