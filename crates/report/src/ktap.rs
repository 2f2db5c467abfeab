//! Results of tests in the Kernel Test Anything Protocol, version 1
//! (Documentation/dev-tools/ktap.rst of Linux). What cannot be told is skipped, with the reason: it
//! is neither passed nor failed.

use zc_run::escape;

/// A test.
pub(crate) struct Test {
    pub(crate) name: String,
    /// What was measured, a line each.
    pub(crate) diagnostics: Vec<String>,
    pub(crate) result: Outcome,
}

pub(crate) enum Outcome {
    Passed,
    Failed,
    /// The reason.
    Skipped(String),
}

/// The document of these tests.
pub(crate) fn document(tests: &[Test]) -> String {
    let mut out = format!("KTAP version 1\n1..{}\n", tests.len());
    for (test, number) in tests.iter().zip(1..) {
        let name = words(&test.name);
        for diagnostic in &test.diagnostics {
            out.push_str(&format!("# {name}: {}\n", words(diagnostic)));
        }
        out.push_str(&match &test.result {
            Outcome::Passed => format!("ok {number} {name}\n"),
            Outcome::Failed => format!("not ok {number} {name}\n"),
            Outcome::Skipped(reason) => format!("ok {number} {name} # SKIP {}\n", words(reason)),
        });
    }
    out
}

/// A text that may stand in a line of results, which ends with the line and has its directive
/// behind a `#`. Logs of kernels are in ASCII.
fn words(text: &str) -> String {
    escape(text, 400).replace('#', "_").replace('±', "+-")
}

#[cfg(test)]
pub(crate) mod tests {
    /// A result line: whether it is `ok`, the description, and the reason of a SKIP.
    pub(crate) type Parsed = (bool, String, Option<String>);

    /// Reads KTAP, and takes nothing but what the specification describes.
    ///
    /// # Errors
    /// A line that the specification does not have, or that this program has no reason to print.
    pub(crate) fn parse(text: &str) -> Result<Vec<Parsed>, String> {
        let mut lines = text.lines();
        let wrong = |what: &str, line: Option<&str>| Err(format!("{what}: {line:?}"));
        match lines.next() {
            Some("KTAP version 1") => {}
            other => return wrong("not a version line", other),
        }
        let plan = lines.next();
        let planned = plan.and_then(|line| line.strip_prefix("1..")?.parse::<usize>().ok());
        let Some(planned) = planned.filter(|count| *count > 0) else {
            return wrong("not a plan line", plan);
        };
        let mut results = Vec::new();
        for line in lines {
            if line.starts_with("# ") {
                continue;
            }
            let is_ok = !line.starts_with("not ");
            let rest = line.strip_prefix("not ").unwrap_or(line).strip_prefix("ok ");
            let Some((number, rest)) = rest.and_then(|rest| rest.split_once(' ')) else {
                return wrong("not a result", Some(line));
            };
            if number != (results.len() + 1).to_string() {
                return wrong("not the next number", Some(line));
            }
            let (name, directive) = match rest.split_once(" # ") {
                None => (rest, None),
                Some((name, after)) => match after.split_once(' ') {
                    Some(("SKIP", reason)) if !reason.trim().is_empty() => (name, Some(reason)),
                    _ => return wrong("not a directive with a reason", Some(line)),
                },
            };
            let texts = [name, directive.unwrap_or_default()];
            if name.trim().is_empty() || texts.iter().any(|text| text.contains('#')) {
                return wrong("not a description", Some(line));
            }
            results.push((is_ok, name.to_owned(), directive.map(str::to_owned)));
        }
        let all = results.len() == planned && text.ends_with('\n');
        if all { Ok(results) } else { wrong("not as planned", plan) }
    }

    #[test]
    fn the_parser_refuses_what_is_no_ktap() {
        let good = "KTAP version 1\n1..2\n# a: note\nok 1 a\nok 2 b # SKIP why\n";
        assert_eq!(parse(good).unwrap().len(), 2);
        for (from, to) in [
            ("KTAP version 1", "TAP version 13"),
            ("1..2", "1..3"),
            ("ok 2", "ok 3"),
            ("ok 1 a", "ok 1 a # b"),
            ("# SKIP why", "# SKIP"),
            ("# a: note", "a: note"),
            ("ok 1 a", "ok 1 "),
        ] {
            assert!(parse(&good.replacen(from, to, 1)).is_err(), "{from} -> {to}");
        }
    }
}
