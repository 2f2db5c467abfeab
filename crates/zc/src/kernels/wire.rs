//! `--link wire`: a boot is two guests. The near one runs `zc run --remote`, and the far one, whose
//! kernel is the first one in every boot, `zc serve`: whoever changes a kernel asks what it costs
//! to send from it to a host that stays as it is.

use std::ffi::OsString;

use zc_guest::{
    Boot, Ended, FAR_ADDRESS, Job, Kernel, OWN_PROGRAM, Outcome, Pair, TOKEN, boot_pair,
};
use zc_kernel::stop::Stop;
use zc_remote::secret::Secret;
use zc_run::{ErrorKind, Result};

/// The words by which the near guest finds the far one. It waits longer than any boot may take: the
/// clock of an emulated guest may be several times as fast as the host's, which ends the wait.
pub(super) fn way() -> impl Iterator<Item = OsString> {
    ["--remote", FAR_ADDRESS, "--token-file", TOKEN, "--wait-for-remote", "24h"]
        .into_iter()
        .map(OsString::from)
}

/// Boots this guest, and one with the kernel `of_far` at the other end of a wire.
///
/// # Errors
/// A guest cannot be started.
pub(super) fn booted(near: Boot<'_>, of_far: &Kernel, stop: &Stop) -> Result<Pair> {
    let (_, token) = Secret::one_time()?;
    let job = Job { token: Some(token), ..near.job.clone() };
    let words = [OWN_PROGRAM, "serve", "--listen", FAR_ADDRESS, "--token-file", TOKEN];
    let far_job = Job {
        words: words.map(OsString::from).to_vec(),
        host_name: format!("{}-far", job.host_name),
        take_in: None,
        ..job.clone()
    };
    let far = Boot { kernel: of_far, job: &far_job, share: None, ..near };
    boot_pair(Boot { job: &job, ..near }, far, stop)
}

/// Why a boot has no run if it is the far guest's fault, and last lines; `why` is why a guest has
/// not run its command to the end.
pub(super) fn why(
    far: &Outcome,
    near: &Outcome,
    why: impl Fn(&Outcome, &str) -> (String, Vec<String>),
) -> Option<(String, Vec<String>)> {
    match far.ended {
        // It never listened.
        Ended::Stopped if near.ended == Ended::Late && far.output.is_empty() => {
            Some(why(far, "zc serve"))
        }
        // It was there until the end, and did not answer.
        Ended::Stopped if near.ended == Ended::Job(ErrorKind::Remote.exit_code()) => {
            let ((near, _), (_, last_lines)) = (why(near, "zc run"), why(far, "zc serve"));
            Some((format!("it was not reached: {near}"), last_lines))
        }
        Ended::Stopped => None,
        _ => Some(why(far, "zc serve")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::run_line;
    use super::*;

    #[test]
    fn the_words_towards_the_far_guest_are_options_of_zc_run() {
        let words = ["zc", "run"].map(str::to_owned).into_iter();
        let words: Vec<String> =
            words.chain(way().map(|word| word.to_string_lossy().into_owned())).collect();
        assert!(run_line::parse(&words).unwrap()[0].stream.remote.is_given());
    }

    #[test]
    fn a_far_guest_that_ended_or_did_not_answer_is_why_there_is_no_run() {
        let outcome = |ended, output: &str| Outcome {
            ended,
            output: output.to_owned(),
            log: String::new(),
            took: Duration::from_secs(1),
        };
        let said_and = |output: &str, far, near| {
            let why = |outcome: &Outcome, command: &str| {
                (format!("{command}: {:?}", outcome.ended), vec![format!("of {command}")])
            };
            let (far, near) = (outcome(far, output), outcome(near, ""));
            super::why(&far, &near, why).map(|(why, lines)| (why, lines.concat()))
        };
        let why = |far, near| said_and("listening", far, near);
        let said = |why: &str| Some((why.to_owned(), "of zc serve".to_owned()));
        assert_eq!(why(Ended::Stopped, Ended::Job(0)), None);
        assert_eq!(why(Ended::Stopped, Ended::Job(13)), None, "that is no far end's fault");
        let unreached = "it was not reached: zc run: Job(6)";
        assert_eq!(why(Ended::Stopped, Ended::Job(6)), said(unreached));
        let panicked = Ended::Failed("oops".to_owned());
        assert_eq!(why(panicked, Ended::Stopped), said("zc serve: Failed(\"oops\")"));
        assert_eq!(why(Ended::Job(1), Ended::Job(0)), said("zc serve: Job(1)"));
        assert_eq!(why(Ended::Stopped, Ended::Late), None, "the near one hangs");
        assert_eq!(said_and("", Ended::Stopped, Ended::Late), said("zc serve: Stopped"));
    }
}
