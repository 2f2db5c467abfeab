//! The cost of a command as text: its CPU time, what that consists of, and what the command's own
//! accounts say.

use std::fmt::Write as _;

use super::figures::{cpus, figure, plus_minus};
use super::rows::{Rows, places};
use zc_analysis::soak::{Against, CommandCost, CostBy, IntervalOver};
use zc_run::{CommandEnd, SoakCommand, escape};

/// The cost of a command, what it consists of, and the difference to its own accounts in words.
pub fn command(seen: &SoakCommand, cost: &CommandCost) -> String {
    let half_width = cost.cpu_s.and_then(|cost| cost.half_width);
    let places = places(half_width, 1.0).unwrap_or(3);
    let mut rows = Rows::below(executions(seen, cost, places), places);
    let (name, how) = match cost.by {
        CostBy::OwnClocks => ("cost", "CPU s by the clocks of its tasks and of the soakers"),
        CostBy::WallTime => ("soaked", "CPU s that the soakers lost"),
    };
    let how = format!("{how}{}", interval(cost));
    rows.headline(name, cost.cpu_s, cost.withheld.as_deref(), &how);
    if let Some(per) = &cost.per {
        let of = format!("of {:.0} in an execution, by {}", per.count, per.by);
        rows.per(per.unit, per.cost_ns, &of);
    }
    let own = format!(
        "{} user, {} system: it and the children it waited for",
        figure(cost.user_cpu_s, places),
        figure(cost.system_cpu_s, places)
    );
    rows.figure("  the command", cost.user_cpu_s + cost.system_cpu_s, &own);
    if let Some(accounts) = &cost.accounts {
        if accounts.interrupts_unseen {
            rows.figure("  interrupts", accounts.interrupts_s, ON_SOAKERS_ALONE);
        } else {
            rows.small("  interrupts", accounts.interrupts_s, BESIDE_IT);
        }
        rows.small("  ksoftirqd", accounts.ksoftirqd_s, "softirqs that were put off");
        if accounts.others_are_in {
            for process in &accounts.processes {
                rows.process(&process.name, process.cpu_s);
            }
            rows.small("  other processes", accounts.other_processes_s, "small ones");
            rows.small("  kernel threads", accounts.kernel_threads_s, "by their CPU clocks");
        }
        let by_own_clocks = cost.by == CostBy::OwnClocks;
        let beside = if by_own_clocks { "not in the cost: " } else { "" };
        if !accounts.others_are_in {
            rows.small("others", accounts.others_s, NOT_FOR_IT);
        }
        let indent = if by_own_clocks { "" } else { "  " };
        let row = |name: &str| format!("{indent}{name}");
        rows.small(&row("this zc"), accounts.zc_s, &format!("{beside}which starts it"));
        rows.small(&row("stolen"), accounts.stolen_s, &format!("{beside}by the hypervisor"));
        if let Some(left) = accounts.unattributed_s {
            if by_own_clocks {
                rows.plus_minus("unattributed", left, unattributed(accounts.add_up));
            } else {
                rows.left(left.value, accounts.add_up, ELSE_IT_IS);
            }
        }
    }
    rows.stat(cost.stat_cpu_s);
    rows.text() + &difference(cost, places)
}

const BESIDE_IT: &str = "and softirqs, beside it; those on a task's time are in that task's";

const ON_SOAKERS_ALONE: &str = "and softirqs, on the soakers' time alone: they hardly ran, and \
    those on other programs' are missing";

const NOT_FOR_IT: &str =
    "not in the cost: other tasks beyond the idle windows; not shown to work for it";

const ELSE_IT_IS: &str =
    "in no account: processes that ended meanwhile and were not its children, or noise";

/// Description of the wall time that the soakers lost and that is in no account.
fn unattributed(add_up: bool) -> &'static str {
    if add_up {
        "that the soakers lost by wall time beyond all this; within its interval: nothing is \
         missing"
    } else {
        "that the soakers lost by wall time beyond all this: processes that ended meanwhile and \
         were not its children, or a slower CPU"
    }
}

/// The command, the number and length of its executions, and how they ended.
fn executions(seen: &SoakCommand, cost: &CommandCost, places: usize) -> String {
    let name = escape(&seen.command.join(" "), 100);
    let cpus = cpus(&seen.start.cpus);
    let elapsed = plus_minus(cost.elapsed_s, places);
    let last = seen.runs.last().map_or(CommandEnd::Exited { code: 0 }, |run| run.end);
    let ended = |end| match end {
        CommandEnd::Exited { code } => format!("exited with {code}"),
        CommandEnd::Killed { signal } => format!("was killed by signal {signal}"),
    };
    let mut text = match cost.executions {
        // What failed is left out where another one did not.
        1 if cost.failed > 0 => format!("\"{name}\" exited with 0 after {elapsed} s on {cpus}\n"),
        1 => format!("\"{name}\" {} after {elapsed} s on {cpus}\n", ended(last)),
        count => format!("\"{name}\" {count} times, {elapsed} s each, on {cpus}\n"),
    };
    if cost.failed > 0 {
        let _ = writeln!(
            text,
            "left out: {} that did not exit with 0; the last one {}",
            cost.failed,
            ended(last)
        );
    } else if cost.executions > 1 && last != (CommandEnd::Exited { code: 0 }) {
        let _ = writeln!(text, "none of them exited with 0; the last one {}", ended(last));
    }
    text
}

/// The scope of the soaked figure's interval, in words.
fn interval(cost: &CommandCost) -> String {
    match cost.interval_over {
        IntervalOver::Executions => {
            format!("; mean and 95 % interval of {} executions", cost.executions)
        }
        IntervalOver::IdleWindows => {
            "; the interval is this execution's alone: another one may cost something else"
                .to_owned()
        }
        IntervalOver::Nothing => "; without an interval".to_owned(),
    }
}

/// The difference to the command's own accounts, in words.
fn difference(cost: &CommandCost, places: usize) -> String {
    let by = cost.beyond_getrusage_s.map_or_else(String::new, |beyond| {
        let half = beyond.half_width.unwrap_or(0.0);
        format!("{:.places$} ±{half:.places$} CPU s", beyond.value.abs())
    });
    match cost.against_getrusage {
        Against::More => {
            format!("the machine lost {by} more to it than its own accounts show\n")
        }
        Against::Less => format!(
            "its own accounts show {by} more than the machine lost: interrupts are charged to the \
             task they interrupt, and what ran in the idle windows before it no longer ran\n"
        ),
        Against::Same => {
            let half = cost.beyond_getrusage_s.and_then(|it| it.half_width).unwrap_or(0.0);
            format!("its own accounts and the soakers agree within ±{half:.places$} CPU s\n")
        }
        Against::Withheld => String::new(),
        Against::Unknown => "there is no interval: no idle windows after it\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_analysis::soak::{Accounts, NamedTime, PerCost, PlusMinus, Unit};
    use zc_run::{CommandRun, SoakStart, SoakerKind, SoakerRank};

    fn seen() -> SoakCommand {
        SoakCommand {
            command: vec!["make".into(), "-j2".into(), "a\nb".into()],
            start: SoakStart {
                cpus: vec![0, 1],
                soaker: SoakerKind::Alu,
                rank: SoakerRank::Autogroup,
                idle: Vec::new(),
                pace: Vec::new(),
                taken: None,
                emulated: false,
                cpu_quota: None,
                irq_time_accounting: None,
                thread_clock_step_ns: None,
            },
            runs: Vec::new(),
        }
    }

    fn cost(against: Against, beyond: f64) -> CommandCost {
        let plus_minus = |value, half| PlusMinus { value, half_width: Some(half) };
        CommandCost {
            executions: 9,
            failed: 0,
            elapsed_s: plus_minus(6.4021, 0.0112),
            cpu_s: Some(plus_minus(12.314, 0.083)),
            by: CostBy::OwnClocks,
            soaked_cpu_s: Some(plus_minus(12.333, 0.12)),
            withheld: None,
            interval_over: IntervalOver::Executions,
            user_cpu_s: 10.0,
            system_cpu_s: 2.314 - beyond,
            stat_cpu_s: 12.1,
            beyond_getrusage_s: Some(plus_minus(beyond, 0.061)),
            against_getrusage: against,
            accounts: Some(Accounts {
                command_s: 12.314 - beyond,
                processes: vec![NamedTime { name: "nginx".into(), cpu_s: beyond - 0.14 }],
                other_processes_s: 0.0001,
                kernel_threads_s: 0.021,
                others_s: beyond - 0.119,
                others_are_in: true,
                zc_s: 0.002,
                interrupts_s: 0.1,
                interrupts_unseen: false,
                ksoftirqd_s: 0.019,
                stolen_s: 0.0,
                unattributed_s: Some(plus_minus(0.017, 0.09)),
                add_up: true,
            }),
            per: None,
            idle_shift: Some(0.001),
            cpus: vec![0.97, 0.95],
        }
    }

    #[test]
    fn a_command_s_cost_is_divided_among_those_who_had_it() {
        insta::assert_snapshot!(command(&seen(), &cost(Against::More, 0.39)));
        assert!(command(&seen(), &cost(Against::Same, 0.01)).contains("agree within ±0.061"));
        assert!(
            command(&seen(), &cost(Against::Less, -0.5))
                .contains("show 0.500 ±0.061 CPU s more than the machine lost")
        );
    }

    #[test]
    fn other_tasks_that_did_not_work_for_it_stand_below_its_cost() {
        let mut beside = cost(Against::More, 0.39);
        let accounts = beside.accounts.as_mut().unwrap();
        accounts.others_are_in = false;
        accounts.others_s = -0.21;
        accounts.interrupts_unseen = true;
        accounts.add_up = false;
        insta::assert_snapshot!(command(&seen(), &beside));
        beside.by = CostBy::WallTime;
        let accounts = beside.accounts.as_mut().unwrap();
        (accounts.others_are_in, accounts.interrupts_unseen) = (true, false);
        insta::assert_snapshot!(command(&seen(), &beside));
    }

    #[test]
    fn a_request_has_a_row_and_so_has_a_megabyte() {
        let per = |unit, ns| {
            let cost_ns = PlusMinus { value: ns, half_width: Some(ns / 50.0) };
            let per = Some(PerCost { unit, by: "wrk".into(), count: 31_234.4, cost_ns });
            let text = command(&seen(), &CommandCost { per, ..cost(Against::More, 0.39) });
            text.lines().nth(2).unwrap_or_default().trim().to_owned()
        };
        let rows = [per(Unit::Requests, 43_210.0), per(Unit::Bytes, 0.21)].join("\n");
        insta::assert_snapshot!(rows, @"
        per request        43.21 ±0.86 us   of 31234 in an execution, by wrk
        per MB             210.0 ±4.2 us    of 31234 in an execution, by wrk
        ");
    }

    #[test]
    fn one_execution_says_nothing_of_the_next() {
        let one = CommandCost {
            executions: 1,
            interval_over: IntervalOver::IdleWindows,
            elapsed_s: PlusMinus { value: 6.4021, half_width: None },
            ..cost(Against::More, 0.39)
        };
        insta::assert_snapshot!(command(&seen(), &one));
    }

    #[test]
    fn how_an_execution_ended_is_told_of_the_one_that_counts() {
        let run = |code| CommandRun {
            idle_before: Vec::new(),
            window: Default::default(),
            end: CommandEnd::Exited { code },
            user_ns: 0,
            system_ns: 0,
            idle_after: Vec::new(),
            zc_ns: 0,
            processes: Default::default(),
            did: None,
        };
        let first_lines = |codes: &[i32], executions, failed| {
            let seen =
                SoakCommand { runs: codes.iter().map(|code| run(*code)).collect(), ..seen() };
            let cost = CommandCost { executions, failed, ..cost(Against::Same, 0.01) };
            command(&seen, &cost).lines().take(2).map(str::to_owned).collect::<Vec<_>>()
        };
        let one_of_two = first_lines(&[0, 5], 1, 1);
        assert!(one_of_two[0].contains("exited with 0 after"), "{one_of_two:?}");
        assert!(one_of_two[1].contains("left out: 1") && one_of_two[1].contains("exited with 5"));
        let none = first_lines(&[5, 5], 2, 0);
        assert_eq!(none[1], "none of them exited with 0; the last one exited with 5");
        assert!(first_lines(&[5], 1, 0)[0].contains("exited with 5 after"));
    }

    #[test]
    fn a_figure_that_is_withheld_is_not_there() {
        let withheld = CommandCost {
            cpu_s: None,
            soaked_cpu_s: None,
            by: CostBy::WallTime,
            withheld: Some("something else used 40 % of the CPUs in the idle windows".into()),
            beyond_getrusage_s: None,
            accounts: None,
            failed: 1,
            ..cost(Against::Withheld, 0.39)
        };
        insta::assert_snapshot!(command(&seen(), &withheld));
    }
}
