//! The names of states in the runs of a tuning, by which a cell is found for a line.

use zc_run::HostState;

/// The state that lines are compared with, and the reference of every run.
pub const PRESENT: &str = "present";

/// The state with all lines that are to be changed.
pub const TOGETHER: &str = "together";

/// The states of several lines, which are added one after the other: all of `lines` first, then
/// fewer and fewer, each with its name.
pub fn step_states(lines: &[usize]) -> impl Iterator<Item = (String, &[usize])> {
    let counts = (1..=lines.len()).rev();
    counts.map(|count| (step_name(count, lines.len()), &lines[..count]))
}

/// The name of the state that has the first `count` lines of `all`.
pub(super) fn step_name(count: usize, all: usize) -> String {
    if count == all { TOGETHER.to_owned() } else { format!("first {count}") }
}

/// Longest name of a state, in characters ([`HostState`]).
const LONGEST: usize = 40;

/// The name of the state in which line `candidate` is tried: its index, and the line as far as a
/// name has room for it and may have its characters: `3 tcp_nopush off`.
pub fn state_name(candidate: usize, line: &str) -> String {
    let fits = |c: char| if c.is_control() || matches!(c, ':' | '=') { ' ' } else { c };
    let line: String = line.chars().map(fits).collect();
    let name = format!("{candidate} {}", line.split_whitespace().collect::<Vec<_>>().join(" "));
    let name: String = name.chars().take(LONGEST).collect();
    let name = name.trim_end();
    // Whatever a state refuses, the index alone is one.
    match name.parse::<HostState>() {
        Ok(_) => name.to_owned(),
        Err(_) => candidate.to_string(),
    }
}

/// The index of the line that is tried in a state; `None` for the other states.
pub fn candidate_of_state(state: &str) -> Option<usize> {
    state.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_named_after_its_line_and_leads_back_to_it() {
        for (line, name) in [
            ("tcp_nopush off", "7 tcp_nopush off"),
            (
                "sysctl net.ipv4.tcp_wmem=4096 131072 16777216",
                "7 sysctl net.ipv4.tcp_wmem 4096 131072 1",
            ),
            ("access_log syslog:server=unix:/x", "7 access_log syslog server unix /x"),
            ("", "7"),
            ("\u{1b}[0m  x\n", "7 [0m x"),
        ] {
            assert_eq!(state_name(7, line), name);
            assert!(name.parse::<HostState>().is_ok());
            assert_eq!(candidate_of_state(name), Some(7));
        }
        assert_eq!(candidate_of_state(PRESENT), None);
        assert_eq!(candidate_of_state(TOGETHER), None);
        assert_eq!(candidate_of_state(""), None);
    }

    #[test]
    fn lines_are_taken_away_from_the_end() {
        let lines = [7, 2, 5];
        let states: Vec<_> = step_states(&lines).collect();
        let named = |name: &str, lines: &'static [usize]| (name.to_owned(), lines);
        let expected =
            [named(TOGETHER, &[7, 2, 5]), named("first 2", &[7, 2]), named("first 1", &[7])];
        assert_eq!(states, expected);
        assert!(states.iter().all(|(name, _)| candidate_of_state(name).is_none()));
    }
}
