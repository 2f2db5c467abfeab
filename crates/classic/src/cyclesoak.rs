//! The load monitor: soakers on all CPUs, in a process of the lowest priority. Load is what they
//! count in a period compared with what they count when nothing else runs.
//!
//! They dirty cache lines, 10,000 per second and CPU, as the soaker of 2001 did.

use std::ffi::OsString;
use std::ops::ControlFlow;

use zc_kernel::clock;
use zc_kernel::stop::Stop;

use super::calibration::{Calibration, KIND};
use super::getopt::{Known, Letter};
use super::tool::Tool;
use super::values::{nr_cpus, parse_number};
use zc_rig::meter::{LoadMeter, loads_can_be_told};
use zc_run::{Error, Result, SoakEdge, SoakStart, SoakWindow};

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

/// Windows of a calibration. Several, so that other work during the calibration shows.
const WINDOWS: usize = 30;
/// The length of such a window.
const WINDOW_NS: u64 = 100 * MS;
/// From the start of the soakers to the first window, in which clock frequencies and caches settle.
const SETTLE_NS: u64 = 300 * MS;

const KNOWN: Known = Known { plain: "CdhB", valued: "Npm", long: &[], stops_at_operand: false };

/// The parsed command line of `cyclesoak`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CyclesoakOptions {
    /// `-h`
    pub help: bool,
    /// Number of `-d`.
    pub debug: u32,
    /// `-C`
    pub calibrate: bool,
    /// `-N`
    pub nr_cpus: Option<usize>,
    /// `-p`, `-m`
    pub period_ns: u64,
    /// `-B`: also print each CPU's figures.
    pub each_cpu: bool,
}

impl CyclesoakOptions {
    /// Parses the arguments.
    ///
    /// # Errors
    /// An argument is unknown or not valid.
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
                    options.period_ns =
                        S * parse_number(*letter, "period in seconds", value, 1..=3600)?;
                }
                Letter::Short('m') => {
                    options.period_ns = MS
                        * parse_number(*letter, "period in milliseconds", value, 10..=3_600_000)?;
                }
                Letter::Short(_) | Letter::Long(_) => {} // all of them are above
            }
        }
        if let (Some(operand), false) = (words.operands.first(), options.help) {
            return Err(Error::usage(
                "unexpected-argument",
                format!("unexpected argument \"{}\"", operand.to_string_lossy()),
            )
            .help("cyclesoak takes options alone; zc soak -- COMMAND measures a command"));
        }
        Ok(options)
    }
}

/// Running soakers, and the kernel's CPU figures for the same windows.
#[derive(Debug)]
pub struct Soaking {
    meter: LoadMeter,
    first: SoakEdge,
    last: SoakEdge,
}

impl Soaking {
    /// Starts soakers on the CPUs of the calibration.
    ///
    /// # Errors
    /// The soakers cannot be started.
    pub fn start(calibration: &Calibration) -> Result<Self> {
        let meter = LoadMeter::start(&calibration.cpus, KIND)?;
        let mut soaking = Self { meter, first: SoakEdge::default(), last: SoakEdge::default() };
        clock::sleep_until(clock::monotonic_ns() + SETTLE_NS);
        soaking.open()?;
        Ok(soaking)
    }

    /// Begins a new count.
    ///
    /// # Errors
    /// The process of the soakers has ended.
    pub(super) fn open(&mut self) -> Result<()> {
        self.last = self.meter.close()?;
        self.first = self.last.clone();
        Ok(())
    }

    /// The window since the last call, or since counting began.
    ///
    /// # Errors
    /// The process of the soakers has ended.
    pub(super) fn window(&mut self) -> Result<SoakWindow> {
        let closed = self.meter.close()?;
        let opened = std::mem::replace(&mut self.last, closed.clone());
        Ok(SoakWindow { opened, closed })
    }

    /// The window since counting began.
    ///
    /// # Errors
    /// The process of the soakers has ended.
    pub(super) fn since_start(&mut self) -> Result<SoakWindow> {
        Ok(SoakWindow { opened: self.first.clone(), closed: self.meter.close()? })
    }
}

/// Runs soakers on `cpus` for three seconds, in which nothing else should run, and returns what
/// they counted.
///
/// # Errors
/// The soakers cannot be started, or `stop` was set; those of [`loads_can_be_told`].
pub fn calibrate(cpus: &[usize], stop: &Stop) -> Result<SoakStart> {
    let interrupted = || Error::interrupted("interrupted before the calibration was done");
    loads_can_be_told(cpus.len())?;
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

/// Passes one window per period to `hear`, until `stop` is set or `hear` breaks.
///
/// # Errors
/// The soakers cannot be started.
pub fn cyclesoak(
    calibration: &Calibration,
    period_ns: u64,
    stop: &Stop,
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
}
