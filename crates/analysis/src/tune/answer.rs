//! The answer of a tuning from its runs.

use super::line::Line;
use super::model::{
    Answer, Errors, LineAnswer, LineVerdict, Outcome, PhaseName, Saving, Together, Worths,
};
use super::phase::{Phase, Phases, State};
use super::states::step_name;
use super::worth::{Basis, matters_from};
use super::{steps, verdict};
use crate::interim::CONFIDENCE;
use crate::model::figure::{Figure, RatioFigure};
use crate::price::Price;

/// What a tuning is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Question<'a> {
    /// All lines, by index.
    pub lines: &'a [Line],
    /// Requests per second in the busiest minute of the log.
    pub busiest_requests_per_s: Option<f64>,
    /// Requests per second that were asked for.
    pub asked_requests_per_s: Option<f64>,
    /// CPUs of the host.
    pub cores: usize,
    /// Price of a core.
    pub price: Option<&'a Price>,
}

/// The answer. Accepts runs with any number of blocks, and lines that are in none of them.
pub fn answer(phases: &Phases<'_>, question: &Question<'_>) -> Answer {
    let basis = Basis {
        busiest_requests_per_s: question.busiest_requests_per_s,
        asked_requests_per_s: question.asked_requests_per_s,
        per_core_hour: question.price.map(|price| price.per_core_hour),
    };
    let lines = question.lines;
    // As they were when the last run was prepared: its states are made of these lines.
    let before = Phases { together: None, ..*phases };
    let mut verdicts = verdict::verdicts(&before, lines);
    let winners = verdict::of_verdicts(&before, lines, &verdicts);
    let measured = phases.together.filter(|_| winners.len() > 1);
    let saves = |at: &usize| matches!(verdicts[*at], LineVerdict::Change { saves: Some(_), .. });
    let must_save = winners.iter().any(saves);
    let together = measured.map(|phase| together(phases, phase, winners.clone(), must_save));
    let change = match &together {
        // The best one by itself is confirmed, and what the others add to it is not.
        Some(together) if !stand(together, must_save) => winners[..1].to_vec(),
        Some(Together { lines, enough, .. }) => {
            let (stay, go) = lines.split_at(*enough);
            for at in go {
                add_nothing(&mut verdicts[*at]);
            }
            winners.into_iter().filter(|at| stay.contains(at)).collect()
        }
        None => winners,
    };
    let measured = measured.zip(together.as_ref());
    let lines: Vec<LineAnswer> = std::iter::zip(lines, verdicts)
        .enumerate()
        .map(|(index, (line, verdict))| line_answer(phases, index, line, verdict, &basis))
        .collect();
    let saving = saving(&change, &lines, measured, &basis);
    let deciding = phases.deciding();
    Answer {
        confidence: CONFIDENCE,
        outcome: outcome(phases, &change),
        together,
        saving,
        present_latency: deciding.present_latency(),
        paced_by: paced_by(&deciding.run.header.plan.fixed.congestion),
        present_us_per_request: deciding.present().and_then(|it| it.cost?.us_per_request),
        cores: question.cores,
        price_per_core_hour: basis.per_core_hour,
        currency: question.price.map(|price| price.currency.clone()).unwrap_or_default(),
        phases: phases.made().map(|(name, phase)| phase.account(name)).collect(),
        change,
        lines,
    }
}

/// A congestion control, if it paces by timers itself: BBR does, whatever the queueing discipline
/// (`bbr_init` in <https://github.com/torvalds/linux/blob/master/net/ipv4/tcp_bbr.c>).
fn paced_by(congestion: &str) -> Option<String> {
    congestion.starts_with("bbr").then(|| congestion.to_owned())
}

fn outcome(phases: &Phases<'_>, change: &[usize]) -> Outcome {
    let has_blocks = |phase: Phase<'_>| phase.estimates.blocks.kept > 0;
    if !change.is_empty() {
        Outcome::Change
    } else if !has_blocks(phases.screening) && !phases.confirming.is_some_and(has_blocks) {
        Outcome::NothingKept
    } else if !phases.deciding().estimates.verdict.stands() {
        Outcome::Withheld
    } else {
        Outcome::NothingToChange
    }
}

/// Whether lines may be advised together: all of them answer, and save if they must.
fn stand(together: &Together, must_save: bool) -> bool {
    let has_broken = together.steps.last().is_some_and(|all| all.broke.is_some());
    !has_broken && (together.saves || !must_save)
}

fn add_nothing(verdict: &mut LineVerdict) {
    if let LineVerdict::Change { saves, p99_falls } = *verdict {
        *verdict = LineVerdict::NotNeeded { saves, p99_falls };
    }
}

/// The lines in one state, as far as they are enough.
fn together(phases: &Phases<'_>, phase: Phase<'_>, lines: Vec<usize>, must_save: bool) -> Together {
    let steps = steps::steps(phase, lines.len());
    let enough = steps::enough(phase, &steps, must_save);
    let label = step_name(enough, lines.len());
    let state = phase.state(&label);
    Together {
        lines,
        enough,
        ratio: state.and_then(|state| state.cell.ratio.both),
        saves: state.is_some_and(|state| steps::cheaper(phase, &state)),
        p99_rises: state.and_then(|state| verdict::risen_p99(phases, phase, &state)),
        latency: state.and_then(|state| state.latency()),
        present_latency: phase.present_latency(),
        errors: phase.errors(&label),
        steps,
    }
}

fn saved_us(state: &State<'_>) -> Option<Figure> {
    state.cost?.saved_us_per_request
}

/// What the change saves: by the lines together, or by the only one.
fn saving(
    change: &[usize],
    lines: &[LineAnswer],
    measured: Option<(Phase<'_>, &Together)>,
    basis: &Basis,
) -> Option<Saving> {
    let (phase, ratio, us_per_request): (PhaseName, Option<RatioFigure>, Figure) = match change {
        [] => return None,
        [only] => {
            let line = &lines[*only];
            let saves = matches!(line.verdict, LineVerdict::Change { saves: Some(_), .. });
            let saved = line.saved_us_per_request.filter(|_| saves)?;
            (line.phase?, line.ratio, saved)
        }
        _ => {
            let (phase, Together { lines, enough, ratio, saves, .. }) = measured?;
            let state = phase.state(&step_name(*enough, lines.len()))?;
            (PhaseName::Together, *ratio, saved_us(&state).filter(|_| *saves)?)
        }
    };
    Some(Saving {
        phase,
        ratio,
        us_per_request,
        worth: basis.worths(&us_per_request),
        matters_from_requests_per_s: matters_from(&us_per_request),
    })
}

fn line_answer(
    phases: &Phases<'_>,
    index: usize,
    line: &Line,
    verdict: LineVerdict,
    basis: &Basis,
) -> LineAnswer {
    let best = phases.best(index);
    let state = best.map(|(_, _, state)| state);
    let phase = best.map(|(name, _, _)| name);
    let screening_ratio = phases
        .screening
        .line(index)
        .filter(|_| phase == Some(PhaseName::Confirming))
        .and_then(|state| state.cell.ratio.both);
    let saved = state.and_then(|state| saved_us(&state));
    let runs = phases.with_line(index);
    let errors = runs.filter_map(|(phase, state)| phase.errors(&state.cell.label));
    LineAnswer {
        index,
        name: line.name.clone(),
        present: line.present.clone(),
        reason: line.reason.clone(),
        reference: line.reference.clone(),
        verdict,
        phase,
        ratio: state.and_then(|state| state.cell.ratio.both),
        screening_ratio,
        us_per_request: state.and_then(|state| state.cost?.us_per_request),
        saved_us_per_request: saved,
        latency: state.and_then(|state| state.latency()),
        errors: errors
            .reduce(|all, more| Errors { trials: all.trials + more.trials, first: all.first }),
        worth: saved.map_or_else(Worths::default, |saved| basis.worths(&saved)),
    }
}
