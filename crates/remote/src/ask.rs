//! Asks a shell on another machine: a script goes to its stdin, through the command that also
//! starts a server there (via.rs), and what it prints comes back.

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::connection::Received;
use super::via::Via;
use zc_rig::stderr_tail::shown;
use zc_rig::trial::{GLANCE, StillWanted};
use zc_run::Result;

/// Limit of what a shell prints.
const MOST_BYTES: usize = 64 << 10;

/// Time for a command to end after its stdout has ended.
const TO_END: Duration = Duration::from_secs(2);

/// What came back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The lines, fit for a terminal.
    pub lines: Vec<String>,
    /// How the command ended; `None` if it had to be killed.
    pub ended: Option<ExitStatus>,
    /// The line of its stderr that most likely names a problem.
    pub error: Option<String>,
}

/// Runs `COMMAND sh` with a script, which has to be one command, so that a shell that reads by
/// lines has read all of it before it begins. What is not over after `patience` is ended.
///
/// # Errors
/// The command cannot be started, or `still_wanted` says so.
pub fn ask(
    command: &str,
    script: &str,
    patience: Duration,
    still_wanted: StillWanted<'_>,
) -> Result<Answer> {
    let until = Instant::now() + patience;
    let (via, mut connection) = Via::spawn(command)?;
    // A command that does not read it has ended, or will report why.
    drop(connection.write_all(script.as_bytes()));
    connection.end_writing()?; // what is between here and the shell may wait for it
    let (mut lines, mut left) = (Vec::new(), MOST_BYTES);
    let to_end = loop {
        still_wanted()?;
        let step = GLANCE.min(until.saturating_duration_since(Instant::now()));
        // Of a stream that breaks, the command's end says more.
        match connection.line(left, step).unwrap_or(Received::Closed) {
            Received::Message(line) => {
                left = left.saturating_sub(line.len() + 1);
                lines.push(shown(&line));
            }
            Received::Late if Instant::now() < until && !via.asks() => {}
            Received::Closed => break TO_END,
            Received::Late | Received::TooLong | Received::Nonsense(_) => break Duration::ZERO,
        }
    };
    let (ended, error) = via.over(connection, to_end);
    Ok(Answer { lines, ended, error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::far_host::{SOON, ends};
    use zc_run::Error;

    #[test]
    fn a_shell_answers_and_its_end_is_known() {
        let answer = ask("env A=b", "{ echo $A; echo why >&2; exit 3; }\n", SOON, &|| Ok(()));
        let answer = answer.unwrap();
        assert_eq!(answer.lines, ["b"]);
        assert_eq!(answer.ended.and_then(|ended| ended.code()), Some(3));
        assert_eq!(answer.error.as_deref(), Some("why"));
        let gone = ask("exit 255;", "{ echo a; }\n", SOON, &|| Ok(())).unwrap();
        assert_eq!((gone.lines.len(), gone.ended.and_then(|ended| ended.code())), (0, Some(255)));
    }

    #[test]
    fn one_that_says_nothing_or_is_not_wanted_is_ended_with_its_processes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("{{ echo $$ >'{}'; sleep 1000; }}\n", file.display());
        let pid = || std::fs::read_to_string(&file).ok()?.trim().parse::<i32>().ok();
        let is_there = || match pid() {
            Some(_) => Err(Error::interrupted("interrupted")),
            None => Ok(()),
        };
        assert!(ask("env", &script, SOON, &is_there).is_err());
        assert!(ends(pid().unwrap()));
        std::fs::remove_file(&file).unwrap();
        let late = ask("env", &script, Duration::from_secs(1), &|| Ok(())).unwrap();
        assert_eq!((late.lines.len(), late.ended.and_then(|ended| ended.code())), (0, None));
        assert!(pid().is_none_or(ends));
    }
}
