//! The answer on machines whose truth is known.

use std::ops::Range;

use super::worlds::{Measured, NEUTRAL, Truth, World, lines, phase};
use super::*;
use crate::estimate;
use zc_run::{FailedTrial, Slot, Support, SupportRow, Unavailable};

fn truth(cpu: f64) -> Truth {
    Truth { cpu, ..NEUTRAL }
}

fn saves(answer: &Answer, index: usize) -> f64 {
    match answer.lines[index].verdict {
        LineVerdict::Change { saves: Some(by), .. } => by,
        ref other => panic!("{other:?}"),
    }
}

fn question(lines: &[Line]) -> Question<'_> {
    Question {
        lines,
        busiest_requests_per_s: Some(2000.0),
        asked_requests_per_s: Some(100.0),
        cores: 12,
        price: None,
    }
}

#[test]
fn each_line_has_its_verdict_and_the_winners_are_measured_together() {
    let truths =
        [truth(0.7), NEUTRAL, truth(1.3), truth(0.9), Truth { cpu: 0.8, p99: 1.5, ..NEUTRAL }];
    let tuning = World::quiet(5).tune(&truths);
    let answer = tuning.answer();
    assert!((saves(&answer, 0) - 0.3).abs() < 0.02);
    assert!((saves(&answer, 3) - 0.1).abs() < 0.02);
    assert!(matches!(answer.lines[1].verdict, LineVerdict::Leave { within } if within < 0.05));
    assert!(matches!(answer.lines[2].verdict, LineVerdict::Worse { adds } if adds > 0.25));
    let LineVerdict::CostsLatency { saves, p99_rises } = answer.lines[4].verdict else {
        panic!("{:?}", answer.lines[4]);
    };
    assert!((saves - 0.2).abs() < 0.02 && (p99_rises - 0.5).abs() < 0.01);
    assert_eq!((answer.change.as_slice(), answer.outcome), (&[0, 3][..], Outcome::Change));

    let phases: Vec<Option<PhaseName>> = answer.lines.iter().map(|line| line.phase).collect();
    let [screening, confirming] = [PhaseName::Screening, PhaseName::Confirming].map(Some);
    assert_eq!(phases, [confirming, screening, screening, confirming, confirming]);
    assert!(answer.lines[0].screening_ratio.is_some());
    assert_eq!(answer.lines[1].screening_ratio, None);
    assert_eq!(answer.phases.len(), 3);
    assert_eq!((answer.phases[0].lines, answer.phases[1].lines), (5, 3));
    assert!(answer.phases.iter().all(|phase| phase.control.is_some() && phase.blocks == 30));

    let together = answer.together.as_ref().unwrap();
    assert!(together.saves && (together.ratio.unwrap().value - 0.63).abs() < 0.02);
    assert_eq!(together.p99_rises, None);
    let saving = answer.saving.as_ref().unwrap();
    assert_eq!(saving.phase, PhaseName::Together);
    let us = saving.us_per_request.value;
    let costs = &tuning.together.as_ref().unwrap().1.requests;
    let present = costs.iter().find(|cost| cost.label == PRESENT).unwrap();
    let present_us = present.us_per_request.unwrap().value;
    assert!((us / present_us - 0.37).abs() < 0.02, "{us} of {present_us}");
    let worth = saving.worth.busiest.unwrap();
    assert!((worth.cores.value - us * 2000.0 / 1e6).abs() < 1e-12 && worth.matters);
    assert!((saving.matters_from_requests_per_s.unwrap() - 1e4 / us).abs() < 1e-9);
}

#[test]
fn an_only_winner_needs_no_third_run() {
    let tuning = World::quiet(6).tune(&[NEUTRAL, truth(0.8)]);
    assert!(tuning.together.is_none());
    let answer = tuning.answer();
    assert_eq!(answer.change, [1]);
    let saving = answer.saving.unwrap();
    assert_eq!(saving.phase, PhaseName::Confirming);
    assert_eq!(Some(saving.us_per_request), answer.lines[1].saved_us_per_request);
}

#[test]
fn cores_and_money_are_the_saving_times_the_rate() {
    let tuning = World::quiet(6).tune(&[truth(0.8)]);
    let price = Price { per_core_hour: 0.04, currency: "$".to_owned() };
    let asked = Question { price: Some(&price), ..question(&tuning.lines) };
    let answer = answer(&tuning.phases(), &asked);
    let saving = answer.saving.unwrap();
    let Worths { busiest: Some(busiest), asked: Some(asked) } = saving.worth else {
        panic!("{saving:?}");
    };
    assert!((busiest.cores.value / asked.cores.value - 20.0).abs() < 1e-9);
    let money = busiest.money_per_month.unwrap();
    assert!((money.value - 0.04 * 730.0 * busiest.cores.value).abs() < 1e-12);
    assert!(money.interval.unwrap().low < money.value && money.half_width.is_some());
    assert!(busiest.matters && !asked.matters, "{busiest:?} {asked:?}");
    assert_eq!((answer.price_per_core_hour, answer.currency.as_str()), (Some(0.04), "$"));
}

#[test]
fn of_lines_that_set_the_same_only_the_better_one_goes_on() {
    let mut lines = lines(3);
    lines[2].sets = lines[0].sets.clone();
    let tuning = World::quiet(7).tune(&[truth(0.9), truth(0.85), truth(0.8)]);
    let chosen = |lines: &[Line]| promising(phase(&tuning.screening), lines);
    assert_eq!(chosen(&lines), [2, 1]);
    assert_eq!(chosen(&tuning.lines), [2, 1, 0]);
    // Without a second run the same holds of the winners.
    let phases = Phases { confirming: None, together: None, ..tuning.phases() };
    assert_eq!(winners(&phases, &lines), [2, 1]);
}

#[test]
fn at_most_six_go_on_and_the_seventh_says_so() {
    let truths: Vec<Truth> = (0..8).map(|at| truth(0.5 + 0.05 * f64::from(at))).collect();
    let tuning = World::quiet(8).tune(&truths);
    assert_eq!(promising(phase(&tuning.screening), &tuning.lines), [0, 1, 2, 3, 4, 5]);
    let answer = tuning.answer();
    let LineVerdict::NotShown { why: Some(why) } = &answer.lines[6].verdict else {
        panic!("{:?}", answer.lines[6]);
    };
    assert!(why.contains("other lines saved more"), "{why}");
    assert_eq!(answer.change, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_line_that_only_lowers_p99_is_changed_if_both_runs_have_it() {
    let truths = [NEUTRAL, Truth { p99: 0.6, ..NEUTRAL }];
    let mut tuning = World::quiet(9).tune(&truths);
    let answer = tuning.answer();
    let LineVerdict::Change { saves: None, p99_falls: Some(falls) } = answer.lines[1].verdict
    else {
        panic!("{:?}", answer.lines[1]);
    };
    assert!((falls - 0.4).abs() < 0.01);
    assert_eq!((answer.change.as_slice(), answer.saving), (&[1][..], None));
    // The screening has it not.
    let end = tuning.screening.0.end.as_mut().unwrap();
    end.latencies.iter_mut().for_each(|it| it.up_to_ns = vec![1_000_000, 4_000_000]);
    tuning.screening.1 = estimate(&tuning.screening.0);
    assert_eq!(tuning.answer().change, Vec::<usize>::new());
}

#[test]
fn without_a_confirming_run_the_screening_s_own_verdicts_stand() {
    let tuning = World::quiet(10).tune(&[NEUTRAL, truth(0.8)]);
    let phases = Phases { confirming: None, together: None, ..tuning.phases() };
    let answer = answer(&phases, &question(&tuning.lines));
    assert_eq!(answer.change, [1]);
    assert_eq!(answer.lines[1].phase, Some(PhaseName::Screening));
    assert_eq!(answer.phases.len(), 1);
}

#[test]
fn lines_that_do_not_save_together_leave_the_best_one() {
    let mut tuning = World::quiet(11).tune(&[truth(0.8), truth(0.9)]);
    let neutral = [(TOGETHER.to_owned(), NEUTRAL)];
    tuning.together = Some(World::quiet(11).measure(3, &neutral));
    let answer = tuning.answer();
    assert_eq!(answer.change, [0]);
    assert!(!answer.together.as_ref().unwrap().saves);
    assert_eq!(answer.saving.unwrap().phase, PhaseName::Confirming);
}

fn same(cpu: f64, p99: f64) -> Truth {
    Truth { cpu, p99, does: Some("the same"), ..NEUTRAL }
}

#[test]
fn lines_that_do_the_same_leave_the_best_of_them() {
    let tuning = World::quiet(20).tune(&[same(0.8, 1.0), same(0.85, 1.0), same(0.9, 1.0)]);
    let answer = tuning.answer();
    assert_eq!(answer.change, [0]);
    for at in [1, 2] {
        let verdict = &answer.lines[at].verdict;
        assert!(matches!(verdict, LineVerdict::NotNeeded { saves: Some(_), .. }), "{verdict:?}");
    }
    let together = answer.together.unwrap();
    assert_eq!((together.lines.as_slice(), together.enough), (&[0, 1, 2][..], 1));
    assert!(together.saves && (together.ratio.unwrap().value - 0.8).abs() < 0.02);
    let by_all: Vec<_> = together.steps.iter().map(|step| step.by_all).collect();
    assert!((by_all[0].unwrap().value - 1.0).abs() < 0.02 && by_all[2].is_none(), "{by_all:?}");
    assert_eq!(answer.saving.unwrap().phase, PhaseName::Confirming);
}

#[test]
fn what_lowers_p99_alone_comes_last_and_stays_with_all_before_it() {
    let truths = [Truth { p99: 0.5, ..NEUTRAL }, same(0.85, 1.0), same(0.8, 1.0)];
    let tuning = World::quiet(21).tune(&truths);
    assert_eq!(winners(&tuning.phases(), &tuning.lines), [2, 1, 0]);
    let answer = tuning.answer();
    assert_eq!(answer.change, [2, 1, 0]);
    assert_eq!(answer.saving.unwrap().phase, PhaseName::Together);
}

#[test]
fn what_lowers_p99_and_costs_cpu_beside_the_others_goes() {
    let lowers_p99 = |beside| Truth { p99: 0.5, beside, ..NEUTRAL };
    let saving = [truth(0.85), truth(0.9)];
    // With it all save less, or nothing.
    for beside in [1.1, 1.4] {
        let answer = World::quiet(23).tune(&[saving[0], lowers_p99(beside), saving[1]]).answer();
        assert_eq!(answer.change, [0, 2], "{beside}");
        let together = answer.together.unwrap();
        assert_eq!((together.lines.as_slice(), together.enough), (&[0, 2, 1][..], 2));
        assert!(together.saves && (together.ratio.unwrap().value - 0.765).abs() < 0.02);
        let verdict = &answer.lines[1].verdict;
        assert!(matches!(verdict, LineVerdict::NotNeeded { saves: None, .. }), "{verdict:?}");
    }
}

/// As of nginx with bbr: without pacing `sendfile off` costs CPU, and `open_file_cache` saves less.
#[test]
fn a_line_that_costs_cpu_beside_the_others_goes_with_those_after_it() {
    let costs_beside = Truth { beside: 1.5, ..truth(0.8) };
    let truths = [same(0.64, 1.0), same(0.73, 1.0), costs_beside, truth(0.91)];
    for seed in 24..34 {
        let answer = World::quiet(seed).tune(&truths).answer();
        assert_eq!(answer.change, [0], "{seed}");
        let together = answer.together.unwrap();
        assert_eq!((together.lines.as_slice(), together.enough), (&[0, 1, 2, 3][..], 1));
        assert!((together.ratio.unwrap().value - 0.64).abs() < 0.02);
    }
}

/// Of few lines the scatter of a p99 is that of the present state in all runs.
#[test]
fn lines_that_were_measured_together_are_not_chosen_anew_by_that_run() {
    let truths = [same(0.8, 1.0), same(0.85, 1.0), Truth { p99: 0.5, ..NEUTRAL }];
    let mut tuning = World::quiet(21).tune(&truths);
    let (run, estimates) = tuning.together.as_mut().unwrap();
    let again = run.end.as_mut().unwrap().latencies.last_mut().unwrap();
    again.up_to_ns.iter_mut().for_each(|ns| *ns *= 10);
    *estimates = estimate(run);
    let answer = tuning.answer();
    assert_eq!(answer.together.unwrap().lines, [0, 1, 2]);
    assert_eq!(answer.change, [0, 1, 2]);
}

#[test]
fn lines_with_which_together_the_server_ends_leave_the_best_one() {
    let mut tuning = World::quiet(22).tune(&[truth(0.8), truth(0.9)]);
    let (run, estimates) = tuning.together.as_mut().unwrap();
    run.header.plan.cells.retain(|cell| cell.label != TOGETHER);
    run.header.unavailable.push(SupportRow {
        what: "cell".to_owned(),
        name: TOGETHER.to_owned(),
        support: Support::No(Unavailable::failed("no connection")),
    });
    *estimates = estimate(run);
    let answer = tuning.answer();
    assert_eq!(answer.change, [0]);
    let all = answer.together.unwrap().steps.pop().unwrap();
    assert_eq!((all.lines, all.broke.as_deref()), (2, Some("no connection")));
}

#[test]
fn what_was_not_compared_says_why() {
    let mut tuning = World::quiet(12).tune(&[truth(0.8), NEUTRAL, truth(0.8), truth(0.7)]);
    let fates = [
        Fate::NotTried { why: "no kTLS".to_owned() },
        Fate::Refused { words: "unknown directive".to_owned() },
        Fate::Broke { how: "other bytes".to_owned() },
    ];
    for (line, fate) in std::iter::zip(&mut tuning.lines, fates) {
        line.fate = fate;
    }
    tuning.lines.extend(lines(5).pop());
    let answer = tuning.answer();
    assert!(matches!(&answer.lines[0].verdict, LineVerdict::NotTried { why } if why == "no kTLS"));
    assert!(matches!(&answer.lines[1].verdict, LineVerdict::Refused { .. }));
    assert!(matches!(&answer.lines[2].verdict, LineVerdict::Broke { how } if how == "other bytes"));
    assert_eq!(answer.change, [3]);
    // A line of which no run knows is no panic.
    assert!(matches!(&answer.lines[4].verdict, LineVerdict::NotTried { .. }));
    assert_eq!(promising(phase(&tuning.screening), &tuning.lines), [3]);
}

/// Takes the trials of line 0 out of some blocks of a run; the first `failed` of them failed.
fn take_out((run, estimates): &mut Measured, blocks: Range<usize>, failed: usize, reason: &str) {
    let mut labels = estimates.cells.iter().map(|cell| &cell.label);
    let label = labels.find(|label| candidate_of_state(label) == Some(0)).unwrap().clone();
    for (place, block) in run.blocks[blocks].iter_mut().enumerate() {
        block.slots.retain(|slot| !matches!(slot, Slot::Trial(trial) if trial.cell == label));
        if place < failed {
            let reason = reason.to_owned();
            block.failed.push(FailedTrial { cell: label.clone(), reason });
        }
    }
    *estimates = estimate(run);
}

#[test]
fn trials_that_fail_are_counted_and_most_of_them_break_a_line() {
    let mut tuning = World::quiet(13).tune(&[truth(0.8)]);
    let confirming = tuning.confirming.as_mut().unwrap();
    take_out(confirming, 0..3, 3, "status 500");
    let answer = tuning.answer();
    assert!((saves(&answer, 0) - 0.2).abs() < 0.03);
    let errors = answer.lines[0].errors.clone().unwrap();
    assert_eq!((errors.trials, errors.first.as_str()), (3, "status 500"));
    let confirming = tuning.confirming.as_mut().unwrap();
    take_out(confirming, 3..20, 17, "status 404");
    let answer = tuning.answer();
    let LineVerdict::Broke { how } = &answer.lines[0].verdict else { panic!("{answer:?}") };
    assert!(how.ends_with("trials failed: status 500"), "{how}");
    assert!(answer.change.is_empty());
}

/// A server that has ended answers none of what follows, and zc gives it up after some trials.
#[test]
fn a_line_with_which_the_server_ended_broke_however_much_was_measured_before() {
    for in_screening in [true, false] {
        let mut tuning = World::quiet(19).tune(&[truth(0.8), truth(0.9)]);
        let run = match in_screening {
            true => &mut tuning.screening,
            false => tuning.confirming.as_mut().unwrap(),
        };
        take_out(run, 25..30, 3, "no connection");
        let answer = tuning.answer();
        let LineVerdict::Broke { how } = &answer.lines[0].verdict else { panic!("{answer:?}") };
        assert_eq!(how, "the last 3 of 28 trials failed: no connection");
        assert_eq!(answer.lines[0].errors.as_ref().unwrap().trials, 3);
        assert!(matches!(answer.lines[1].verdict, LineVerdict::Change { .. }));
        assert_eq!(answer.change, [1]);
        let chosen = promising(phase(&tuning.screening), &tuning.lines);
        assert_eq!(chosen.contains(&0), !in_screening);
    }
}

#[test]
fn a_state_that_could_not_be_measured_broke() {
    let mut tuning = World::quiet(14).tune(&[truth(0.8)]);
    tuning.screening.0.header.unavailable.push(SupportRow {
        what: "state".to_owned(),
        name: state_name(0, "line_0 on"),
        support: Support::No(Unavailable::failed("it answers with 404")),
    });
    let answer = tuning.answer();
    assert!(
        matches!(&answer.lines[0].verdict, LineVerdict::Broke { how } if how.contains("404")),
        "{:?}",
        answer.lines[0]
    );
}

#[test]
fn a_run_that_is_too_short_withholds_and_one_without_blocks_has_no_answer() {
    let short = World { blocks: 3, ..World::quiet(15) }.tune(&[truth(0.5), NEUTRAL]);
    let answer = short.answer();
    assert_eq!((answer.outcome, answer.change.len()), (Outcome::Withheld, 0));
    let LineVerdict::NotShown { why: Some(why) } = &answer.lines[0].verdict else {
        panic!("{answer:?}");
    };
    assert!(why.contains("withheld"), "{why}");
    let none = World { blocks: 0, ..World::quiet(15) }.tune(&[truth(0.5)]);
    assert_eq!(none.answer().outcome, Outcome::NothingKept);
}

#[test]
fn a_line_with_which_the_server_is_too_slow_is_worse_if_dearer_and_else_not_compared() {
    let mut tuning = World::quiet(16).tune(&[truth(0.7), truth(2.0)]);
    let phases = [&mut tuning.screening, tuning.confirming.as_mut().unwrap()];
    for (_, estimates) in phases {
        for cell in &mut estimates.cells[1..] {
            cell.perturbation.saturated = true;
        }
    }
    let answer = tuning.answer();
    let [faster, slower, ..] = &answer.lines[..] else { panic!("{answer:?}") };
    assert!(
        matches!(&faster.verdict, LineVerdict::NotShown { why: Some(why) }
            if why.contains("did not reach the rate")),
        "{answer:?}"
    );
    assert!(matches!(slower.verdict, LineVerdict::Worse { adds } if adds > 0.8), "{answer:?}");
    assert!(promising(phase(&tuning.screening), &tuning.lines).is_empty());
}

#[test]
fn whether_a_mix_is_served_at_its_rate_is_told_by_the_top_speed() {
    let (mut run, _) = World::quiet(18).measure(1, &[]);
    let label = run.header.plan.cells[0].label.clone();
    let nominal = run.header.plan.fixed.rate_bytes_per_s;
    let perturbation = |run: &zc_run::Run| estimate(run).cells[0].perturbation;
    for (share, reached) in [(2.0, 1.0), (0.7, 0.63)] {
        let bytes_per_s = nominal * share;
        run.header.probes = vec![zc_run::Probe::TopSpeed { cell: label.clone(), bytes_per_s }];
        // Windows are longer than their schedules.
        run.header.plan.fixed.rate_bytes_per_s = nominal / 0.9;
        let found = perturbation(&run);
        assert_eq!(found.saturated, share < 1.0, "{found:?}");
        let found = found.soaked_by_nominal.unwrap();
        assert!((found - reached).abs() < 1e-6, "{found}");
    }
    // Of responses that are all alike a window is as long as its schedule.
    run.header.plan.traffic.server_mut().unwrap().mix = None;
    assert!(perturbation(&run).saturated);
}

#[test]
fn a_present_line_that_nothing_improves_has_nothing_to_change() {
    let answer = World::quiet(17).tune(&[NEUTRAL, truth(1.2)]).answer();
    assert_eq!((answer.outcome, answer.saving), (Outcome::NothingToChange, None));
    assert!(answer.present_us_per_request.is_some() && answer.present_latency.is_some());
}
