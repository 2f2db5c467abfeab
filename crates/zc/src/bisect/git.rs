//! What git knows of a bisection: the commit that is checked out, and those that may be the first
//! bad one (git-bisect(1), git-rev-list(1)).

use std::io::ErrorKind as IoKind;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use zc_analysis::bisect::Told;
use zc_run::{Error, Result, escape, in_words};

/// A commit: its name and the first line of its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) name: String,
    pub(super) subject: String,
}

/// A `git bisect` that has begun.
#[derive(Debug)]
pub(super) struct Bisection {
    /// When it began: no two of one repository have the same.
    pub(super) began: String,
    bad: String,
    good: Vec<String>,
    skipped: Vec<String>,
    /// Arguments of git rev-list that limit it as `git bisect start` did.
    limits: (Vec<String>, Vec<String>),
}

/// What git says outside of a repository, in English.
const NO_REPOSITORY: &str = "not a git repository";

/// The commit that is checked out; `None` outside of a repository.
///
/// # Errors
/// There is no git.
pub(super) fn checked_out() -> Result<Option<Commit>> {
    let head = git(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
    head.map(|name| commit(name.trim())).transpose()
}

/// A commit by its name.
///
/// # Errors
/// There is no git.
pub(super) fn commit(name: &str) -> Result<Commit> {
    let subject = git(&["show", "--no-patch", "--format=%s", name])?.unwrap_or_default();
    Ok(Commit { name: name.to_owned(), subject: subject.trim().to_owned() })
}

/// A file of the git directory; `None` outside of a repository.
///
/// # Errors
/// There is no git, or it refuses the repository, as one that is another user's.
pub(super) fn own_file(name: &str) -> Result<Option<PathBuf>> {
    let output = output_of(&["rev-parse", "--git-path", name])?;
    if output.status.success() {
        let path = String::from_utf8_lossy(&output.stdout).into_owned();
        return Ok(Some(PathBuf::from(path.trim_end_matches('\n'))));
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains(NO_REPOSITORY) { Ok(None) } else { Err(refused(&said)) }
}

/// The error that git refuses a repository, in its own words: a sentence, and what it advises
/// below.
fn refused(said: &str) -> Error {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("it says nothing");
    let first = first.strip_prefix("fatal: ").unwrap_or(first);
    let advice = lines.collect::<Vec<_>>().join(" ");
    let error =
        Error::failed("git-refuses", format!("git refuses this folder: {}", escape(first, 400)));
    match advice.is_empty() {
        true => error.help("git status says the same; git bisect works where it does not"),
        false => error.help(escape(&advice, 600)),
    }
}

impl Bisection {
    /// The bisection of this repository; `None` if there is none, or it has no good and bad commit
    /// yet.
    ///
    /// # Errors
    /// There is no git.
    pub(super) fn under_way() -> Result<Option<Self>> {
        let Some(start) = own_file("BISECT_START")? else { return Ok(None) };
        let Some(began) = start.metadata().and_then(|found| found.modified()).ok() else {
            return Ok(None);
        };
        let began = jiff::Timestamp::try_from(began).map(|at| at.to_string()).unwrap_or_default();
        // The terms may be others than bad and good: a line for each.
        let terms = text_of("BISECT_TERMS")?.unwrap_or_default();
        let mut terms = terms.lines();
        let bad_term = terms.next().unwrap_or("bad");
        let good_term = terms.next().unwrap_or("good");
        let bad = format!("refs/bisect/{bad_term}");
        let Some(bad) = git(&["rev-parse", "--verify", "--quiet", &bad])? else { return Ok(None) };
        let good = refs(&format!("refs/bisect/{good_term}-*"))?;
        if good.is_empty() {
            return Ok(None);
        }
        let first_parent = text_of("BISECT_FIRST_PARENT")?.map(|_| "--first-parent".to_owned());
        let names = text_of("BISECT_NAMES")?.unwrap_or_default();
        let paths = unquoted(&names).into_iter().filter(|name| name != "--").collect();
        Ok(Some(Self {
            began,
            bad: bad.trim().to_owned(),
            good,
            skipped: refs("refs/bisect/skip-*")?,
            limits: (first_parent.into_iter().collect(), paths),
        }))
    }

    /// Takes the answer about a commit, as git will.
    pub(super) fn told(&mut self, commit: &str, answer: Told) {
        match answer {
            Told::Bad => commit.clone_into(&mut self.bad),
            Told::Good => self.good.push(commit.to_owned()),
            Told::Skip => self.skipped.push(commit.to_owned()),
        }
    }

    /// The commits that may be the first bad one, the one that is known to be bad among them.
    ///
    /// # Errors
    /// There is no git, or it does not list them.
    pub(super) fn suspects(&self) -> Result<Vec<String>> {
        let (options, paths) = &self.limits;
        let mut words = vec!["rev-list"];
        words.extend(options.iter().map(String::as_str));
        words.extend([self.bad.as_str(), "--not"]);
        words.extend(self.good.iter().map(String::as_str));
        words.push("--");
        words.extend(paths.iter().map(String::as_str));
        let listed = git(&words)?.ok_or_else(|| {
            Error::failed("git-failed", "git rev-list does not list the commits that are left")
                .help("git bisect visualize shows them; git bisect reset ends the bisection")
        })?;
        let mut suspects: Vec<String> = listed.lines().map(str::to_owned).collect();
        // A limit to paths leaves it out where it changes none of them.
        if !suspects.contains(&self.bad) {
            suspects.insert(0, self.bad.clone());
        }
        Ok(suspects)
    }

    /// Whether a commit is among those that were skipped.
    pub(super) fn is_skipped(&self, commit: &str) -> bool {
        self.skipped.iter().any(|skipped| skipped == commit)
    }

    /// The commit that is known to be bad.
    pub(super) fn bad(&self) -> &str {
        &self.bad
    }
}

/// The commits that refs of a pattern name.
fn refs(pattern: &str) -> Result<Vec<String>> {
    let listed = git(&["for-each-ref", "--format=%(objectname)", pattern])?.unwrap_or_default();
    Ok(listed.lines().map(str::to_owned).collect())
}

/// The text of a file of the git directory; `None` if there is none.
fn text_of(name: &str) -> Result<Option<String>> {
    Ok(own_file(name)?.and_then(|path| std::fs::read_to_string(path).ok()))
}

/// The words of a line that git has quoted for a shell.
fn unquoted(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    let mut rest = line.trim_end_matches('\n').chars();
    while let Some(each) = rest.next() {
        match each {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            '\\' if !quoted => word.get_or_insert_default().extend(rest.next()),
            _ => word.get_or_insert_default().push(each),
        }
    }
    words.extend(word);
    words
}

/// The stdout of git; `None` if it failed.
///
/// # Errors
/// It cannot be started.
fn git(words: &[&str]) -> Result<Option<String>> {
    let output = output_of(words)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(output.status.success().then_some(text))
}

/// What git prints, in English.
///
/// # Errors
/// It cannot be started.
fn output_of(words: &[&str]) -> Result<Output> {
    let mut command = Command::new("git");
    command.args(words).env("LC_ALL", "C").stdin(Stdio::null());
    command.output().map_err(|error| match error.kind() {
        IoKind::NotFound => Error::unsupported("no-git", "there is no \"git\" on this machine")
            .help("install git, or put it on the PATH"),
        _ => Error::failed("git-failed", format!("cannot start git: {}", in_words(&error))),
    })
}

/// The error that git is in no bisection.
pub(super) fn no_bisection() -> Error {
    Error::usage("no-bisection", "git is in no bisection in this folder")
        .help("git bisect start BAD GOOD, then git bisect run; --steps 1 tries this commit alone")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_git_has_quoted_are_themselves_again() {
        let words = unquoted(" '--' 'net/ipv4' 'it'\\''s' plain\n");
        assert_eq!(words, ["--", "net/ipv4", "it's", "plain"]);
        assert!(unquoted("\n").is_empty());
        assert_eq!(unquoted("'open"), ["open"]);
        assert_eq!(unquoted("a\\"), ["a"]);
    }

    #[test]
    fn a_repository_that_git_refuses_is_told_in_its_words() {
        let said = "fatal: detected dubious ownership in repository at '/x'\n\
                    To add an exception for this directory, call:\n\n\tgit config a b\n";
        let error = refused(said);
        assert!(error.message.ends_with("detected dubious ownership in repository at '/x'"));
        let advice = "To add an exception for this directory, call: git config a b";
        assert_eq!(error.help.as_deref(), Some(advice));
        assert!(refused("").help.is_some());
    }
}
