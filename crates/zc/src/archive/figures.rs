//! Reads many saved runs, in as many threads as there are CPUs, and keeps of each what it adds.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use zc_analysis::fleet::{LeftOut, RunFigures, SharedFacts, figures};

use super::index::{Index, Known, Stamp, Writer};
use super::run_file::{Figures, RunFile};
use crate::read::Saved;

/// What the files add. A file that cannot be used is left out, with the reason.
pub(super) fn read(files: &[RunFile], index: &Index) -> Figures {
    let known = index.known();
    let mut all = Figures::default();
    let mut shared = SharedFacts::default();
    let mut writer = Writer::new();
    for (file, (stamp, mut figures)) in files.iter().zip(each(files, &known)) {
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

fn each(files: &[RunFile], known: &Known) -> Vec<Read> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(files.len());
    let next = AtomicUsize::new(0);
    let some = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(place) else { return done };
            done.push((place, one(file, known)));
        }
    };
    let mut done: Vec<(usize, Read)> = std::thread::scope(|scope| {
        // Where this user may have no further thread, this one does it alone.
        let other = |_| Builder::new().spawn_scoped(scope, some).ok();
        let others: Vec<_> = (1..threads).map_while(other).collect();
        let mut done = some();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, read)| read).collect()
}

fn one(file: &RunFile, known: &Known) -> Read {
    // Before it is read: a file that grows meanwhile is read again the next time.
    let stamp = Stamp::of(&file.path);
    if let Some(figures) = stamp.and_then(|stamp| known.get(&file.name, stamp)) {
        return (stamp, figures.clone());
    }
    let run = Saved::open(&file.path).and_then(Saved::read_silently);
    let figures = match run {
        Ok(run) => figures(file.name.clone(), &run),
        Err(error) => {
            let what = error.message.rsplit_once("\": ").map_or(&*error.message, |(_, what)| what);
            return (None, Err(format!("it cannot be read: {what}")));
        }
    };
    (stamp, figures)
}
