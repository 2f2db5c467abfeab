//! `zc soak` as text: live load, the verification with known loads, and the cost of a command.

mod command;
mod figures;
mod meter;
mod rows;
mod service;

use std::fmt::Write as _;

use figures::{cpus, figure, plus_minus};

use crate::text::{left, right};

pub use command::command;
pub use meter::{MeterFigures, meter};
pub use service::{ServiceDocument, service, service_schema};
use zc_analysis::soak::{Load, PlusMinus, TakenShare, Verified, VerifyRow};
use zc_run::{BurnShape, SoakStart, SoakVerify, SoakerKind, SoakerRank, escape};

/// The largest number of CPUs with a column each.
const MOST_COLUMNS: usize = 16;

/// The rank of the soakers and their cost to other tasks, in two lines.
pub fn start(start: &SoakStart, taken: Option<TakenShare>) -> String {
    let rank = match &start.rank {
        SoakerRank::Cgroup { path } => {
            format!(
                "ranked below all other tasks by cpu.idle of their cgroup, {}",
                escape(path, 200)
            )
        }
        SoakerRank::Autogroup => {
            "ranked below other sessions by nice 19 of their autogroup".to_owned()
        }
        SoakerRank::Class { reason } => {
            format!("ranked below the tasks of their own group only: {}", escape(reason, 200))
        }
    };
    let kind = match start.soaker {
        SoakerKind::Alu => "",
        SoakerKind::Cache => " (dirtying cache lines)",
    };
    format!("soakers{kind} on {}, {rank}\n{}\n", cpus(&start.cpus), taken_text(taken))
}

fn taken_text(taken: Option<TakenShare>) -> String {
    let Some(taken) = taken else {
        return "what they take from other processes is not known: the machine was too busy to \
            measure it"
            .to_owned();
    };
    format!(
        "the soakers took {} of a busy CPU from a process of another session{} (by its own clock \
         it lost {}, and {} \
         while they slept)",
        percent(taken.soakers),
        if taken.other_cgroup { " and another cgroup" } else { "" },
        percent(taken.lost),
        percent(taken.lost_unsoaked),
    )
}

/// The heading of the lines of load.
pub fn live_heading(start: &SoakStart) -> String {
    let mut line = right("calibrated", 12);
    if start.cpus.len() <= MOST_COLUMNS {
        for cpu in &start.cpus {
            line += &right(&format!("cpu{cpu}"), 9);
        }
    } else {
        line += &(right("busiest", 9) + &right("is", 9));
    }
    line + &right("CPUs", 9) + &right("/proc/stat", 12) + &right("stolen", 9) + "\n"
}

/// A line of load, `age_ns` after the idle rates were taken.
pub fn live_line(start: &SoakStart, load: &Load, age_ns: u64) -> String {
    let mut line = right(&format!("{:.0} s ago", age_ns as f64 / 1e9), 12);
    if start.cpus.len() <= MOST_COLUMNS {
        for share in &load.cpus {
            line += &right(&percent(*share), 9);
        }
    } else if let Some((place, share)) =
        load.cpus.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))
    {
        let cpu = start.cpus.get(place).copied().unwrap_or(place);
        line += &(right(&format!("cpu{cpu}"), 9) + &right(&percent(*share), 9));
    }
    let stolen =
        if load.steal_cpus > 0.0 { format!("{:.2}", load.steal_cpus) } else { "-".to_owned() };
    line + &right(&figure(load.busy_cpus, 2), 9)
        + &right(&figure(load.stat_cpus, 2), 12)
        + &right(&stolen, 9)
        + "\n"
}

/// The table of known loads, and the largest error of each method.
pub fn verify(seen: &SoakVerify, verified: &Verified) -> String {
    let burner = seen.cpus.get(seen.burner).copied().unwrap_or(0);
    let rows = &verified.rows;
    let mut text = format!(
        "known loads on CPU {burner}, in percent of it; errors in percentage points, with their 95 \
         % interval;\n\
         /proc/stat in the same windows; without soakers, its busy time, and the idle time of the \
         machine\n\n"
    );
    text += &verified_line([
        "load",
        "truth",
        "soaked",
        "error",
        "/proc/stat",
        "by busy",
        "by idle",
        "wake-ups/s",
    ]);
    for row in rows {
        let cells = [
            name(row),
            figure(100.0 * row.truth, 2),
            figure(100.0 * row.soaked, 2),
            points(row.error, 2),
            points(row.stat_error, 1),
            points(row.stat_unsoaked_error, 1),
            row.by_idle_error.map_or_else(String::new, |error| points(error, 2)),
            format!("{:.0}", row.wakeups_per_s),
        ];
        text += &verified_line(cells.each_ref().map(String::as_str));
    }
    text.push('\n');
    if let Some(cost) = verified.wakeup_cost_ns {
        let half = cost.half_width.map(|half| format!(" ±{:.1}", half / 1e3)).unwrap_or_default();
        let _ = writeln!(
            text,
            "part of the error of smooth loads is wake-up work that the kernel charges to the \
             interrupted soaker:\n\
             {:.1}{half} us each, measured at smooth 0 %, where the burner only wakes up",
            cost.value / 1e3
        );
    }
    if verified.dropped > 0 {
        let _ = writeln!(
            text,
            "{} of {} windows were dropped: something else used more than 2 % of the CPUs in or \
             next to them",
            verified.dropped,
            seen.visits.len()
        );
    }
    let largest = |of: fn(&VerifyRow) -> Option<f64>| {
        let errors = rows.iter().filter_map(|row| Some((100.0 * of(row)?.abs(), name(row))));
        errors
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(error, at)| format!("{error:.2} points (at {at})"))
    };
    let by = [
        ("soakers", largest(|row| Some(row.error.value))),
        ("/proc/stat", largest(|row| Some(row.stat_error.value))),
        ("idle time", largest(|row| Some(row.by_idle_error?.value))),
    ];
    let by: Vec<String> =
        by.into_iter().filter_map(|(who, most)| Some(format!("{who} {}", most?))).collect();
    let windows = rows.iter().map(|row| row.visits).min().unwrap_or(0);
    let _ = writeln!(text, "largest error of {windows} windows of each load: {}", by.join(", "));
    text
}

/// A line of the table of known loads.
fn verified_line(cells: [&str; 8]) -> String {
    let [load, figures @ ..] = cells;
    let widths = [7, 8, 14, 14, 14, 14, 12];
    let figures = figures.iter().zip(widths).map(|(cell, width)| right(cell, width));
    left(load, 12) + &figures.collect::<String>() + "\n"
}

fn name(row: &VerifyRow) -> String {
    let shape = match row.shape {
        BurnShape::Smooth => "smooth",
        BurnShape::Bursty => "bursty",
    };
    format!("{shape} {} %", row.percent)
}

/// An error in percentage points.
fn points(error: PlusMinus, places: usize) -> String {
    let sign = if error.value >= 0.0 { "+" } else { "" };
    let scaled = PlusMinus {
        value: 100.0 * error.value,
        half_width: error.half_width.map(|half| 100.0 * half),
    };
    let text = plus_minus(scaled, places);
    if text.starts_with(['-', '+']) { text } else { format!("{sign}{text}") }
}

fn percent(share: f64) -> String {
    format!("{} %", figure(100.0 * share, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soak_start(cpus: Vec<usize>, rank: SoakerRank) -> SoakStart {
        SoakStart {
            cpus,
            soaker: SoakerKind::Alu,
            rank,
            idle: Vec::new(),
            pace: Vec::new(),
            taken: None,
            emulated: false,
            cpu_quota: None,
            irq_time_accounting: None,
            thread_clock_step_ns: None,
        }
    }

    #[test]
    fn lines_of_load_are_aligned_with_their_heading() {
        let start = soak_start(vec![0, 1], SoakerRank::Autogroup);
        let load = Load {
            elapsed_ns: 1,
            cpus: vec![0.1234, -0.0001],
            busy_cpus: 0.1233,
            stat_cpus: 0.11,
            steal_cpus: 0.0,
        };
        insta::assert_snapshot!(live_heading(&start) + &live_line(&start, &load, 61_000_000_000), @"
         calibrated     cpu0     cpu1     CPUs  /proc/stat   stolen
           61 s ago   12.3 %    0.0 %     0.12        0.11        -
        ");
    }

    #[test]
    fn columns_never_touch_however_large_a_figure_is() {
        for cpus in [2, 64] {
            let start = soak_start((1_000_000..1_000_000 + cpus).collect(), SoakerRank::Autogroup);
            let load = Load {
                elapsed_ns: 1,
                cpus: vec![-1e9; cpus],
                busy_cpus: -1e12,
                stat_cpus: 1e15,
                steal_cpus: 1e12,
            };
            // "ago" and "%" are words of their own.
            let line = live_line(&start, &load, u64::MAX);
            let words = line.split_whitespace().filter(|word| !["s", "ago", "%"].contains(word));
            assert_eq!(words.count(), 6, "{line}");
        }
        let wide = verified_line(["123456789012345"; 8]);
        assert_eq!(wide.split_whitespace().count(), 8, "{wide}");
    }

    #[test]
    fn of_many_cpus_the_busiest_is_shown() {
        let start = soak_start((0..64).collect(), SoakerRank::Autogroup);
        let mut cpus = vec![0.0; 64];
        cpus[17] = 0.5;
        let load = Load { elapsed_ns: 1, cpus, busy_cpus: 0.5, stat_cpus: 0.0, steal_cpus: 0.25 };
        insta::assert_snapshot!(live_heading(&start) + &live_line(&start, &load, 0), @"
         calibrated  busiest       is     CPUs  /proc/stat   stolen
            0 s ago    cpu17   50.0 %     0.50        0.00     0.25
        ");
    }

    #[test]
    fn rank_and_taken_share_are_shown() {
        let taken =
            TakenShare { soakers: 0.003, lost: 0.0041, lost_unsoaked: 0.001, other_cgroup: true };
        let start = |rank| super::start(&soak_start(vec![0, 2, 3, 4], rank), Some(taken));
        let cgroup = SoakerRank::Cgroup { path: "/sys/fs/cgroup/zc-soakers".into() };
        insta::assert_snapshot!(start(cgroup));
        assert!(
            start(SoakerRank::Class { reason: "no".into() })
                .contains("ranked below the tasks of their own group only: no")
        );
    }

    #[test]
    fn known_loads_make_a_table() {
        let row = |shape, percent, error| VerifyRow {
            shape,
            percent,
            visits: 8,
            truth: f64::from(percent) / 100.0,
            soaked: f64::from(percent) / 100.0 + error,
            error: PlusMinus { value: error, half_width: Some(0.001) },
            stat: 0.4,
            stat_error: PlusMinus { value: f64::from(percent) / -1000.0, half_width: None },
            stat_unsoaked: 0.3,
            stat_unsoaked_error: PlusMinus { value: -0.2, half_width: Some(0.03) },
            by_idle: Some(0.5),
            by_idle_error: Some(PlusMinus { value: 0.011, half_width: Some(0.02) }),
            wakeups_per_s: 999.6,
        };
        let rows = vec![
            row(BurnShape::Smooth, 0, 0.0102),
            row(BurnShape::Smooth, 5, 0.0131),
            row(BurnShape::Bursty, 95, -0.0001),
        ];
        let wakeup_cost_ns = Some(PlusMinus { value: 10_230.0, half_width: Some(410.0) });
        let seen =
            SoakVerify { cpus: vec![0, 1], burner: 1, soaker: SoakerKind::Alu, visits: Vec::new() };
        insta::assert_snapshot!(verify(&seen, &Verified { rows, wakeup_cost_ns, dropped: 0 }));
        assert!(
            verify(&seen, &Verified { rows: vec![], wakeup_cost_ns: None, dropped: 3 })
                .contains("load")
        );
    }
}
