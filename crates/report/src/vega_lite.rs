//! Runs as a Vega-Lite specification (version 5, vega.github.io/schema/vega-lite/v5.json), for
//! users who draw their own charts. It contains the figures as data, one row per cell and side, and
//! initial charts.

use serde_json::{Value, json};

use super::csv::{comparison, raw};
use super::digits::us_per_mb;
use super::json::text;
use super::pivot::{level, placed};
use zc_analysis::{
    Bounds, CellEstimate, Estimates, Figure, LatencyQuantiles, RatioFigure, RequestCost,
};
use zc_run::{Factor, Header, Run, escape};

/// The whole specification: for each run its costs, its ratios and its top speeds, one below the
/// other.
pub fn vega_lite(runs: &[(&Run, &Estimates)]) -> String {
    let views: Vec<Value> = runs.iter().map(|(run, estimates)| view(run, estimates)).collect();
    text(&json!({
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "description": "What sending bytes over TCP costs, as zc measured it: CPU time in us per \
            MB (10^6 bytes), 95 % intervals.",
        "vconcat": views,
    }))
}

fn view(run: &Run, estimates: &Estimates) -> Value {
    let header = &run.header;
    let (rows, of) = if header.plan.factors.contains(&Factor::Message) {
        ("message", by_size as fn(&str, &str, &str) -> Value)
    } else {
        ("cell", by_cell as fn(&str, &str, &str) -> Value)
    };
    let own = |name: &str| escape(name, 80);
    json!({
        "title": {
            "text": format!("zc {}", own(&header.plan.experiment)),
            "subtitle": format!(
                "{}, Linux {}, over {}, {}",
                own(&header.host.hostname),
                own(&header.host.kernel_release),
                header.plan.fixed.link,
                own(&header.started_at)
            ),
        },
        "data": {"values": data(run, estimates)},
        "vconcat": charts(estimates).map(|(field, title)| of(rows, field, &title)),
    })
}

/// The quantities with a chart, each with the title of its axis.
fn charts(estimates: &Estimates) -> [(&'static str, String); 3] {
    let ratio = ("ratio", format!("by the cost of {}", compared_with(estimates)));
    if estimates.requests.is_empty() {
        let cost = ("cost_us_per_mb", "CPU time, us/MB".to_owned());
        [cost, ratio, ("top_gbit_per_s", "top speed, Gbit/s".to_owned())]
    } else {
        let cost = ("us_per_request", "CPU time, us/request".to_owned());
        [cost, ratio, ("latency_p99_ms", "latency, p99, ms".to_owned())]
    }
}

/// The baseline of the ratios, if it is one cell.
fn compared_with(estimates: &Estimates) -> String {
    let mut names: Vec<&str> =
        estimates.cells.iter().filter_map(|cell| cell.by.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    match names[..] {
        [one] => escape(one, 80),
        _ => "the cell it is compared with".to_owned(),
    }
}

/// One row per cell and side; unknown values are null.
fn data(run: &Run, estimates: &Estimates) -> Vec<Value> {
    let mut rows = Vec::new();
    for placed in placed(run, estimates) {
        let cell = placed.figures;
        for (side, cost, ratio) in [
            ("both", cell.cost_ns_per_kib.both, cell.ratio.both),
            ("sender", cell.cost_ns_per_kib.sender, cell.ratio.sender),
            ("receiver", cell.cost_ns_per_kib.receiver, cell.ratio.receiver),
        ] {
            // Of a server, the sender's cost is that of both.
            let request = estimates.requests.iter().find(|cost| cost.label == cell.label);
            if side != "both" && (cost.is_none() || request.is_some()) {
                continue;
            }
            let mut row = json!({
                "cell": escape(&cell.label, 80),
                "send": cell.transfer.sender(),
                "recv": cell.transfer.receiver().to_string(),
                "side": side,
                "comparison": if side == "both" { comparison(estimates, cell) } else { "" },
                "failed_zero_copy": cell.failed_zero_copy,
            });
            put(&mut row, "cost_us_per_mb", cost.map(|figure| Ends::of(&figure).scaled(us_per_mb)));
            put(&mut row, "ratio", ratio.map(|ratio| Ends::of_ratio(&ratio)));
            let top = if side == "both" { cell.top_speed_bytes_per_s } else { None };
            put(
                &mut row,
                "top_gbit_per_s",
                top.map(|figure| Ends::of(&figure).scaled(|speed| speed * 8e-9)),
            );
            if let Some(request) = request {
                requests(&mut row, request);
            }
            levels(&mut row, &run.header, cell, placed.cell);
            rows.push(row);
        }
    }
    rows
}

/// The figures of a server's state.
fn requests(row: &mut Value, cost: &RequestCost) {
    let ends = |figure: &Option<Figure>| figure.as_ref().map(Ends::of);
    put(row, "us_per_request", ends(&cost.us_per_request));
    put(row, "saved_us_per_request", ends(&cost.saved_us_per_request));
    row["process_us_per_request"] = json!(cost.process_us_per_request);
    row["requests_per_s"] = json!(cost.requests_per_s);
    let ms = |of: fn(&LatencyQuantiles) -> u64| Some(of(cost.latency.as_ref()?) as f64 / 1e6);
    row["latency_p50_ms"] = json!(ms(|latency| latency.p50_ns));
    // As its chart has it, with an interval that is not known.
    let p99 = ms(|latency| latency.p99_ns);
    put(row, "latency_p99_ms", p99.map(|p99| Ends::within(p99, None)));
    row["latency_longest_ms"] = json!(ms(|latency| latency.max_ns));
}

/// The levels of the plan's factors, with sizes and rates as numbers. `series` identifies a line
/// over sizes.
fn levels(row: &mut Value, header: &Header, figures: &CellEstimate, cell: &zc_run::Cell) {
    let mut series: Vec<String> = Vec::new();
    for factor in &header.plan.factors {
        let level = level(header, cell, *factor);
        let name = factor.name().replace('-', "_");
        row[name] = match level.value {
            zc_run::Value::Bytes(bytes) => json!(bytes),
            zc_run::Value::Rate(rate) => json!(rate),
            zc_run::Value::Number(number) => json!(number),
            _ => json!(escape(&raw(&level), 80)),
        };
        if *factor != Factor::Message {
            series.push(escape(&level.to_string(), 80));
        }
    }
    row["series"] =
        json!(if series.is_empty() { figures.transfer.sender() } else { series.join(" ") });
}

/// A value and the ends of its interval.
struct Ends {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
}

impl Ends {
    fn of(figure: &Figure) -> Self {
        Self::within(figure.value, figure.interval)
    }

    fn of_ratio(ratio: &RatioFigure) -> Self {
        Self::within(ratio.value, ratio.interval)
    }

    fn within(value: f64, interval: Option<Bounds>) -> Self {
        Self {
            value,
            low: interval.map(|interval| interval.low),
            high: interval.and_then(|interval| interval.high),
        }
    }

    fn scaled(self, by: impl Fn(f64) -> f64) -> Self {
        Self { value: by(self.value), low: self.low.map(&by), high: self.high.map(&by) }
    }
}

fn put(row: &mut Value, name: &str, ends: Option<Ends>) {
    let (value, low, high) =
        ends.map_or((None, None, None), |ends| (Some(ends.value), ends.low, ends.high));
    row[name] = json!(value);
    row[format!("{name}_low")] = json!(low);
    row[format!("{name}_high")] = json!(high);
}

/// A dot with a whisker per cell and side.
fn by_cell(rows: &str, field: &str, title: &str) -> Value {
    let (low, high) = (format!("{field}_low"), format!("{field}_high"));
    let y = json!({
        "field": rows, "type": "nominal", "title": null,
        "sort": {"field": field, "op": "min", "order": "ascending"},
    });
    let x =
        json!({"field": field, "type": "quantitative", "title": title, "scale": {"zero": true}});
    let common = json!({
        "y": y,
        "yOffset": {"field": "side", "type": "nominal"},
        "color": {"field": "side", "type": "nominal", "title": null},
    });
    let with = |own: Value| merged(&common, own);
    json!({
        "width": 420,
        "transform": [{"filter": format!("isValid(datum.{field})")}],
        "layer": [
            {
                "mark": {"type": "rule"},
                "transform": [{"filter": format!("isValid(datum.{low}) && isValid(datum.{high})")}],
                "encoding": with(json!({
                    "x": {"field": low, "type": "quantitative", "title": title},
                    "x2": {"field": high},
                })),
            },
            {
                "mark": {"type": "point", "filled": true, "size": 40},
                "encoding": with(json!({"x": x, "tooltip": tooltip(rows, field)})),
            },
        ],
    })
}

/// A line over message sizes per series, for both sides together; both scales are logarithmic.
fn by_size(rows: &str, field: &str, title: &str) -> Value {
    let (low, high) = (format!("{field}_low"), format!("{field}_high"));
    let common = json!({
        "x": {
            "field": rows,
            "type": "quantitative",
            "title": "message, bytes",
            "scale": {"type": "log", "base": 2},
        },
        "color": {"field": "series", "type": "nominal", "title": null},
    });
    let y = |field: &str| {
        let log = json!({"type": "log"});
        json!({"field": field, "type": "quantitative", "title": title, "scale": log})
    };
    let points = merged(&common, json!({"y": y(field), "tooltip": tooltip("cell", field)}));
    json!({
        "width": 420,
        // A cost at the noise floor may be below 0, where a logarithmic scale has no position.
        "transform": [{"filter": format!("datum.side == 'both' && datum.{field} > 0")}],
        "layer": [
            {
                "mark": {"type": "line", "point": true},
                "encoding": points,
            },
            {
                "mark": {"type": "rule"},
                "transform": [{"filter": format!("datum.{low} > 0 && isValid(datum.{high})")}],
                "encoding": merged(&common, json!({"y": y(&low), "y2": {"field": high}})),
            },
        ],
    })
}

fn tooltip(rows: &str, field: &str) -> Value {
    let of = |name: &str| json!({"field": name, "type": "quantitative", "format": ".4~g"});
    json!([
        {"field": rows, "type": "nominal"},
        {"field": "side", "type": "nominal"},
        of(field),
        of(&format!("{field}_low")),
        of(&format!("{field}_high")),
        {"field": "comparison", "type": "nominal"},
    ])
}

/// The common and the own encodings in one object.
fn merged(common: &Value, own: Value) -> Value {
    let mut all = common.clone();
    if let (Some(all), Value::Object(own)) = (all.as_object_mut(), own) {
        all.extend(own);
    }
    all
}
