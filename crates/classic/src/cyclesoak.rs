//! The load monitor: soakers on all CPUs, in a process of their own behind everybody else's, and what they get done in a
//! period beside what they got done when nothing else ran.
//!
//! They are of the kind that dirties cache lines, as the soaker of 2001 did, 10,000 a second and CPU.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use zc_kernel::{clock, sched};

use super::getopt::{Known, Letter, number};
use super::zcc::nr_cpus;
use super::{Calibration, Tool};
use zc_measure::meter::{self, LoadMeter};
use zc_run::{Error, ErrorKind, Result, SoakEdge, SoakStart, SoakWindow, SoakerKind};

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

/// What the soakers do.
pub(super) const KIND: SoakerKind = SoakerKind::Cache;
/// Windows of a calibration, and how long each is: several, for what else ran in them to be seen.
const WINDOWS: usize = 30;
/// See [`WINDOWS`].
const WINDOW_NS: u64 = 100 * MS;
/// From the start of the soakers to the first window: clocks and caches settle.
const SETTLE_NS: u64 = 300 * MS;

const KNOWN: Known = Known { plain: "CdhB", valued: "Npm", long: &[], stops_at_operand: false };

/// What `cyclesoak` is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CyclesoakOptions {
    /// `-h`
    pub help: bool,
    /// How many `-d`.
    pub debug: u32,
    /// `-C`
    pub calibrate: bool,
    /// `-N`
    pub nr_cpus: Option<usize>,
    /// `-p`, `-m`
    pub period_ns: u64,
    /// `-B`: each CPU's figures, too.
    pub each_cpu: bool,
}

impl CyclesoakOptions {
    /// Reads what was typed.
    ///
    /// # Errors
    /// It makes no sense.
    pub fn read(words: &[OsString]) -> Result<Self> {
        let words = KNOWN.read(Tool::Cyclesoak, words)?;
        let mut options = Self {
            help: false,
            debug: 0,
            calibrate: false,
            nr_cpus: None,
            period_ns: S,
            each_cpu: false,
        };
        for (letter, value) in &words.given {
            let value = value.as_deref();
            match letter {
                Letter::Short('h') => options.help = true,
                Letter::Short('d') => options.debug += 1,
                Letter::Short('C') => options.calibrate = true,
                Letter::Short('B') => options.each_cpu = true,
                Letter::Short('N') => options.nr_cpus = Some(nr_cpus(*letter, value)?),
                Letter::Short('p') => {
                    options.period_ns = S * number(*letter, "period in seconds", value, 1..=3600)?;
                }
                Letter::Short('m') => {
                    options.period_ns =
                        MS * number(*letter, "period in milliseconds", value, 10..=3_600_000)?;
                }
                Letter::Short(_) | Letter::Long(_) => {} // all of them are above
            }
        }
        if let (Some(operand), false) = (words.operands.first(), options.help) {
            return Err(Error::usage(format!(
                "unexpected argument \"{}\"",
                operand.to_string_lossy()
            ))
            .help("cyclesoak takes options alone; zc soak -- COMMAND measures a command"));
        }
        Ok(options)
    }
}

/// The CPUs that are soaked: all that this process may use, or the first `nr_cpus` of them.
///
/// # Errors
/// There are not so many.
pub fn cpus_for(nr_cpus: Option<usize>) -> Result<Vec<usize>> {
    let mut cpus =
        sched::allowed_cpus().map_err(|error| Error::os("ask which CPUs may be used", error))?;
    match nr_cpus {
        Some(wanted) if wanted > cpus.len() => {
            Err(Error::usage(format!("-N: there are {} CPUs here, not \"{wanted}\"", cpus.len()))
                .help("leave -N out: the machine knows how many it has"))
        }
        Some(wanted) => {
            cpus.truncate(wanted);
            Ok(cpus)
        }
        None => Ok(cpus),
    }
}

/// CPUs of this machine, whether or not this process may use them; 0 where nobody says.
pub fn online_cpus() -> usize {
    meter::host().cpu.online
}

/// Soakers at work, and the kernel's figures beside them.
#[derive(Debug)]
pub struct Soaking {
    meter: LoadMeter,
    first: SoakEdge,
    last: SoakEdge,
}

impl Soaking {
    /// Starts them where the calibration was made.
    ///
    /// # Errors
    /// They cannot be had.
    pub fn start(calibration: &Calibration) -> Result<Self> {
        let meter = LoadMeter::start(&calibration.cpus, KIND)?;
        let mut soaking = Self { meter, first: SoakEdge::default(), last: SoakEdge::default() };
        clock::sleep_until(clock::monotonic_ns() + SETTLE_NS);
        soaking.open()?;
        Ok(soaking)
    }

    /// Begins to count from now on.
    ///
    /// # Errors
    /// The soakers are gone.
    pub(super) fn open(&mut self) -> Result<()> {
        self.last = self.meter.close()?;
        self.first = self.last.clone();
        Ok(())
    }

    /// What they did since the last look.
    ///
    /// # Errors
    /// The soakers are gone.
    pub(super) fn window(&mut self) -> Result<SoakWindow> {
        let closed = self.meter.close()?;
        let opened = std::mem::replace(&mut self.last, closed.clone());
        Ok(SoakWindow { opened, closed })
    }

    /// What they did since the counting began.
    ///
    /// # Errors
    /// The soakers are gone.
    pub(super) fn whole(&mut self) -> Result<SoakWindow> {
        Ok(SoakWindow { opened: self.first.clone(), closed: self.meter.close()? })
    }
}

/// Lets soakers work on `cpus` for three seconds in which nothing else should run, and gives what they did.
///
/// # Errors
/// They cannot be had, or `stop` came up.
pub fn calibrate(cpus: &[usize], stop: &AtomicBool) -> Result<SoakStart> {
    let interrupted =
        || Error::new(ErrorKind::Interrupted, "interrupted before the calibration was done");
    let mut meter = LoadMeter::start(cpus, KIND)?;
    if clock::sleep_until_or_stop(clock::monotonic_ns() + SETTLE_NS, stop) {
        return Err(interrupted());
    }
    meter.know(None, |meter| {
        let mut opened = meter.close()?;
        let window = |_| {
            if clock::sleep_until_or_stop(opened.soak.at_ns + WINDOW_NS, stop) {
                return Err(interrupted());
            }
            let closed = meter.close()?;
            Ok(SoakWindow { opened: std::mem::replace(&mut opened, closed.clone()), closed })
        };
        (0..WINDOWS).map(window).collect()
    })
}

/// Tells a window a period, until `stop` is up or `hear` has enough.
///
/// # Errors
/// The soakers cannot be had.
pub fn cyclesoak(
    calibration: &Calibration,
    period_ns: u64,
    stop: &AtomicBool,
    hear: &mut dyn FnMut(SoakWindow) -> ControlFlow<()>,
) -> Result<()> {
    let mut soaking = Soaking::start(calibration)?;
    while !clock::sleep_until_or_stop(soaking.last.soak.at_ns.saturating_add(period_ns), stop) {
        if hear(soaking.window()?).is_break() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<CyclesoakOptions> {
        CyclesoakOptions::read(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn every_letter_is_taken() {
        let options = read(&["-CdhB", "-N2", "-p", "5"]).unwrap();
        assert!(options.calibrate && options.help && options.each_cpu);
        assert_eq!((options.debug, options.nr_cpus, options.period_ns), (1, Some(2), 5 * S));
        assert_eq!(read(&["-m250"]).unwrap().period_ns, 250 * MS);
        assert_eq!(read(&[]).unwrap().period_ns, S);
    }

    #[test]
    fn more_cpus_than_there_are_is_an_error() {
        let all = sched::allowed_cpus().unwrap();
        assert_eq!(cpus_for(None).unwrap(), all);
        assert_eq!(cpus_for(Some(1)).unwrap(), all[..1]);
        assert!(cpus_for(Some(all.len() + 1)).unwrap_err().message.starts_with("-N: there are "));
    }
}
