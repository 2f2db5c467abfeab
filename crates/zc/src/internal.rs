//! The processes that zc starts from its own program: `zc --internal JOB`. Users do not type these,
//! so they are not commands, and no help, man page or completion lists them.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use super::{folder, guest, rights};
use zc_measure::session::states;
use zc_rig::internal::{
    COPIES, FOLDER, GUEST, GUEST_INIT, HELPER, INTERNAL, KEEPER, NFS_READ, NFS_SERVE, WATCHDOG,
};
use zc_rig::meter;
use zc_run::{Error, Result};

/// Does the job of this process, if it was started for one, and returns the exit code.
pub(super) fn asked_for() -> Option<Result<u8>> {
    let mut words = std::env::args_os().skip(1);
    let is_internal = words.next()? == INTERNAL;
    is_internal.then(|| match words.collect::<Vec<_>>().as_slice() {
        [first, words @ ..] if first == GUEST => guest::run(words),
        words => job(words).map(|()| 0),
    })
}

fn job(words: &[OsString]) -> Result<()> {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    match words[..] {
        [WATCHDOG] => states::watchdog::keep(),
        [KEEPER] => zc_servers::keep_server(),
        [COPIES, job] => zc_servers::serve_copies(Path::new(job)),
        [FOLDER, place] => folder::keep(Path::new(place)),
        [GUEST_INIT] => zc_guest::first_process().map(|never| match never {}),
        [NFS_SERVE, job] => zc_servers::serve_nfs(job),
        [NFS_READ, orders, answers, counts] => {
            zc_servers::read_by_mounts(Path::new(orders), Path::new(answers), Path::new(counts))
        }
        [HELPER, job] => {
            rights::refuse_new_ones();
            meter::serve(job, io::stdin().lock(), io::stdout())
        }
        _ => Err(Error::usage(
            "internal-command",
            format!("\"{INTERNAL}\" is for processes that zc starts itself"),
        )
        .help("zc --help lists the commands")),
    }
}
