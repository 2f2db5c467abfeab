//! The log of a bisection: a line of JSON for each commit, in a file that may hold several
//! bisections. It is replaced as a whole, so that a crash leaves the older lines.

use std::path::{Path, PathBuf};

use crate::{read, replace, tell};
use zc_analysis::bisect::Entry;
use zc_run::{Error, Result};

/// The largest log that is read: thousands of commits.
const LARGEST_BYTES: u64 = 16 << 20;

/// A log, and what it held when it was opened.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    text: String,
    /// The entries of the bisection that is under way.
    pub(super) entries: Vec<Entry>,
}

impl Log {
    /// Reads the log in a file, which need not exist yet, for a bisection.
    ///
    /// # Errors
    /// The file is something else, or cannot be read or written.
    pub(super) fn open(path: &Path, bisection: &str) -> Result<Self> {
        replace::check(path)?;
        let wrong = |what: &str| {
            Error::input(
                "cannot-read-log",
                format!("cannot read the log \"{}\": {what}", tell::path(path)),
            )
            .help("name another file with --log, or remove it")
        };
        let text = match path.exists() {
            true => {
                read::text(path, LARGEST_BYTES, wrong)?.ok_or_else(|| wrong("it is too large"))?
            }
            false => String::new(),
        };
        let mut entries = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let entry: Entry = serde_json::from_str(line)
                .map_err(|_| wrong(&format!("line {} is none of zc bisect", number + 1)))?;
            entries.push(entry);
        }
        entries.retain(|entry| entry.bisection == bisection);
        Ok(Self { path: path.to_owned(), text, entries })
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// The file cannot be written; the older lines are in it still.
    pub(super) fn add(&mut self, entry: Entry) -> Result<()> {
        let line = serde_json::to_string(&entry).map_err(|error| {
            Error::output("cannot-write", format!("cannot write the log: {error}"))
        })?;
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(&line);
        self.text.push('\n');
        replace::file(&self.path, &self.text)?;
        self.entries.push(entry);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_analysis::bisect::{Against, Told};

    fn entry(bisection: &str) -> Entry {
        Entry {
            zc_bisect: 1,
            bisection: bisection.to_owned(),
            at: "2026-11-28T20:01:00Z".to_owned(),
            commit: "1a".to_owned(),
            subject: String::new(),
            cell: "sendfile".to_owned(),
            reference: Against::StateA,
            worse: 0.05,
            answer: Told::Good,
            why: None,
            error: 0.01,
            ratio: Some(1.01),
            low: None,
            high: None,
            confidence: 0.99,
            values: 20,
            elapsed_s: 9.5,
        }
    }

    #[test]
    fn entries_are_those_of_the_bisection_and_others_stay_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut first = Log::open(&path, "a").unwrap();
        first.add(entry("a")).unwrap();
        let mut second = Log::open(&path, "b").unwrap();
        assert!(second.entries.is_empty());
        second.add(entry("b")).unwrap();
        second.add(entry("b")).unwrap();
        assert_eq!(Log::open(&path, "b").unwrap().entries, [entry("b"), entry("b")]);
        assert_eq!(Log::open(&path, "a").unwrap().entries, [entry("a")]);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
    }

    #[test]
    fn another_file_is_neither_read_nor_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "my notes\n").unwrap();
        assert_eq!(Log::open(&path, "a").unwrap_err().id, "cannot-read-log");
        assert_eq!(Log::open(folder.path(), "a").unwrap_err().id, "cannot-write");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "my notes\n");
    }
}
