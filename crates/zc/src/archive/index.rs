//! The index of an archive: what each of its runs adds to a fleet, so that a run of 100 kB or more
//! is read once. A line for each machine's facts, and one for each file. It can be removed at any
//! time.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zc_analysis::fleet::{HostFacts, RunFigures};

use zc_fleet::files::{self, Whose};

/// The name of an index in its folder.
pub(super) const INDEX: &str = "index.jsonl";

/// The largest index that is read.
const LARGEST_BYTES: u64 = 1 << 30;

/// The first line. Another version of zc may compute other figures of the same run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    zc_index: u32,
    zc_version: String,
}

impl Head {
    fn own() -> Self {
        Self { zc_index: 1, zc_version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// A line after the first.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    /// Facts, which later lines refer to by their number.
    Facts(HostFacts),
    /// A file.
    File(Box<FileLine>),
}

#[derive(Debug, Serialize, Deserialize)]
struct FileLine {
    name: String,
    bytes: u64,
    modified_ns: u64,
    /// Numbers of the facts of both machines.
    near: Option<usize>,
    far: Option<usize>,
    /// Figures of the file, with empty facts, or why it cannot be used.
    figures: Result<RunFigures, String>,
}

/// A file as it was when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) bytes: u64,
    pub(super) modified_ns: u64,
}

impl Stamp {
    /// Stamp of a file now; `None` if its metadata cannot be read.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let metadata = path.symlink_metadata().ok()?;
        let since = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(Self { bytes: metadata.len(), modified_ns: u64::try_from(since.as_nanos()).ok()? })
    }
}

/// An index as it is on disk. Its lines are parsed by [`Index::known`], which strangers' files need
/// no rights for.
#[derive(Debug, Default)]
pub(super) struct Known {
    by_name: HashMap<String, (Stamp, Result<RunFigures, String>)>,
}

/// The text of an index, of which nothing has been parsed yet.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(super) text: String,
}

impl Index {
    /// The one of a folder; an empty one where there is none that can be read.
    pub(super) fn read(folder: &Path, whose: Whose) -> Self {
        let bytes = files::bytes(folder, Path::new(INDEX), whose, LARGEST_BYTES).ok();
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        Self { text }
    }

    /// Parses the index: nothing if it is of another version, and only the lines before a broken
    /// one.
    pub(super) fn known(&self) -> Known {
        let mut known = Known::default();
        let mut lines = self.text.lines();
        let head = lines.next().and_then(|line| serde_json::from_str::<Head>(line).ok());
        if head != Some(Head::own()) {
            return known;
        }
        let mut facts: Vec<Arc<HostFacts>> = Vec::new();
        for line in lines {
            match serde_json::from_str(line) {
                Ok(Line::Facts(more)) => facts.push(Arc::new(more)),
                Ok(Line::File(file)) => {
                    let of = |number: Option<usize>| facts.get(number?).cloned();
                    let figures = match file.figures {
                        Ok(mut run) => {
                            let Some(near) = of(file.near) else { break };
                            run.near = near;
                            run.far = of(file.far);
                            Ok(run)
                        }
                        Err(why) => Err(why),
                    };
                    let stamp = Stamp { bytes: file.bytes, modified_ns: file.modified_ns };
                    known.by_name.insert(file.name, (stamp, figures));
                }
                Err(_) => break,
            }
        }
        known
    }
}

impl Known {
    /// Figures of a file, if it has not changed since it was read.
    pub(super) fn get(&self, name: &str, stamp: Stamp) -> Option<&Result<RunFigures, String>> {
        let (seen, figures) = self.by_name.get(name)?;
        (*seen == stamp).then_some(figures)
    }
}

/// Writes an index.
#[derive(Debug)]
pub(super) struct Writer {
    text: String,
    numbers: HashMap<*const HostFacts, usize>,
}

impl Writer {
    pub(super) fn new() -> Self {
        let mut writer = Self { text: String::new(), numbers: HashMap::new() };
        writer.line(&Head::own());
        writer
    }

    fn line(&mut self, line: &impl Serialize) {
        // What has no map with keys that are no text is always written.
        self.text += &serde_json::to_string(line).unwrap_or_default();
        self.text.push('\n');
    }

    fn facts(&mut self, facts: &Arc<HostFacts>) -> usize {
        let next = self.numbers.len();
        if let Some(number) = self.numbers.get(&Arc::as_ptr(facts)) {
            return *number;
        }
        self.line(&Line::Facts((**facts).clone()));
        self.numbers.insert(Arc::as_ptr(facts), next);
        next
    }

    /// Adds a file, whose facts are shared with those before it.
    pub(super) fn add(&mut self, name: &str, stamp: Stamp, figures: &Result<RunFigures, String>) {
        let (mut near, mut far) = (None, None);
        let figures = figures.clone().map(|mut run| {
            near = Some(self.facts(&run.near));
            far = run.far.as_ref().map(|facts| self.facts(facts));
            run.near = Arc::default();
            run.far = None;
            run
        });
        let Stamp { bytes, modified_ns } = stamp;
        let name = name.to_owned();
        let line = FileLine { name, bytes, modified_ns, near, far, figures };
        self.line(&Line::File(Box::new(line)));
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(host: &str) -> Arc<HostFacts> {
        let facts = [("kernel".to_owned(), "6.18".to_owned())].into();
        Arc::new(HostFacts { host: host.to_owned(), facts })
    }

    fn run(name: &str, near: &Arc<HostFacts>, far: Option<&Arc<HostFacts>>) -> RunFigures {
        RunFigures {
            name: name.to_owned(),
            started_at: "2026-11-24T01:02:03Z".to_owned(),
            zc_version: "0.2.0".to_owned(),
            experiment: "paths".to_owned(),
            link: "remote".to_owned(),
            reference: "read+send".to_owned(),
            near: Arc::clone(near),
            far: far.map(Arc::clone),
            blocks_kept: 9,
            blocks: 10,
            is_whole: true,
            withheld: Vec::new(),
            cells: Vec::new(),
        }
    }

    #[test]
    fn what_was_written_is_known_until_the_file_changes() {
        let (n1, n2) = (facts("n1"), facts("n2"));
        let stamp = Stamp { bytes: 5, modified_ns: 7 };
        let mut writer = Writer::new();
        let all = [Ok(run("a", &n1, Some(&n2))), Ok(run("b", &n2, None)), Err("why".to_owned())];
        for (name, figures) in ["a", "b", "c"].iter().zip(&all) {
            writer.add(name, stamp, figures);
        }
        let text = writer.finish();
        assert_eq!(text.matches("\"facts\":{\"host\"").count(), 2, "facts are there once: {text}");
        let known = Index { text: text.clone() }.known();
        for (name, figures) in ["a", "b", "c"].iter().zip(&all) {
            assert_eq!(known.get(name, stamp), Some(figures));
            assert_eq!(known.get(name, Stamp { bytes: 6, ..stamp }), None);
        }
        // A line that was cut off, and an index of another version.
        let cut = Index { text: text[..text.len() - 3].to_owned() }.known();
        assert!(cut.get("b", stamp).is_some() && cut.get("c", stamp).is_none());
        let other = Index { text: text.replacen("zc_version\":\"", "zc_version\":\"9", 1) }.known();
        assert!(other.get("a", stamp).is_none());
    }
}
