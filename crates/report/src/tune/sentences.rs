//! The answer in sentences: which lines to change and what each is worth, what they save together at
//! the server's rate, and of which lines nothing is to be had.

use super::about::About;
use super::lines::{added_range, change, less_cpu, ms, name, p99, ratio_text};
use crate::advise::rates::per_second;
use crate::digits::{percent, with_half_width};
use crate::fleet::names::count;
use crate::text::list;
use zc_analysis::Figure;
use zc_analysis::advise::CORES_THAT_MATTER;
use zc_analysis::tune::{
    Answer, LineAnswer, LineVerdict, Outcome, PhaseName, Saving, Together, Worth,
};
use zc_run::escape;

/// A p99 that a server does not need between two namespaces.
const LONG_NS: u64 = 10_000_000;

/// The answer, the most important sentence first.
pub(super) fn sentences(
    answer: &Answer,
    about: &About,
    withheld_because: &[String],
) -> Vec<String> {
    let mut all = vec![opening(answer, about, withheld_because)];
    all.extend(together(answer));
    all.extend(worth(answer));
    all.extend(paced(answer));
    all.extend(costs_latency(answer));
    all.extend(leave(answer));
    all.extend(worse(answer));
    all.extend(not_shown(answer));
    all
}

fn opening(answer: &Answer, about: &About, withheld_because: &[String]) -> String {
    match answer.outcome {
        Outcome::Change => change_these(answer, about),
        Outcome::NothingToChange => {
            let tried = answer.lines.iter().filter(|line| line.phase.is_some()).count();
            match tried {
                0 => "Change nothing: no line could be tried.".to_owned(),
                _ => format!(
                    "Change nothing: of {} none was shown to save CPU or time.",
                    count(tried, "line")
                ),
            }
        }
        Outcome::Withheld => {
            format!("No advice, as verdicts are withheld: {}.", withheld_because.join("; "))
        }
        Outcome::NothingKept => "No advice: no block of the measurement counts.".to_owned(),
    }
}

/// `Change two lines: tcp_nopush on -> off (31 % less CPU per request for your mix, 26 to 36 %), ...`
fn change_these(answer: &Answer, about: &About) -> String {
    let present = answer.present_latency.as_ref();
    let mut whose = if about.has_log { " for your mix" } else { "" };
    let each: Vec<String> = answer
        .change
        .iter()
        .map(|at| {
            let line = &answer.lines[*at];
            let LineVerdict::Change { saves, p99_falls } = line.verdict else {
                return change(line);
            };
            let cpu = match saves {
                Some(by) => less_cpu(by, line.ratio.as_ref(), std::mem::take(&mut whose)),
                None => "no CPU".to_owned(),
            };
            let p99 = p99(line.latency.as_ref(), present).filter(|_| p99_falls.is_some());
            // What is gained comes first.
            let gains = match (saves, p99) {
                (Some(_), Some(p99)) => format!("{cpu}; {p99}"),
                (None, Some(p99)) => format!("{p99}, {cpu}"),
                (_, None) => cpu,
            };
            format!("{} ({gains})", change(line))
        })
        .collect();
    let screened =
        answer.change.iter().any(|at| answer.lines[*at].phase == Some(PhaseName::Screening));
    let doubt = match screened {
        true => " This is from the first look alone: it was not measured a second time.",
        false => "",
    };
    format!("Change {}: {}.{doubt}", number_of_lines(each.len()), each.join(", "))
}

fn number_of_lines(count: usize) -> String {
    const WORDS: [&str; 7] = ["no", "one", "two", "three", "four", "five", "six"];
    let number = WORDS.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned());
    format!("{number} line{}", if count == 1 { "" } else { "s" })
}

/// What the lines do in one state, and which of them are not needed there.
fn together(answer: &Answer) -> Vec<String> {
    let Some(together) = &answer.together else {
        let unknown = "What they save together is not known: they were measured one by one, and \
                       effects do not add up.";
        return (answer.change.len() > 1).then(|| unknown.to_owned()).into_iter().collect();
    };
    let Together {
        lines, enough, ratio, saves, p99_rises, latency, present_latency, steps, ..
    } = together;
    let names = |lines: &[usize]| {
        list(&lines.iter().map(|at| name(&answer.lines[*at])).collect::<Vec<_>>())
    };
    let ratio = ratio.as_ref();
    let stay = &lines[..*enough];
    if answer.change.len() < stay.len() {
        let found = match steps.last().and_then(|all| all.broke.as_ref()) {
            Some(how) => format!("the server did not answer as it does now ({})", escape(how, 300)),
            None => {
                let ratio = ratio.map(|ratio| format!(" ({})", ratio_text(ratio)));
                format!("nothing was shown to be saved{}", ratio.unwrap_or_default())
            }
        };
        let others = &lines[1..];
        return vec![format!(
            "Together with {}, which {}, {found}: change the one, and measure again.",
            names(others),
            help_alone(others.len()),
        )];
    }
    let mut all = Vec::new();
    if let (Some(figure), true, [_, _, ..]) = (ratio, saves, stay) {
        let cpu = less_cpu(1.0 - figure.value, ratio, "");
        let risen = p99_rises.and_then(|_| p99(latency.as_ref(), present_latency.as_ref()));
        let risen = risen.map_or_else(String::new, |p99| format!(" But {p99} then."));
        all.push(format!("Together they take {cpu}.{risen}"));
    }
    let go = &lines[*enough..];
    if let Some(by_all) = steps.get(enough - 1).and_then(|step| step.by_all) {
        let (were, them) = if go.len() == 1 { ("was", "it") } else { ("were", "them") };
        all.push(format!(
            "{} {} and {were} not shown to add anything beside {} (cost without {them} by cost \
             with all: {}).",
            names(go),
            help_alone(go.len()),
            if stay.len() == 1 { "this one" } else { "these" },
            ratio_text(&by_all),
        ));
    }
    all
}

/// What so many lines do one by one.
fn help_alone(lines: usize) -> &'static str {
    if lines == 1 { "helps by itself" } else { "help by themselves" }
}

/// What the change is worth at the rates that are known.
fn worth(answer: &Answer) -> Option<String> {
    let saving = answer.saving.as_ref()?;
    let (asked, busiest) = (saving.worth.asked, saving.worth.busiest);
    let of = |worth: &Worth| {
        let cores = cores(&worth.cores, answer.cores);
        let money = worth.money_per_month.as_ref();
        let money = money.map_or_else(String::new, |money| {
            format!(", {} a month", crate::money::money(money, &answer.currency))
        });
        format!("{cores}{money}")
    };
    let mut parts = Vec::new();
    if let Some(worth) = &asked {
        parts.push(format!("At {} that is {}", per_second(worth.requests_per_s), of(worth)));
    }
    if let Some(worth) = &busiest {
        let at = if parts.is_empty() { "At" } else { "at" };
        let is = if parts.is_empty() { " that is" } else { "" };
        let rate = per_second(worth.requests_per_s);
        parts.push(format!("{at} your busiest minute ({rate}){is} {}", of(worth)));
    }
    if parts.is_empty() {
        return matters_from(saving)
            .map(|from| format!("It is {} from {from} on.", share_of_a_core()));
    }
    let text = format!("{}.", parts.join("; "));
    let deciding = asked.or(busiest);
    let relevance = match deciding.is_some_and(|worth| !worth.matters) {
        true => matters_from(saving).map_or_else(String::new, |from| {
            format!(
                " That does not matter at this rate: it would be {} from {from} on.",
                share_of_a_core()
            )
        }),
        false => String::new(),
    };
    Some(text + &relevance)
}

fn share_of_a_core() -> String {
    format!("{:.0} % of a core", 100.0 * CORES_THAT_MATTER)
}

fn matters_from(saving: &Saving) -> Option<String> {
    saving.matters_from_requests_per_s.map(per_second)
}

/// `1.4 of 12 cores`, or in thousandths of one.
fn cores(cores: &Figure, of: usize) -> String {
    if cores.value.abs() < 0.1 {
        let by = 1e3;
        let text = with_half_width(cores.value * by, cores.half_width.map(|half| half * by));
        return format!("{text} thousandths of a core");
    }
    let text = with_half_width(cores.value, cores.half_width);
    format!("{text} of {}", count(of, "core"))
}

/// That p99 is the pacing's, where it is in question.
fn paced(answer: &Answer) -> Option<String> {
    let is_answer = !matches!(answer.outcome, Outcome::Withheld | Outcome::NothingKept);
    let congestion = answer.paced_by.as_ref().filter(|_| is_answer)?;
    let is_moved = answer.lines.iter().any(|line| {
        matches!(
            line.verdict,
            LineVerdict::Change { p99_falls: Some(_), .. }
                | LineVerdict::NotNeeded { p99_falls: Some(_), .. }
                | LineVerdict::CostsLatency { .. }
        )
    });
    let is_long = answer.present_latency.is_some_and(|latency| latency.p99_ns >= LONG_NS);
    (is_moved || is_long).then(|| {
        format!(
            "p99 is the pacing's here and not the server's: {} sends by timers, between two \
             namespaces too. With another congestion control, or over a network, p99 is another, \
             and so is what a line does to it.",
            escape(congestion, 40)
        )
    })
}

fn costs_latency(answer: &Answer) -> Vec<String> {
    let present = answer.present_latency.as_ref();
    let each = answer.lines.iter().filter_map(|line| {
        let LineVerdict::CostsLatency { saves, p99_rises } = line.verdict else { return None };
        let p99 = p99(line.latency.as_ref(), present)
            .unwrap_or_else(|| format!("p99 rises by {}", percent(p99_rises)));
        Some(format!(
            "{} costs latency: {}, but {p99}.",
            change(line),
            less_cpu(saves, line.ratio.as_ref(), "")
        ))
    });
    each.collect()
}

/// `Not worth a change: sendfile off (0.99 ±4.0 %) ... do nothing.`
fn leave(answer: &Answer) -> Option<String> {
    let is_left = |verdict: &LineVerdict| matches!(verdict, LineVerdict::Leave { .. });
    let each = verdicts(answer, is_left, name_and_ratio);
    match each.len() {
        0 => None,
        1 => Some(format!("Not worth a change: {} does nothing.", each[0])),
        _ => Some(format!("Not worth a change: {} do nothing.", list(&each))),
    }
}

fn worse(answer: &Answer) -> Option<String> {
    let of = |line: &LineAnswer| {
        let range = line.ratio.as_ref().and_then(added_range);
        let range = range.map_or_else(String::new, |range| format!(" ({range} more CPU)"));
        format!("{}{range}", name(line))
    };
    let each = verdicts(answer, |verdict| matches!(verdict, LineVerdict::Worse { .. }), of);
    (!each.is_empty()).then(|| format!("Worse than now: {}.", list(&each)))
}

fn not_shown(answer: &Answer) -> Vec<String> {
    if matches!(answer.outcome, Outcome::Withheld | Outcome::NothingKept) {
        return Vec::new();
    }
    let plain = |verdict: &LineVerdict| matches!(verdict, LineVerdict::NotShown { why: None });
    let each = verdicts(answer, plain, name_and_ratio);
    let mut all: Vec<String> = Vec::new();
    if !each.is_empty() {
        all.push(format!("Neither a difference nor the lack of one was shown: {}.", list(&each)));
    }
    all.extend(answer.lines.iter().filter_map(|line| match &line.verdict {
        LineVerdict::NotShown { why: Some(why) } => {
            Some(format!("{} is not judged: {}.", name(line), escape(why, 300)))
        }
        _ => None,
    }));
    all
}

/// `sendfile off (0.99 ±4.0 %)`.
fn name_and_ratio(line: &LineAnswer) -> String {
    let ratio = line.ratio.as_ref().map(|ratio| format!(" ({})", ratio_text(ratio)));
    format!("{}{}", name(line), ratio.unwrap_or_default())
}

/// Texts of the lines with a verdict.
fn verdicts(
    answer: &Answer,
    is: impl Fn(&LineVerdict) -> bool,
    text: impl Fn(&LineAnswer) -> String,
) -> Vec<String> {
    answer.lines.iter().filter(|line| is(&line.verdict)).map(text).collect()
}

/// The latency of the present state in words, for the table's caption.
pub(super) fn present_latency(answer: &Answer) -> Option<String> {
    let latency = answer.present_latency?;
    let again = latency
        .again_p99_ns
        .map_or_else(String::new, |again| format!(" and, measured again, {} ms", ms(again)));
    Some(format!("p99 now {} ms{again}", ms(latency.p99_ns)))
}
