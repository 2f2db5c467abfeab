//! The answer in sentences: at which rate, what saves, what costs more, and of what neither can be
//! told; whether that is enough to matter, and for how much of the log it holds.

use super::priced::Priced;
use super::tls::{TlsRun, sentences};
use super::units::{Unit, figure};
use crate::advise::rates::per_second;
use crate::digits::{percent, size};
use crate::money::money_with_half_width;
use crate::text::list;
use zc_analysis::Figure;
use zc_analysis::advise::{
    CORES_THAT_MATTER, Compared, CostAdvice, PathAdvice, PathVerdict, Rate, Untold,
};
use zc_run::escape;

/// The rate that the sentence is about, and the cores of a path there.
#[derive(Clone, Copy)]
struct Basis {
    /// Text before the rate: `the log's `.
    whose: &'static str,
    rate: Rate,
    cores: fn(&PathAdvice) -> Option<Compared>,
}

impl Basis {
    /// The rate that was asked for, or else that of the log.
    fn from_advice(advice: &CostAdvice) -> Self {
        match advice.rates.asked {
            Some(rate) => Self { whose: "", rate, cores: |path| path.asked_cores },
            None => Self {
                whose: if advice.hosts.is_empty() { "the log's " } else { "the hosts' " },
                rate: advice.rates.log,
                cores: |path| Some(path.cores),
            },
        }
    }

    /// Cores that a path saves.
    fn saved(&self, path: &PathAdvice) -> Option<Figure> {
        (self.cores)(path)?.saved
    }
}

/// The answer; `over_tls` is the share of the requests that were encrypted although no cost here
/// has encryption in it, and `tls_run` the run that it is from where costs have it.
pub(super) fn sentence(
    advice: &CostAdvice,
    priced: Priced,
    withheld_because: &[String],
    over_tls: f64,
    tls_run: Option<&TlsRun>,
) -> String {
    let today = escape(&advice.today, 40);
    let others: Vec<(&PathAdvice, PathVerdict)> =
        advice.paths.iter().filter_map(|path| Some((path, path.verdict?))).collect();
    if others.is_empty() {
        let one = priced.one;
        let has = match advice.without_cost.is_empty() {
            true => format!("no other {one} than"),
            false => format!("a cost of no other {one} than of"),
        };
        return format!("The run has {has} {today}, so nothing can be compared.");
    }
    if !advice.withheld.is_empty() {
        return format!(
            "What other {} than {today} save cannot be told, as the run's own verdicts are \
             withheld: {}.",
            priced.several,
            withheld_because.join("; ")
        );
    }
    let basis = Basis::from_advice(advice);
    let cores = advice.paths.iter().find(|path| path.today).and_then(basis.cores);
    let cores = cores.map(|cores| cores.value);
    let unit = Unit::for_cores(cores.map_or(0.0, |cores| cores.value));
    let of = cores.map_or_else(String::new, |cores| {
        format!("{} {}", crate::digits::significant(cores.value * unit.by), unit.of)
    });
    // What saves most comes first, then what costs more, then what is open.
    let mut others = others;
    let saved = |path: &PathAdvice| basis.saved(path).map_or(0.0, |saved| saved.value);
    others.sort_by(|(one, of_one), (other, of_other)| {
        rank(of_one).cmp(&rank(of_other)).then(f64::total_cmp(&saved(other), &saved(one)))
    });
    let told = others.iter().filter(|(_, verdict)| rank(verdict) < 2).enumerate();
    let mut parts: Vec<String> = told
        .map(|(place, (path, verdict))| {
            let name = escape(&path.path, 40);
            difference(
                &name,
                basis.saved(path),
                verdict,
                unit,
                (place == 0).then_some((&today, &of)),
            )
        })
        .collect();
    let nothing = others.iter().filter(|(_, verdict)| *verdict == PathVerdict::NothingToSave);
    let nothing: Vec<String> = nothing.map(|(path, _)| escape(&path.path, 40)).collect();
    if !nothing.is_empty() {
        let save = if nothing.len() == 1 { "saves" } else { "save" };
        parts.push(format!(
            "{} {save} nothing, as all bytes are encrypted in user space",
            list(&nothing)
        ));
    }
    let is_told = !parts.is_empty();
    // Paths of which it cannot be told for the same reason are named together.
    let mut open: Vec<(Untold, Vec<String>)> = Vec::new();
    for (path, verdict) in &others {
        let PathVerdict::Untold { why } = verdict else { continue };
        let name = escape(&path.path, 40);
        match open.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, names)) => names.push(name),
            None => open.push((*why, vec![name])),
        }
    }
    for (why, names) in open {
        let (what, instead) = match parts.is_empty() {
            true => ("What", format!(" instead of {today}")),
            false => ("what", String::new()),
        };
        let saves = if names.len() == 1 { "saves" } else { "save" };
        let names = list(&names);
        parts.push(format!(
            "{what} {names}{instead} {saves} cannot be told: {}",
            reason(why, advice)
        ));
    }
    let mut text = parts.join("; ") + ".";
    if is_told {
        let Basis { whose, rate, .. } = basis;
        let rate = format!("t {whose}{}", per_second(rate.requests_per_s));
        let begin = if over_tls > 0.0 { "Without encryption, a" } else { "A" };
        text = format!("{begin}{rate} {text}");
    }
    if let Some((path, PathVerdict::Saves { .. })) = others.first() {
        text += &relevance(advice, basis, path);
    }
    if is_told && over_tls > 0.0 {
        text += &format!(
            " But {} of the requests went over TLS, where a path that does not copy saves nothing \
             unless the kernel encrypts (kTLS): zc run server measures yours with TLS{}.",
            percent(over_tls),
            match priced.one {
                "path" => ", and zc run tls what TLS costs here, which --tls-run takes",
                _ => "",
            }
        );
    }
    text += &sentences(advice, tls_run);
    text + &month(advice, others.first())
}

/// What today's path costs a month, and what the best one saves of it.
fn month(advice: &CostAdvice, best: Option<&(&PathAdvice, PathVerdict)>) -> String {
    let today = advice.paths.iter().find(|path| path.today);
    let Some((today, money)) = today.and_then(|path| Some((path, path.money_per_month?))) else {
        return String::new();
    };
    let sum = |money: &Figure| money_with_half_width(money, &advice.currency);
    let saved = match best {
        Some((path, PathVerdict::Saves { .. })) => path.money_per_month.and_then(|it| it.saved),
        _ => None,
    };
    let saved = saved.zip(best).map_or_else(String::new, |(saved, (path, _))| {
        format!(", of which {} saves {}", escape(&path.path, 40), sum(&saved))
    });
    format!(" A month of {} costs {}{saved}.", escape(&today.path, 40), sum(&money.value))
}

/// Says so if what the best path saves is too little to matter, and from which rate it would.
fn relevance(advice: &CostAdvice, basis: Basis, best: &PathAdvice) -> String {
    let at_most = match advice.rates.asked {
        Some(_) => None,
        None => best.busiest_cores.and_then(|cores| cores.saved).zip(advice.rates.busiest),
    };
    let Some(saved) = basis.saved(best) else { return String::new() };
    let (most, rate) = at_most.unwrap_or((saved, basis.rate));
    if most.value <= 0.0 || most.value >= CORES_THAT_MATTER {
        return String::new();
    }
    let from = rate.requests_per_s * CORES_THAT_MATTER / most.value;
    let even = match at_most {
        Some((_, rate)) => {
            format!(", not even in the busiest minute ({})", per_second(rate.requests_per_s))
        }
        None => String::new(),
    };
    format!(
        " That does not matter at this rate{even}: it would be {:.0} % of a core from {} on.",
        100.0 * CORES_THAT_MATTER,
        per_second(from)
    )
}

/// Saving or extra cost of a path. Only the first one of a sentence names the path and the cores
/// that it is compared with.
fn difference(
    name: &str,
    saved: Option<Figure>,
    verdict: &PathVerdict,
    unit: Unit,
    first: Option<(&String, &String)>,
) -> String {
    let by = |saved: Figure| figure(saved, unit);
    match (*verdict, first) {
        (PathVerdict::Saves { share }, Some((today, of))) => {
            let by = saved.map(by).unwrap_or_default();
            format!("{name} instead of {today} saves {by} of {of} ({})", percent(share))
        }
        (PathVerdict::Saves { share }, None) => {
            format!("{name} saves {} ({})", saved.map(by).unwrap_or_default(), percent(share))
        }
        (PathVerdict::CostsMore { share }, first) => {
            let more = saved.map(|saved| Figure { value: -saved.value, ..saved });
            let by = more.map(by).unwrap_or_default();
            let share = percent(share);
            match first {
                Some((today, of)) => {
                    format!("{name} instead of {today} costs {by} more than {of} ({share})")
                }
                None => format!("{name} costs {by} more ({share})"),
            }
        }
        (PathVerdict::Untold { .. } | PathVerdict::NothingToSave, _) => String::new(),
    }
}

fn rank(verdict: &PathVerdict) -> u8 {
    match verdict {
        PathVerdict::Saves { .. } => 0,
        PathVerdict::CostsMore { .. } => 1,
        PathVerdict::NothingToSave => 2,
        PathVerdict::Untold { .. } => 3,
    }
}

fn reason(why: Untold, advice: &CostAdvice) -> String {
    match why {
        Untold::Withheld => "the run's own verdicts are withheld".to_owned(),
        Untold::TooFewBlocks => {
            format!("the run has {} blocks, too few for an interval", advice.blocks)
        }
        Untold::ReachesZero => "the interval reaches 0".to_owned(),
        Untold::ControlError => {
            "the error that the run's controls show could explain it".to_owned()
        }
        Untold::ControlTooWide => match advice.resolution {
            Some(share) => format!(
                "the run's controls could not have seen a difference below {}",
                percent(share)
            ),
            None => "the run's controls could not have seen any difference".to_owned(),
        },
        Untold::Beyond => format!(
            "{} of the bytes are in responses longer than the longest measured, {}, and without \
             them it is not the same",
            percent(advice.beyond.bytes_share),
            size(advice.beyond.bytes)
        ),
    }
}
