//! Calls of kubectl, and what its failures mean.

use std::process::{Command, Stdio};

use zc_run::{Error, Result, escape};

use super::bounded;
use crate::plan::FleetPlan;

/// Timeout of each request.
const TIMEOUT: &str = "--request-timeout=60s";

/// Most bytes that are read of its output. The log of a pod is as long as its node wants it to be.
const MOST_BYTES: u64 = 256 << 20;

/// The command, with the namespace of a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kubectl {
    words: Vec<String>,
}

impl Kubectl {
    /// The command for a plan, with the program that is used here.
    pub(super) fn for_plan(plan: &FleetPlan) -> Self {
        Self::new(&plan.programs.kubectl, plan.kubernetes.namespace.as_deref())
    }

    /// From a command, which is split at spaces.
    pub(super) fn new(command: &str, namespace: Option<&str>) -> Self {
        let mut words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        words.extend(namespace.map(|name| format!("--namespace={name}")));
        Self { words }
    }

    /// The words of a call.
    pub(super) fn words(&self, call: &[&str]) -> Vec<String> {
        self.words.iter().cloned().chain(call.iter().map(|word| (*word).to_owned())).collect()
    }

    /// The stdout of a call.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is no kubectl here;
    /// [`ErrorKind::Remote`](zc_run::ErrorKind): it failed.
    pub(super) fn output(&self, call: &[&str]) -> Result<String> {
        self.try_output(call)?.map_err(|failed| failed.error())
    }

    /// The stdout of a call, or what it said when it failed.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](zc_run::ErrorKind): there is no kubectl here.
    pub(super) fn try_output(&self, call: &[&str]) -> Result<std::result::Result<String, Failed>> {
        let words = self.words(call);
        let (command, words) = words.split_first().expect("a command that is not empty");
        let mut command_line = Command::new(command);
        command_line.args(words).arg(TIMEOUT).stdin(Stdio::null());
        let output = bounded::output(command_line, MOST_BYTES).map_err(|error| {
            let command = escape(command, 80);
            match error.kind() {
                std::io::ErrorKind::NotFound => Error::unsupported(
                    "command-not-found",
                    format!("there is no \"{command}\" here"),
                )
                .help("[kubernetes] kubectl of the fleet's file names the command"),
                std::io::ErrorKind::FileTooLarge => {
                    let message = format!("\"{command}\" printed more than any run or list has");
                    Error::remote("output-too-long", message).help("what was submitted stays")
                }
                _ => Error::os(format!("start \"{command}\""), error),
            }
        })?;
        Ok(match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(Failed { said: String::from_utf8_lossy(&output.stderr).into_owned() }),
        })
    }
}

/// Output of a failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) said: String,
}

/// Messages of several versions of kubectl when nobody answers.
const UNREACHABLE: [&str; 5] = [
    "Unable to connect to the server",
    "The connection to the server",
    "couldn't get current server API group list",
    "i/o timeout",
    "Client.Timeout",
];

impl Failed {
    fn lines(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.said.lines().map(str::trim).filter(|line| !line.is_empty())
    }

    /// Whether the call failed only because the objects exist already.
    pub(super) fn is_there_already(&self) -> bool {
        let mut errors =
            self.lines().filter(|line| line.starts_with("Error from server")).peekable();
        errors.peek().is_some() && errors.all(|line| line.contains("already exists"))
    }

    /// The failure, as an error with a hint.
    pub(super) fn error(&self) -> Error {
        let said = self.lines().next_back().unwrap_or("it said nothing");
        if UNREACHABLE.iter().any(|words| self.said.contains(words)) {
            return Error::remote(
                "cluster-unreachable",
                format!("the cluster does not answer: {}", escape(said, 240)),
            )
            .help(
                "kubectl cluster-info tells more; what was submitted stays, and the same \
                     command goes on",
            );
        }
        let error =
            Error::remote("kubectl-failed", format!("kubectl failed: {}", escape(said, 300)));
        match () {
            () if said.contains("(Forbidden)") || said.contains("is forbidden") => {
                error.help("docs/fleet.md lists the rights that a fleet needs in its namespace")
            }
            () if said.contains("already exists") => error.help(
                "a Job that is being deleted has its name for a while: the same command goes on",
            ),
            () => error.help("what was submitted stays, and the same command goes on"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(said: &str) -> Failed {
        Failed { said: said.to_owned() }
    }

    #[test]
    fn what_failed_is_told_with_what_helps() {
        let error = failed(
            "The connection to the server 192.0.2.1:6443 was refused - did you specify the right \
             host or port?\n",
        )
        .error();
        assert_eq!(error.id, "cluster-unreachable");
        let error = failed(
            "Error from server (Forbidden): jobs.batch is forbidden: User \"a\" cannot list \
             resource \"jobs\"\n",
        )
        .error();
        assert!(error.help.unwrap().contains("rights"));
        assert_eq!(failed("").error().id, "kubectl-failed");
    }

    #[test]
    fn what_is_there_already_is_no_failure_unless_something_else_is() {
        let there = "Error from server (AlreadyExists): error when creating \"f\": services \"x\" \
                     already exists\n";
        assert!(failed(&there.repeat(2)).is_there_already());
        let other = "Error from server (Forbidden): secrets is forbidden\n";
        assert!(!failed(&format!("{there}{other}")).is_there_already());
        assert!(!failed("").is_there_already());
    }
}
