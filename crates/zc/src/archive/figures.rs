//! Reads many saved runs, in as many threads as there are CPUs, and keeps of each what it adds.

use std::io;

use zc_analysis::fleet::{LeftOut, RunFigures, SharedFacts, figures};
use zc_analysis::parallel;

use super::index::{Index, Known, Stamp, Writer};
use super::run_file::{Figures, RunFile};
use crate::read::Saved;
use zc_run::{Error, in_words};

/// Figures of the files. A file that cannot be used is left out, with the reason.
pub(super) fn read(files: &[RunFile], index: &Index) -> Figures {
    let known = index.known();
    let mut all = Figures::default();
    let mut shared = SharedFacts::default();
    let mut writer = Writer::new();
    let read = parallel::each(files.len(), |place| one(&files[place], &known));
    for (file, (stamp, mut figures)) in files.iter().zip(read) {
        figures = figures.map(|run| shared.share(run));
        if let Some(stamp) = stamp {
            writer.add(&file.name, stamp, &figures);
        }
        match figures {
            Ok(run) => all.runs.push(run),
            Err(why) => all.left_out.push(LeftOut { name: file.name.clone(), why }),
        }
    }
    all.index = writer.finish();
    all
}

type Read = (Option<Stamp>, Result<RunFigures, String>);

fn one(file: &RunFile, known: &Known) -> Read {
    // Before it is read: a file that grows meanwhile is read again the next time.
    let stamp = Stamp::read(&file.path());
    if let Some(figures) = stamp.and_then(|stamp| known.get(&file.name, stamp)) {
        return (stamp, figures.clone());
    }
    let open = |error: io::Error| Error::input("cannot-read", in_words(&error));
    let opened = file.open().map_err(open).and_then(|open| Saved::from_file(&file.path(), open));
    let run = opened.and_then(Saved::read_silently);
    let figures = match run {
        Ok(run) => figures(file.name.clone(), &run),
        Err(error) => {
            let what = error.message.rsplit_once("\": ").map_or(&*error.message, |(_, what)| what);
            return (None, Err(format!("it cannot be read: {what}")));
        }
    };
    (stamp, figures)
}
