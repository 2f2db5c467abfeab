//! Chooses the tool by the name that the program was started under, or by the first word after
//! `zc`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// A tool of 2001.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// The server.
    Zcs,
    /// The client.
    Zcc,
    /// The load monitor.
    Cyclesoak,
    /// Runs a command SCHED_RR.
    RunRr,
    /// ttcp, with Jamal Hadi Salim's sendfile.
    Ttcp,
}

impl Tool {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Zcs, Self::Zcc, Self::Cyclesoak, Self::RunRr, Self::Ttcp];

    /// Its name of 2001.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zcs => "zcs",
            Self::Zcc => "zcc",
            Self::Cyclesoak => "cyclesoak",
            Self::RunRr => "run_rr",
            Self::Ttcp => "ttcp",
        }
    }

    /// All names that it answers to, the one of links first.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Zcs => &["zcs"],
            Self::Zcc => &["zcc"],
            Self::Cyclesoak => &["cyclesoak"],
            Self::RunRr => &["run_rr", "run-rr"],
            Self::Ttcp => &["ttcp", "ttcp-sf"],
        }
    }

    fn named(name: &OsStr) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.names().iter().any(|known| name == *known))
    }
}

/// The tool that `words` (the program's name, and what was typed after it) ask for, and what was
/// typed for it.
pub fn invoked(words: impl IntoIterator<Item = OsString>) -> Option<(Tool, Vec<OsString>)> {
    let mut words = words.into_iter();
    let program = words.next()?;
    let by_name = Path::new(&program).file_name().and_then(Tool::named);
    let tool = match by_name {
        Some(tool) => tool,
        None => Tool::named(&words.next()?)?,
    };
    Some((tool, words.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Option<(Tool, Vec<OsString>)> {
        invoked(words.iter().map(OsString::from))
    }

    #[test]
    fn a_tool_is_known_by_its_own_name_or_by_the_word_after_zc() {
        let rest = vec![OsString::from("-d")];
        assert_eq!(parse(&["./zcs", "-d"]), Some((Tool::Zcs, rest.clone())));
        assert_eq!(parse(&["/usr/bin/zc", "zcs", "-d"]), Some((Tool::Zcs, rest.clone())));
        assert_eq!(parse(&["zc", "run_rr", "-d"]), Some((Tool::RunRr, rest.clone())));
        assert_eq!(parse(&["zc", "run-rr", "-d"]), Some((Tool::RunRr, rest.clone())));
        assert_eq!(parse(&["./ttcp-sf", "-d"]), Some((Tool::Ttcp, rest)));
        assert_eq!(parse(&["zcc", "zcs"]), Some((Tool::Zcc, vec![OsString::from("zcs")])));
        for other in
            [&["zc"][..], &["zc", "run"], &["zc", "--", "zcs"], &[], &["zc-soakers", "soak"]]
        {
            assert_eq!(parse(other), None, "{other:?}");
        }
    }
}
