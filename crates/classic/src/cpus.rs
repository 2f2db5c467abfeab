//! The CPUs that a tool soaks, and the one that it runs on.

use zc_kernel::sched;
use zc_rig::meter;
use zc_run::{Error, ErrorKind, Result};

/// The CPUs that are soaked: all that this process may use, or the first `nr_cpus` of them.
///
/// # Errors
/// There are fewer than `nr_cpus`.
pub fn cpus_for(nr_cpus: Option<usize>) -> Result<Vec<usize>> {
    let mut cpus =
        sched::allowed_cpus().map_err(|error| Error::os("ask which CPUs may be used", error))?;
    match nr_cpus {
        Some(wanted) if wanted > cpus.len() => Err(Error::usage(
            "too-few-cpus",
            format!("-N: there are {} CPUs here, not \"{wanted}\"", cpus.len()),
        )
        .help("leave out -N to soak all CPUs")),
        Some(wanted) => {
            cpus.truncate(wanted);
            Ok(cpus)
        }
        None => Ok(cpus),
    }
}

/// The number of online CPUs, whether or not this process may use them; 0 if it is unknown.
pub fn online_cpus() -> usize {
    meter::host().cpu.online
}

/// Restricts this process, and the threads that it will start, to one CPU.
///
/// # Errors
/// This process may not use the CPU.
pub(super) fn pin(cpu: usize) -> Result<()> {
    let doing = format!("bind to CPU \"{cpu}\"");
    sched::pin(&[cpu]).map_err(|error| meter::cannot_pin(doing, &[cpu], error, ErrorKind::Usage))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_cpus_than_there_are_is_an_error() {
        let all = sched::allowed_cpus().unwrap();
        assert_eq!(cpus_for(None).unwrap(), all);
        assert_eq!(cpus_for(Some(1)).unwrap(), all[..1]);
        assert_eq!(cpus_for(Some(all.len() + 1)).unwrap_err().id, "too-few-cpus");
    }
}
