//! A trend as metrics, by the rules of [`mod@crate::openmetrics`]: the last night and the last
//! change of each line, and the answer to `--fail-if-worse`.

use crate::fleet::names::{Names, end};
use crate::fleet::openmetrics::{SECONDS_PER_BYTE, group_labels, label_names};
use crate::openmetrics::{Exposition, Labels, plan, with};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use zc_analysis::fleet::{Trend, TrendLine};

/// The whole exposition.
pub fn openmetrics(trend: &Trend) -> String {
    let mut out = Exposition::default();
    let names = Names::from_trend(trend);
    let by = label_names(names.by);
    let plan = plan(&trend.experiment, &trend.link);
    let lines: Vec<(Labels, &TrendLine)> = trend
        .lines
        .iter()
        .map(|line| {
            let own = [("cell", line.label.as_str()), ("side", end(line.end))];
            let labels = with(&plan, own);
            let group = group_labels(names, &by, line.group);
            (labels.into_iter().chain(group).collect(), line)
        })
        .collect();

    const NIGHTS: &str = "zc_trend_nights";
    out.family(NIGHTS, "", "Nights with runs.");
    out.sample(NIGHTS, &plan, &trend.nights.len().to_string());
    const LAST: &str = "zc_trend_last_night_timestamp_seconds";
    out.family(LAST, "seconds", "The last night of a line, since 1970: the age of its cost.");
    for (labels, line) in &lines {
        let night = line.points.last().and_then(|point| midnight(trend, point.night));
        out.gauge(LAST, labels, night);
    }
    let costs = lines.iter().filter_map(|(labels, line)| {
        let last = line.points.last()?;
        Some((labels.clone(), [Some(last.us_per_mb), last.low, last.high]))
    });
    let help = "CPU time that a byte of payload takes from the hosts of a group in the last night.";
    let family = ("zc_trend_cost", "seconds_per_byte", help);
    out.intervals(family, SECONDS_PER_BYTE, &costs.collect::<Vec<_>>());

    const CHANGES: &str = "zc_trend_changes";
    out.family(CHANGES, "", "Changes of a line's level over all nights.");
    for (labels, line) in &lines {
        out.sample(CHANGES, labels, &line.changes.len().to_string());
    }
    const CHANGED: &str = "zc_trend_last_change_timestamp_seconds";
    out.family(CHANGED, "seconds", "The first night of a line's last level, since 1970.");
    for (labels, line) in &lines {
        let night = line.changes.last().and_then(|change| midnight(trend, change.night));
        out.gauge(CHANGED, labels, night);
    }
    let changes = lines.iter().filter_map(|(labels, line)| {
        let last = line.changes.last()?;
        Some((labels.clone(), [Some(last.by), Some(last.low), Some(last.high)]))
    });
    let help = "Cost from the last change on by the cost before.";
    out.intervals(("zc_trend_last_change", "ratio", help), 1.0, &changes.collect::<Vec<_>>());

    const JUDGED: &str = "zc_trend_judged_lines";
    out.family(
        JUDGED,
        "",
        "Lines by the answer to --fail-if-worse; absent where it was not asked.",
    );
    if let Some(judged) = &trend.judgement {
        for (outcome, count) in [
            ("worse", judged.worse.len()),
            ("undecided", judged.undecided.len()),
            ("not-worse", judged.not_worse),
        ] {
            out.sample(JUDGED, &with(&plan, [("outcome", outcome)]), &count.to_string());
        }
    }
    const LEFT_OUT: &str = "zc_trend_left_out_runs";
    out.family(LEFT_OUT, "", "Runs that are not in the figures.");
    out.sample(LEFT_OUT, &plan, &trend.left_out.len().to_string());
    out.end()
}

/// Midnight (UTC) of a night, in seconds since 1970; `None` where a night is not a day.
fn midnight(trend: &Trend, night: usize) -> Option<f64> {
    let day: Date = trend.nights.get(night)?.parse().ok()?;
    Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second() as f64)
}
