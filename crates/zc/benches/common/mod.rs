//! Shared by the benches: the rig that they measure on, a path's cell, settings from the
//! environment, medians.

#![allow(dead_code)] // each bench is a crate of its own and takes what it needs

pub(crate) mod programs;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use zc_rig::trial::{self, Rig, RigSetup};
use zc_run::{
    AckOptions, Cell, FixedParams, LinkKind, LinkOptions, RecvPath, Run, SendPath, Timing, parse,
};
use zc_testkit::synthetic::Synthetic;

/// Size of every buffer, in bytes.
pub(crate) const BUFFER: usize = 64 << 10;

/// Whether `cargo test --benches` only asks if the bench starts.
pub(crate) fn only_asked_to_start() -> bool {
    std::env::args().any(|arg| arg == "--test")
}

/// Value of the environment variable `name`, or the default.
pub(crate) fn setting<T: FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// The saved runs whose names the environment variable `name` lists; `None` if it is not set.
pub(crate) fn named_runs(name: &str) -> Option<Vec<(String, Run)>> {
    let read = |path: &str| {
        let text = std::fs::read_to_string(path).expect("a saved run");
        let short = path.rsplit('/').next().unwrap_or(path);
        (short.to_owned(), parse(&text).expect("a saved run").0)
    };
    std::env::var(name).ok().map(|names| names.split_whitespace().map(read).collect())
}

/// The path, to a receiver that does recv(2).
pub(crate) fn cell(path: SendPath) -> Cell {
    Cell::of_paths(path, RecvPath::Recv)
}

/// Ascending.
pub(crate) fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The one in the middle of what [`sorted`] returned.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

/// A rig on `link` that sends `files`, or the generated set where there are none; 800 MB/s where it
/// is paced.
pub(crate) fn rig(link: LinkKind, files: &[PathBuf], far_end: AckOptions, timing: Timing) -> Rig {
    let allowed = trial::allowed_cpus().expect("CPUs");
    let (sender_cpu, receiver_cpu) = trial::choose_cpus(&allowed);
    let options = LinkOptions { far_end, ..LinkOptions::default() };
    let up = trial::bring_up(&[link], sender_cpu, receiver_cpu, &options, &[]).expect("the link");
    let (setup, _) = trial::open_files(files, 1, BUFFER, &[], sender_cpu).expect("files");
    let fixed = FixedParams {
        link,
        rate_bytes_per_s: 800e6,
        rate_chosen: false,
        buffer_bytes: BUFFER,
        recv_buffer_bytes: BUFFER,
        sender_cpu,
        receiver_cpu,
        soaked_cpus: allowed,
        ..Synthetic::default().header().plan.fixed
    };
    Rig::new(RigSetup {
        links: up.links,
        setup,
        fixed,
        timing,
        remote: None,
        sampler: None,
        counters: None,
    })
    .expect("a rig")
}

/// Writes so many files of so many bytes in `folder`.
pub(crate) fn files(folder: &Path, count: usize, bytes: usize) -> Vec<PathBuf> {
    (0..count)
        .map(|index| {
            let path = folder.join(format!("{bytes}-{index}"));
            let content: Vec<u8> =
                (0..bytes).map(|at| (at.wrapping_mul(31) ^ index) as u8).collect();
            std::fs::write(&path, content).expect("write a file");
            path
        })
        .collect()
}
