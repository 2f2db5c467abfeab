//! Files of plans: TOML that is mostly a plan, and what must hold for the plan that is read.

use std::collections::HashSet;

use arbitrary::Arbitrary;
use zc_measure::plan::parse;
use zc_run::{ErrorKind, Experiment, Factor, RecvPath, SendPath};

/// A file of lines, most of which belong into a plan.
#[derive(Debug, Clone, Arbitrary)]
pub struct PlanFile {
    /// Begins with a built-in plan.
    builtin: Option<u8>,
    lines: Vec<Line>,
    splices: Vec<Splice>,
}

#[derive(Debug, Clone, Arbitrary)]
enum Line {
    Name(String),
    Budget(Typed),
    Compare(Vec<u8>),
    Rates(u8),
    Unsoaked(u8),
    FixedTable,
    ReferenceTable,
    Key(u8, Typed),
    Factor { factor: u8, levels: Vec<Level> },
    Raw(String),
}

#[derive(Debug, Clone, Arbitrary)]
enum Typed {
    Known(u8),
    Number(i64),
    Text(String),
}

#[derive(Debug, Clone, Arbitrary)]
enum Level {
    /// An example that the factor's own definition gives.
    Example(u8),
    Typed(Typed),
}

/// Text in place of a part of the file.
#[derive(Debug, Clone, Arbitrary)]
struct Splice {
    at: u16,
    removed: u8,
    text: String,
}

const KNOWN: &[&str] = &[
    "",
    "64k",
    "1m",
    "4096",
    "16g",
    "64kB",
    "1g",
    "400MB/s",
    "10Gbit/s",
    "auto",
    "60s",
    "1m30s",
    "500ms",
    "24h",
    "2.5%",
    "veth",
    "null",
    "loopback",
    "sendfile",
    "read+send",
    "cubic",
    "bbr",
    "no-tso",
    "no-tso+no-gso",
    "all",
    "page",
    "1500",
    "9000",
    "0",
    "1",
    "cork",
    "A",
    "B",
    "one",
    "by-level",
    "in-turn",
    "top-speed",
];

const KEYS: &[&str] = &[
    "link",
    "rate",
    "flows",
    "files",
    "cpus",
    "ip",
    "rtt",
    "ack-every",
    "ack-interval",
    "soakers",
    "name",
    "budget",
    "question",
    "mtu",
    "sockbuf",
    "message",
    "send",
    "recv",
    "state",
];

/// More cells than this are not made: the reading of the plan is what is tested.
const MOST_CELLS: usize = 400;

impl Typed {
    fn toml(&self) -> String {
        match self {
            Self::Known(which) => format!("{:?}", pick(KNOWN, *which)),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => format!("{text:?}"),
        }
    }
}

impl Line {
    fn toml(&self) -> String {
        let name = |factor: u8| pick(Factor::ALL, factor).name();
        match self {
            Self::Name(name) => format!("name = {name:?}"),
            Self::Budget(typed) => format!("budget = {}", typed.toml()),
            Self::Compare(factors) => {
                let names: Vec<String> =
                    factors.iter().take(8).map(|&factor| format!("{:?}", name(factor))).collect();
                format!("compare = [{}]", names.join(", "))
            }
            Self::Rates(which) => format!("rates = {:?}", pick(KNOWN, *which)),
            Self::Unsoaked(which) => format!("unsoaked = {:?}", pick(KNOWN, *which)),
            Self::FixedTable => "[fixed]".to_owned(),
            Self::ReferenceTable => "[reference]".to_owned(),
            Self::Key(key, typed) => format!("{} = {}", pick(KEYS, *key), typed.toml()),
            Self::Factor { factor, levels } => {
                let examples = pick(Factor::ALL, *factor).definition().examples();
                let levels: Vec<String> = levels
                    .iter()
                    .take(12)
                    .map(|level| match level {
                        Level::Example(which) if !examples.is_empty() => {
                            format!("{:?}", pick(examples, *which))
                        }
                        Level::Example(_) => "\"\"".to_owned(),
                        Level::Typed(typed) => typed.toml(),
                    })
                    .collect();
                format!("[[factor]]\nname = {:?}\nlevels = [{}]", name(*factor), levels.join(", "))
            }
            Self::Raw(text) => text.clone(),
        }
    }
}

impl PlanFile {
    /// The text of the file.
    pub fn text(&self) -> String {
        let builtin = self.builtin.map(|which| pick(Experiment::ALL, which).definition());
        let mut text = builtin.and_then(|of| of.plan_file().ok()).unwrap_or_default();
        for line in self.lines.iter().take(24) {
            text.push_str(&line.toml());
            text.push('\n');
        }
        for splice in self.splices.iter().take(4) {
            let place = |at: usize| (at..).find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let from = place(usize::from(splice.at) % (text.len() + 1));
            let to = place((from + usize::from(splice.removed)).min(text.len()));
            text.replace_range(from..to, &splice.text);
        }
        text
    }
}

/// What is no plan is a sentence with the file's name; what is one has cells that differ, and among
/// them the reference and its control.
pub fn check(text: &str) {
    let spec = match parse(text, "my.toml") {
        Ok(spec) => spec,
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Usage, "{error}");
            assert!(error.message.starts_with("plan \"my.toml\", line "), "{error}");
            let lines = text.bytes().filter(|&byte| byte == b'\n').count() + 1;
            let line = &error.message["plan \"my.toml\", line ".len()..];
            let line: String = line.chars().take_while(char::is_ascii_digit).collect();
            assert!((1..=lines).contains(&line.parse().expect("a number")), "{error}");
            assert!(error.message.chars().all(zc_run::is_safe), "{error}");
            return;
        }
    };
    assert!(parse(text, "my.toml").is_ok_and(|again| again == spec));
    assert!(!spec.factors.is_empty() && spec.factors.len() == spec.reference.len());
    for ((factor, levels), reference) in spec.factors.iter().zip(&spec.reference) {
        assert!(levels.contains(reference) && reference.factor == *factor);
    }
    let mut in_states = spec.clone();
    in_states.in_both_states();
    for spec in [&spec, &in_states] {
        if spec.product() > MOST_CELLS {
            continue;
        }
        let Ok(cells) = spec.cells(SendPath::ReadSend, RecvPath::Recv) else { continue };
        let labels: HashSet<&str> = cells.cells.iter().map(|cell| cell.label.as_str()).collect();
        assert_eq!(labels.len(), cells.cells.len(), "two cells have one label");
        assert!(labels.contains(cells.reference.as_str()), "the reference is not measured");
        assert!(cells.cells.iter().any(|cell| cell.control), "there is no control");
        for by in cells.cells.iter().filter_map(|cell| cell.by.as_deref()) {
            assert!(labels.contains(by), "\"{by}\" is not measured");
        }
    }
}

fn pick<T: Copy>(all: &[T], which: u8) -> T {
    all[usize::from(which) % all.len()]
}
