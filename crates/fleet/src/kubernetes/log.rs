//! Splits the log of the end that sends: Kubernetes keeps stdout and stderr of a container in
//! one log, line by line, so the lines of the saved run are among those of what zc said.

use serde::de::IgnoredAny;

/// A log in its two parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Log {
    /// The saved run as its file would be; `None` where not even its header is whole.
    pub(super) run: Option<String>,
    /// Messages of zc.
    pub(super) said: String,
}

/// Beginnings of the first line of a saved run, and of the line after the last block.
const HEAD: &str = "{\"zc_run\"";
const TAIL: &str = "],\"end\":";

/// Splits a log. A run whose log was cut off, or is damaged, ends before the first incomplete
/// line.
pub(super) fn parse(log: &str) -> Log {
    let (mut run, mut said) = (String::new(), String::new());
    let (mut is_whole, mut has_end) = (true, false);
    for line in log.lines() {
        let is_of_run = match run.is_empty() {
            true => line.starts_with(HEAD),
            false => line.starts_with(['{', ']']),
        };
        if !is_of_run {
            said += line;
            said.push('\n');
            continue;
        }
        is_whole = is_whole && !has_end && is_line_of_run(line, run.is_empty());
        if is_whole {
            has_end = line.starts_with(TAIL);
            run += line;
            run.push('\n');
        }
    }
    if !run.is_empty() && !has_end {
        // A block that was followed by another one has a comma.
        let blocks = run.trim_end().trim_end_matches(',');
        run = format!("{blocks}\n],\"end\":null}}\n");
    }
    Log { run: Some(run).filter(|run| !run.is_empty()), said }
}

/// Whether a line of a saved run is as long as it was written: each is JSON but for what joins
/// them.
fn is_line_of_run(line: &str, is_first: bool) -> bool {
    let is_json = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_ok();
    match line.strip_prefix("],") {
        _ if is_first => line.ends_with("\"blocks\":[") && is_json(&format!("{line}]}}")),
        Some(end) => is_json(&format!("{{{end}")),
        None => is_json(line.strip_suffix(',').unwrap_or(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RUN: &str = "{\"zc_run\":3,\"a\":[1],\"blocks\":[\n{\"index\":0},\n{\"index\":1}\n],\
                       \"end\":{\"reason\":{\"why\":\"budget-spent\"}}}\n";

    #[test]
    fn the_lines_of_a_run_are_told_from_what_zc_said_among_them() {
        let lines: Vec<&str> = RUN.lines().collect();
        let log = format!(
            "waiting for the far end: x\n{}\nblock 1, 3 s left\n{}\n{}\nwarning: y\n{}\n",
            lines[0], lines[1], lines[2], lines[3]
        );
        let apart = parse(&log);
        assert_eq!(apart.run.as_deref(), Some(RUN));
        assert_eq!(apart.said, "waiting for the far end: x\nblock 1, 3 s left\nwarning: y\n");
    }

    #[test]
    fn a_log_without_a_run_has_only_what_was_said() {
        let log = "error: cannot connect\nhint: is it there?\n";
        assert_eq!(parse(log), Log { run: None, said: log.to_owned() });
        assert_eq!(parse(""), Log::default());
    }

    #[test]
    fn a_run_that_is_cut_off_or_damaged_is_whole_json_up_to_there() {
        for (end, blocks) in [("],\"end", 2), ("\":1}", 1), (",\n", 1), ("\":0}", 0)] {
            let end = RUN.find(end).unwrap();
            let run = parse(&RUN[..end]).run.unwrap();
            let document: serde_json::Value = serde_json::from_str(&run).expect(&run);
            assert_eq!(document["blocks"].as_array().unwrap().len(), blocks, "{run}");
            assert!(document["end"].is_null());
        }
        assert_eq!(parse(&RUN[..20]).run, None);
        // A line of stderr within one of stdout.
        let mixed = RUN.replace("{\"index\":1}", "{\"inwarning: x\ndex\":1}");
        let run = parse(&mixed).run.unwrap();
        let document: serde_json::Value = serde_json::from_str(&run).expect(&run);
        assert_eq!(document["blocks"].as_array().unwrap().len(), 1, "{run}");
    }

    proptest! {
        #[test]
        fn what_is_saved_of_any_beginning_of_a_log_is_json(end in 0..RUN.len()) {
            if let Some(run) = parse(&RUN[..end]).run {
                prop_assert!(serde_json::from_str::<IgnoredAny>(&run).is_ok(), "{run}");
            }
        }
    }
}
