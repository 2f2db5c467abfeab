//! `./counts_per_sec`: how many units per second the soakers of this machine count when nothing
//! else runs.
//!
//! The format is text, one value per line; docs/lineage.md describes it. The file is valid for one
//! host, kernel, set of CPUs, frequency policy and version of zc. If one of these has changed, the
//! file is refused and the message names the change: every load computed from it would be wrong by
//! an unknown amount.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use zc_kernel::open_folder::OpenFolder;
use zc_rig::meter;
use zc_run::{Error, Host, Result, SoakerKind, in_words};

/// The soakers that are calibrated: those that dirty cache lines, as the soaker of 2001 did.
pub(super) const KIND: SoakerKind = SoakerKind::Cache;
/// Its name, in the current folder.
pub const FILE_NAME: &str = "counts_per_sec";
/// The first line, with the version of the format.
const HEAD: &str = "zc counts_per_sec 1";
/// The largest file that is read; one of 1024 CPUs is smaller.
const LARGEST_BYTES: u64 = 64 << 10;

/// The soakers' rates when nothing else runs, and the machine that they are valid for.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Machine and program that it is valid for: names and values, in the order of the file.
    good_for: Vec<(&'static str, String)>,
    /// The CPUs that are soaked.
    pub cpus: Vec<usize>,
    /// Units per second on each of them.
    pub counts_per_s: Vec<f64>,
}

impl Calibration {
    /// A calibration of this machine as it is now.
    pub fn new(cpus: Vec<usize>, counts_per_s: Vec<f64>) -> Self {
        Self { good_for: validity(&meter::host()), cpus, counts_per_s }
    }

    /// The rates in units per nanosecond.
    pub fn rates(&self) -> Vec<f64> {
        self.counts_per_s.iter().map(|counts| counts / 1e9).collect()
    }

    /// Writes it into `folder`, replacing an earlier one.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(FILE_NAME);
        let wrong = |error: std::io::Error| {
            let help = match error.kind() {
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                    "free some space, or use another folder; cyclesoak looks for it in the folder \
                     where it is started"
                }
                _ => {
                    "use a folder that may be written; cyclesoak looks for it in the folder \
                     where it is started"
                }
            };
            Error::output(
                "cannot-write",
                format!("cannot write \"{FILE_NAME}\" in this folder: {}", in_words(&error)),
            )
            .help(help)
        };
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(Error::output(
                "not-a-regular-file",
                format!("\"{FILE_NAME}\" in this folder is not a regular file"),
            )
            .help("move it away, or use another folder"));
        }
        // Renamed when complete: a cyclesoak that starts meanwhile reads the old file.
        OpenFolder::open(folder)
            .and_then(|folder| {
                let fill = |file: &mut File| file.write_all(self.text().as_bytes());
                folder.replace(FILE_NAME.as_ref(), fill)
            })
            .map_err(wrong)
    }

    fn text(&self) -> String {
        let mut text = format!("{HEAD}\n");
        for (name, value) in &self.good_for {
            let _ = writeln!(text, "{name} {value}"); // to a String
        }
        for (cpu, counts) in self.cpus.iter().zip(&self.counts_per_s) {
            let _ = writeln!(text, "cpu {cpu} {counts:.3}");
        }
        text
    }

    /// Reads the calibration in `folder`, for soakers on `cpus`.
    ///
    /// # Errors
    /// There is none, the file is not a calibration, or it is of another host, kernel, set of CPUs,
    /// frequency policy or version of zc; those of [`meter::loads_can_be_told`].
    pub fn read(folder: &Path, cpus: &[usize]) -> Result<Self> {
        meter::loads_can_be_told(cpus.len())?;
        let wrong = |what: &str| {
            Error::input(
                "calibration-file-unusable",
                format!("cannot use \"{FILE_NAME}\" of this folder: {what}"),
            )
            .help("calibrate here, while nothing else runs: cyclesoak -C")
        };
        let path = folder.join(FILE_NAME);
        let found = path.metadata().map_err(|error| {
            match error.kind() {
            std::io::ErrorKind::NotFound => Error::input("not-calibrated", format!(
                "there is no file \"{FILE_NAME}\" in this folder, so the soakers are not calibrated"
            ))
            .help("while nothing else runs: cyclesoak -C"),
            _ => wrong(&in_words(&error)),
        }
        })?;
        if !found.is_file() {
            return Err(wrong("it is not a regular file"));
        }
        let mut text = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(LARGEST_BYTES).read_to_end(&mut text))
            .map_err(|error| wrong(&in_words(&error)))?;
        let read = parse(&String::from_utf8_lossy(&text), &validity(&meter::host()))
            .map_err(|what| wrong(&what))?;
        if read.cpus != cpus {
            return Err(wrong(&format!(
                "it was made for CPUs {:?}, and now it is {cpus:?}",
                read.cpus
            )));
        }
        Ok(read)
    }
}

/// Machine and program that a calibration is valid for. Each value is one line.
fn validity(host: &Host) -> Vec<(&'static str, String)> {
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let values = [
        ("made-by", format!("zc {}", env!("CARGO_PKG_VERSION"))),
        ("soaker", KIND.name().to_owned()),
        ("host", host.hostname.clone()),
        ("kernel", format!("{} {}", host.kernel_release, host.kernel_version)),
        ("model", host.cpu.model.clone()),
        ("governor", or_none(host.cpu.governor.clone())),
        ("boost", or_none(host.cpu.boost.map(|on| on.to_string()))),
    ];
    values
        .map(|(name, value)| (name, value.split_whitespace().collect::<Vec<_>>().join(" ")))
        .to_vec()
}

fn parse(text: &str, here: &[(&'static str, String)]) -> std::result::Result<Calibration, String> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    if head != HEAD {
        let number = !head.is_empty() && head.trim().parse::<f64>().is_ok();
        return Err(match number {
            true => "it was made by another cyclesoak, which does not say for what host and kernel",
            false => "it is not a calibration of zc's cyclesoak",
        }
        .to_owned());
    }
    let mut read =
        Calibration { good_for: here.to_vec(), cpus: Vec::new(), counts_per_s: Vec::new() };
    let mut values = here.iter();
    for line in lines {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        if name == "cpu" {
            let (cpu, counts) = value.split_once(' ').unwrap_or_default();
            match (cpu.parse(), counts.parse::<f64>()) {
                (Ok(cpu), Ok(counts)) if counts > 0.0 && counts.is_finite() => {
                    read.cpus.push(cpu);
                    read.counts_per_s.push(counts);
                }
                _ => return Err(format!("its line \"{line}\" is not valid")),
            }
            continue;
        }
        match values.next() {
            Some((expected, now)) if *expected == name => {
                if now != value {
                    return Err(format!(
                        "it was made with {name} \"{value}\", and now it is \"{now}\""
                    ));
                }
            }
            _ => return Err(format!("its line \"{line}\" is not valid")),
        }
    }
    if read.cpus.is_empty() || values.next().is_some() {
        return Err("it is cut off".to_owned());
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn example() -> Calibration {
        Calibration::new(vec![0, 2], vec![480_123.25, 481_000.5])
    }

    fn refused(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE_NAME), text).unwrap();
        let error = Calibration::read(folder.path(), &[0, 2]).unwrap_err();
        assert!(error.id == "calibration-file-unusable" && error.help.is_some());
        error.message.replace(&format!("cannot use \"{FILE_NAME}\" of this folder: "), "")
    }

    #[test]
    fn what_was_written_is_read_again_and_a_new_one_takes_its_place() {
        let folder = tempfile::tempdir().unwrap();
        for counts in [1.0, 480_123.25] {
            let made = Calibration { counts_per_s: vec![counts, 2.5], ..example() };
            made.write(folder.path()).unwrap();
            assert_eq!(Calibration::read(folder.path(), &[0, 2]).unwrap(), made);
        }
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no temporary file is left"
        );
    }

    #[test]
    fn what_came_from_elsewhere_is_refused_and_says_what_is_different() {
        let text = example().text();
        let line =
            |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
        for name in ["made-by", "soaker", "host", "kernel", "model", "governor", "boost"] {
            let other = text.replace(&line(name), &format!("{name} another"));
            let why = refused(&other);
            assert!(why.contains(&format!("{name} \"another\"")), "{why}");
        }
    }

    #[test]
    fn what_is_no_calibration_is_refused() {
        let text = example().text();
        let odd = |line| format!("{text}{line}\n");
        let said = [
            refused("483920\n"),
            refused(""),
            refused(HEAD),
            refused(text.split("cpu 0").next().unwrap()),
            refused(&odd("cpu 3 -1")),
            refused(&odd("cpu 3 NaN")),
            refused(&odd("beer")),
            refused(&text.replace("cpu 2", "cpu 1")),
        ];
        insta::assert_snapshot!(said.join("\n"), @r#"
        it was made by another cyclesoak, which does not say for what host and kernel
        it is not a calibration of zc's cyclesoak
        it is cut off
        it is cut off
        its line "cpu 3 -1" is not valid
        its line "cpu 3 NaN" is not valid
        its line "beer" is not valid
        it was made for CPUs [0, 1], and now it is [0, 2]
        "#);
    }

    #[test]
    fn no_file_and_no_regular_file_are_different_errors() {
        let folder = tempfile::tempdir().unwrap();
        let error = Calibration::read(folder.path(), &[0]).unwrap_err();
        assert_eq!(error.id, "not-calibrated");
        std::fs::create_dir(folder.path().join(FILE_NAME)).unwrap();
        let error = Calibration::read(folder.path(), &[0]).unwrap_err();
        assert_eq!(error.id, "calibration-file-unusable");
        example().write(folder.path()).unwrap_err();
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = parse(&text, &example().good_for);
            let _ = parse(&format!("{HEAD}\n{text}"), &example().good_for);
        }
    }
}
