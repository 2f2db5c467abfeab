//! `zc doctor` as text and JSON: the machine, what is available to this user, and conditions that
//! weaken measurements.

use schemars::JsonSchema;
use serde::Serialize;

use crate::digits::bytes;
use crate::run::account;
use crate::text::{shown, wrap};
use zc_analysis::AccountKind;
use zc_run::{CGROUP_CLOCKS, Host, Severity, Support, SupportRow, WHY_EMULATED, Warning, escape};

/// The least indentation of texts.
const INDENT: usize = 16;

/// Fitness of a machine to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fitness {
    /// No warnings.
    Fit,
    /// Fit; the notes are conditions of the results.
    WithNotes,
    /// Intervals may be wide, or figures off.
    WithDoubts,
    /// Verdicts would be withheld.
    Unfit,
}

impl Fitness {
    /// Fitness of a machine with these warnings.
    pub fn from_warnings(warnings: &[Warning]) -> Self {
        match warnings.iter().map(|warning| warning.severity).max() {
            None => Self::Fit,
            Some(Severity::Note) => Self::WithNotes,
            Some(Severity::Doubt) => Self::WithDoubts,
            Some(Severity::Withhold) => Self::Unfit,
        }
    }
}

/// Output of `zc doctor --json`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Output of zc doctor --json")]
struct Document<'a> {
    /// Fitness of the machine to measure, by the gravest of the warnings.
    fitness: Fitness,
    /// The machine and its kernel.
    host: &'a Host,
    /// Links, send and receive paths and meters, each with whether this user can use it here.
    available: &'a [SupportRow],
    /// Warnings about the machine.
    warnings: &'a [Warning],
}

/// Returns one JSON document.
pub fn json(host: &Host, rows: &[SupportRow], warnings: &[Warning]) -> String {
    crate::json::text(&Document {
        fitness: Fitness::from_warnings(warnings),
        host,
        available: rows,
        warnings,
    })
}

/// The JSON Schema (draft 2020-12) of [`json`].
pub fn json_schema() -> String {
    crate::json::schema_of::<Document<'static>>()
}

/// The machine, the rows grouped by kind, and the warnings, the gravest first.
pub fn text(host: &Host, rows: &[SupportRow], warnings: &[Warning], columns: usize) -> String {
    let names =
        rows.iter().map(|row| &row.name).chain(warnings.iter().map(|warning| &warning.name));
    let indent =
        names.map(|name| shown(name).chars().count() + 4).max().unwrap_or(0).clamp(INDENT, 40);
    let mut out = machine(host, rows, indent, columns);
    out.push_str(&conditions(host, columns));
    let mut kinds: Vec<&str> = Vec::new();
    for row in rows {
        if !kinds.contains(&row.what.as_str()) {
            kinds.push(&row.what);
        }
    }
    for kind in kinds {
        out.push_str(&format!("\n{}s\n", shown(kind)));
        for row in rows.iter().filter(|row| row.what == kind) {
            let (text, remedy) = match &row.support {
                Support::Yes => ("yes".to_owned(), None),
                Support::No(no) => (
                    format!("no, {}: {}", no.kind.name(), escape(&no.reason, 600)),
                    no.remedy.as_deref(),
                ),
            };
            out.push_str(&wrap(&format!("  {} ", shown(&row.name)), &text, indent, columns));
            if let Some(remedy) = remedy {
                out.push_str(&wrap(
                    "",
                    &format!("to change it: {}", escape(remedy, 600)),
                    indent,
                    columns,
                ));
            }
        }
    }

    out.push_str("\nfitness\n");
    let fitness = Fitness::from_warnings(warnings);
    let mut warnings: Vec<&Warning> = warnings.iter().collect();
    warnings.sort_by_key(|warning| std::cmp::Reverse(warning.severity));
    for warning in &warnings {
        let word = match warning.severity {
            Severity::Note => "note",
            Severity::Doubt => "doubt",
            Severity::Withhold => "unfit",
        };
        let text = format!("{word}: {}", escape(&warning.text, 600));
        out.push_str(&wrap(&format!("  {} ", shown(&warning.name)), &text, indent, columns));
        if let Some(remedy) = &warning.remedy {
            out.push_str(&wrap(
                "",
                &format!("to change it: {}", escape(remedy, 600)),
                indent,
                columns,
            ));
        }
    }
    out.push('\n');
    out.push_str(match fitness {
        Fitness::Fit => "This machine is fit to measure: nothing was found against it.\n",
        Fitness::WithNotes => {
            "This machine is fit to measure; the notes are conditions of the results.\n"
        }
        Fitness::WithDoubts => {
            "This machine can measure, with doubts: intervals may be wide, or figures off.\n"
        }
        Fitness::Unfit => {
            "This machine is not fit to measure as it is: verdicts would be withheld.\n"
        }
    });
    out
}

/// Other conditions of this host that change costs.
fn conditions(host: &Host, columns: usize) -> String {
    let width = host.conditions.keys().map(|name| shown(name).chars().count()).max().unwrap_or(0);
    let lines = host.conditions.iter().map(|(name, value)| {
        wrap(&format!("  {}", shown(name)), &escape(value, 300), width.min(40) + 4, columns)
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("\nconditions\n{lines}") }
}

/// The account of costs that this kernel permits.
fn costs(host: &Host, rows: &[SupportRow]) -> String {
    if host.is_emulated() {
        return format!("none: {WHY_EMULATED}");
    }
    let cgroups = rows.iter().find(|row| row.name == CGROUP_CLOCKS);
    let has_cgroups = cgroups.is_some_and(|row| row.support == Support::Yes);
    account::in_words(AccountKind::permitted_by(host, has_cgroups))
}

fn machine(host: &Host, rows: &[SupportRow], indent: usize, columns: usize) -> String {
    let cpu = &host.cpu;
    let mut lines = vec![
        ("machine", shown(&host.hostname)),
        ("kernel", format!("Linux {} {}", shown(&host.kernel_release), shown(&host.machine))),
        (
            "CPUs",
            format!(
                "{}, {} online, {} for this process{}{}{}",
                shown(&cpu.model),
                cpu.online,
                cpu.allowed.len(),
                cpu.threads_per_core
                    .filter(|threads| *threads > 1)
                    .map_or_else(String::new, |threads| format!(", {threads} threads to a core")),
                cpu.governor
                    .as_deref()
                    .map_or_else(String::new, |governor| format!(", governor {}", shown(governor))),
                match cpu.boost {
                    Some(true) => ", boost on",
                    Some(false) => ", boost off",
                    None => "",
                }
            ),
        ),
        (
            "memory",
            format!(
                "{} of {} available",
                bytes(host.memory.available_bytes as f64),
                bytes(host.memory.total_bytes as f64)
            ),
        ),
    ];
    if let Some(hypervisor) = &host.hypervisor {
        lines.push(("hypervisor", shown(hypervisor)));
    }
    let accounting = match host.irq_time_accounting {
        Some(true) => "with interrupt time",
        Some(false) => "by the tick, without interrupt time",
        None => "unknown",
    };
    let tick = host.tick_hz.map_or_else(String::new, |hz| format!(", tick at {hz} Hz"));
    let steal = match host.paravirt_time_accounting {
        Some(true) => ", task clocks without steal",
        Some(false) => ", task clocks with steal",
        None => "",
    };
    lines.push(("CPU accounting", format!("{accounting}{tick}{steal}")));
    lines.push(("costs", costs(host, rows)));
    if let Some(clocksource) = &host.clocksource {
        lines.push(("clock", shown(clocksource)));
    }
    let limit = |value: Option<u64>| {
        value.map_or_else(|| "unlimited".to_owned(), |value| bytes(value as f64))
    };
    lines.push((
        "limits",
        format!(
            "RLIMIT_MEMLOCK {}, RLIMIT_NOFILE {}, user {}",
            limit(host.memlock_bytes),
            host.nofile.map_or_else(|| "unlimited".to_owned(), |value| value.to_string()),
            host.euid
        ),
    ));
    lines.iter().map(|(label, text)| wrap(label, text, indent, columns)).collect()
}
