//! Number of bytes, requests or transactions of a command's execution, read from its output. Two
//! commands are compared by the cost of one.

use regex_lite::Regex;
use schemars::JsonSchema;
use serde::Serialize;

use zc_run::{Did, Error, Result};

/// Unit that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes of payload, where the program separates them from the others.
    Bytes,
    /// Requests that were answered, those with an error status too where the program does not
    /// separate them.
    Requests,
    /// Transactions of a database.
    Transactions,
    /// Whatever an expression of the user's finds.
    Units,
}

impl Unit {
    /// Its singular.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "byte",
            Self::Requests => "request",
            Self::Transactions => "transaction",
            Self::Units => "unit",
        }
    }
}

/// Pattern by which a program prints a count.
struct Reader {
    program: &'static str,
    unit: Unit,
    /// The group is a number; all matches are added up.
    number: &'static str,
}

/// Programs that load others, and what they print. The first that matches is taken.
const READERS: [Reader; 19] = [
    reader("wrk", Unit::Requests, r"(?m)^\s+(\d+) requests in .*read$"),
    reader("ab", Unit::Requests, r"(?m)^Complete requests:\s+(\d+)$"),
    reader("ab", Unit::Bytes, r"(?m)^HTML transferred:\s+(\d+) bytes$"),
    reader("h2load", Unit::Requests, r"(?m)^requests: \d+ total, .* (\d+) succeeded"),
    reader("h2load", Unit::Bytes, r"(?m)^traffic: .* \((\d+)\) data$"),
    reader("oha or hey", Unit::Requests, r"(?m)^\s+\[\d+\]\s+(\d+) responses$"),
    reader("hey", Unit::Bytes, r"(?m)^\s+Total data:\s+(\d+) bytes$"),
    reader("iperf3 -J", Unit::Bytes, r#""sum_sent":\s*\{[^}]*"bytes":\s*(\d+)"#),
    reader("fio --output-format=json", Unit::Bytes, r#""io_bytes"\s*:\s*(\d+)"#),
    reader("fio --output-format=json", Unit::Requests, r#""total_ios"\s*:\s*(\d+)"#),
    reader("curl -w %{json}", Unit::Bytes, r#""size_download":\s*(\d+)"#),
    reader("dd", Unit::Bytes, r"(?m)^(\d+) bytes .*copied, "),
    reader("rsync --stats", Unit::Bytes, r"(?m)^Total transferred file size: ([\d,]+) bytes$"),
    reader("rsync --stats", Unit::Requests, r"(?m)^Number of regular files transferred: ([\d,]+)$"),
    reader("pgbench", Unit::Transactions, r"(?m)^number of transactions actually processed: (\d+)"),
    reader("redis-benchmark", Unit::Requests, r"(?m)^\s+(\d+) requests completed in "),
    reader("redis-benchmark", Unit::Transactions, r"(?m)^\s+(\d+) requests completed in "),
    reader("curl -w %{size_download}", Unit::Bytes, r"^(\d+)\s*$"),
    reader("sysbench", Unit::Transactions, r"(?m)^\s+transactions:\s+(\d+)\s"),
];

const fn reader(program: &'static str, unit: Unit, number: &'static str) -> Reader {
    Reader { program, unit, number }
}

/// Finds a count in a command's output.
#[derive(Debug, Clone)]
pub struct Per {
    /// Unit that is counted.
    pub unit: Unit,
    /// Expressions, and whose output they find it in.
    readers: Vec<(Regex, &'static str)>,
}

impl Per {
    /// Counts by the output of known programs.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](zc_run::ErrorKind): there is no such unit.
    pub fn with_known_readers(unit: &str) -> Result<Self> {
        let unit = match unit {
            "bytes" => Unit::Bytes,
            "requests" => Unit::Requests,
            "transactions" => Unit::Transactions,
            _ => {
                return Err(Error::usage("cannot-count", format!("cannot count \"{unit}\""))
                    .help("--per takes bytes, requests or transactions; --per-regex anything"));
            }
        };
        let own = READERS.iter().filter(|reader| reader.unit == unit);
        // All of them are expressions: a test holds that.
        let readers = own.filter_map(|it| Some((Regex::new(it.number).ok()?, it.program)));
        Ok(Self { unit, readers: readers.collect() })
    }

    /// Counts by an expression with one group, a number.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](zc_run::ErrorKind): it is not such an expression.
    pub fn regex(expression: &str) -> Result<Self> {
        let wrong = |why: &str| {
            Error::usage(
                "invalid-count-expression",
                format!("\"{expression}\" cannot be used: {why}"),
            )
            .help("an expression with one group, such as '(\\d+) files'")
        };
        let own = Regex::new(expression).map_err(|error| wrong(&error.to_string()))?;
        match own.captures_len() {
            2 => Ok(Self { unit: Unit::Units, readers: vec![(own, "--per-regex")] }),
            groups => Err(wrong(&format!("it has {} groups", groups - 1))),
        }
    }

    /// The count in a command's output, and the program that printed it. `None` where nothing
    /// matches, or the number is 0. O(length) for each program that counts such a thing.
    pub fn count(&self, printed: &str) -> Option<Did> {
        let found = self.readers.iter().find_map(|(number, by)| Some((sum(number, printed)?, *by)));
        let (count, by) = found.filter(|(count, _)| *count > 0.0 && count.is_finite())?;
        Some(Did { count, by: by.to_owned() })
    }
}

/// The sum of all numbers that an expression finds; a number may have separators of thousands.
fn sum(expression: &Regex, text: &str) -> Option<f64> {
    let numbers = expression.captures_iter(text).map(|found| match found.get(1) {
        Some(number) => number.as_str().replace([',', '_'], "").parse().ok(),
        None => Some(1.0), // a group that may be absent: the match counts as one
    });
    let each: Vec<f64> = numbers.collect::<Option<_>>()?;
    (!each.is_empty()).then(|| each.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_print_is_counted() {
        // The output of the programs of Debian 12 for known numbers; that of oha and hey is made up
        // after their sources.
        let cases = [
            ("requests", include_str!("testdata/wrk.txt"), 6276.0, "wrk"),
            ("requests", include_str!("testdata/ab.txt"), 500.0, "ab"),
            ("bytes", include_str!("testdata/ab.txt"), 51_200_000.0, "ab"),
            ("requests", include_str!("testdata/h2load.txt"), 500.0, "h2load"),
            ("bytes", include_str!("testdata/h2load.txt"), 51_200_000.0, "h2load"),
            ("requests", include_str!("testdata/oha.txt"), 200.0, "oha or hey"),
            ("requests", include_str!("testdata/hey.txt"), 200.0, "oha or hey"),
            ("bytes", include_str!("testdata/hey.txt"), 20_480_000.0, "hey"),
            ("bytes", include_str!("testdata/iperf3.json"), 104_857_600.0, "iperf3 -J"),
            ("bytes", include_str!("testdata/fio.json"), 16_777_216.0, "fio --output-format=json"),
            ("requests", include_str!("testdata/fio.json"), 4096.0, "fio --output-format=json"),
            ("bytes", include_str!("testdata/curl.json"), 102_400.0, "curl -w %{json}"),
            ("bytes", "102400\n", 102_400.0, "curl -w %{size_download}"),
            ("bytes", include_str!("testdata/dd.txt"), 104_857_600.0, "dd"),
            ("bytes", include_str!("testdata/rsync.txt"), 102_400.0, "rsync --stats"),
            ("requests", include_str!("testdata/rsync.txt"), 1.0, "rsync --stats"),
            ("transactions", include_str!("testdata/pgbench.txt"), 100.0, "pgbench"),
            ("requests", include_str!("testdata/redis-benchmark.txt"), 4000.0, "redis-benchmark"),
        ];
        for (unit, printed, count, program) in cases {
            let found = Per::with_known_readers(unit).unwrap().count(printed);
            let expected = Did { count, by: program.to_owned() };
            assert_eq!(found, Some(expected), "{printed}");
        }
    }

    #[test]
    fn what_does_not_print_a_number_has_none() {
        for unit in ["bytes", "requests", "transactions"] {
            for printed in ["", "hello\n", "0\n", "Complete requests:      0\n"] {
                assert_eq!(
                    Per::with_known_readers(unit).unwrap().count(printed),
                    None,
                    "{unit} {printed}"
                );
            }
        }
    }

    #[test]
    fn every_reader_is_an_expression_with_one_group() {
        for reader in &READERS {
            assert_eq!(Regex::new(reader.number).unwrap().captures_len(), 2, "{}", reader.program);
        }
    }

    #[test]
    fn an_expression_adds_up_what_it_finds() {
        let per = Per::regex(r"(\S+) files").unwrap();
        let both = Did { count: 1002.5, by: "--per-regex".to_owned() };
        assert_eq!(per.count("1,000 files\n2.5 files\n"), Some(both));
        for nothing in ["x files", "0 files", "-1 files", "inf files", "nan files", ""] {
            assert_eq!(per.count(nothing), None, "{nothing}");
        }
        for wrong in ["(", "files", "(a)(b)"] {
            let error = Per::regex(wrong).unwrap_err();
            assert!(error.id == "invalid-count-expression" && error.help.is_some(), "{wrong}");
        }
        assert_eq!(Per::with_known_readers("pages").unwrap_err().id, "cannot-count");
    }
}
