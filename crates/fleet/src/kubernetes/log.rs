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

/// Beginnings of the first line of a saved run, and of the last one.
const HEADER: &str = "{\"zc_run\"";
const END: &str = "{\"ended_at\"";

/// Splits a log. A run whose log was cut off, or is damaged, ends before the first incomplete
/// line.
pub(super) fn parse(log: &str) -> Log {
    let (mut run, mut said) = (String::new(), String::new());
    let (mut is_whole, mut has_end) = (true, false);
    for line in log.lines() {
        if !line.starts_with(if run.is_empty() { HEADER } else { "{" }) {
            said += line;
            said.push('\n');
            continue;
        }
        is_whole = is_whole && !has_end && serde_json::from_str::<IgnoredAny>(line).is_ok();
        if is_whole {
            has_end = line.starts_with(END);
            run += line;
            run.push('\n');
        }
    }
    Log { run: Some(run).filter(|run| !run.is_empty()), said }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RUN: &str = "{\"zc_run\":4,\"a\":[1]}\n{\"index\":0}\n{\"index\":1}\n\
                       {\"ended_at\":\"x\",\"reason\":{\"why\":\"budget-spent\"}}\n";

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
    fn a_run_that_is_cut_off_or_damaged_is_whole_up_to_there() {
        for (end, lines) in [("\"reason", 3), ("\":1}", 2), ("\":0}", 1)] {
            let run = parse(&RUN[..RUN.find(end).unwrap()]).run.unwrap();
            assert_eq!(run.lines().count(), lines, "{run}");
            assert!(RUN.starts_with(&run), "{run}");
        }
        assert_eq!(parse(&RUN[..15]).run, None);
        // A line of stderr within one of stdout.
        let mixed = RUN.replace("{\"index\":1}", "{\"inwarning: x\ndex\":1}");
        assert_eq!(parse(&mixed).run.unwrap().lines().count(), 2);
    }

    proptest! {
        #[test]
        fn what_is_saved_of_any_beginning_of_a_log_is_whole_lines(end in 0..RUN.len()) {
            if let Some(run) = parse(&RUN[..end]).run {
                prop_assert!(RUN.starts_with(&run), "{run}");
                let is_json = |line| serde_json::from_str::<IgnoredAny>(line).is_ok();
                prop_assert!(run.lines().all(is_json), "{run}");
            }
        }
    }
}
