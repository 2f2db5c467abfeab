//! The file that a run is saved in: where it may be, and its name where none was typed.

use std::path::{Path, PathBuf};

use super::format::FormatArgs;
use super::tell;
use zc_kernel::new_file::is_left_over;
use zc_measure::session::is_stdout;
use zc_run::{Error, Result, in_words};

/// Checks that a run can be saved at `out`, before anything is measured.
///
/// # Errors
/// [`ErrorKind::Output`](zc_run::ErrorKind): the file exists, its folder does not exist, or is not
/// writable. [`ErrorKind::Usage`](zc_run::ErrorKind): stdout would have two forms of the run.
pub(super) fn check(out: &Path, named: bool, format: FormatArgs) -> Result<()> {
    let name = tell::path(out);
    if out.as_os_str().is_empty() {
        return Err(
            Error::usage("file-name-empty", "--out: the file name is empty").help("--out FILE")
        );
    }
    if is_stdout(out) {
        return match format == FormatArgs::default() {
            true => Ok(()),
            false => Err(Error::usage(
                "stdout-twice",
                "--out -: stdout has the run itself, and another form of it was asked for",
            )
            .help("save it in a file, or have zc show FILE print the form later")),
        };
    }
    match out.symlink_metadata() {
        Ok(found) if found.is_dir() => {
            return Err(Error::output(
                "cannot-save-run",
                format!("cannot save the run as \"{name}\": it is a directory"),
            )
            .help("name a file in it with --out"));
        }
        // What a process left that was killed before it wrote anything; `Saving` claims it.
        Ok(found) if is_left_over(&found) => {}
        Ok(_) => {
            return Err(Error::output(
                "file-exists",
                format!("file \"{name}\" exists, and zc does not write over anything"),
            )
            .help("choose another name with --out, or remove it"));
        }
        Err(_) => {}
    }
    let folder =
        out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let place = if folder == Path::new(".") {
        "this folder".to_owned()
    } else {
        format!("folder \"{}\"", tell::path(folder))
    };
    let help = if named {
        "choose another place with --out"
    } else {
        "choose a place with --out, as in --out /tmp/run.jsonl.gz"
    };
    match folder.metadata() {
        Ok(found) if !found.is_dir() => {
            return Err(Error::output(
                "cannot-save-run",
                format!("cannot save the run in {place}: it is not a directory"),
            )
            .help(help));
        }
        Ok(_) => {}
        Err(error) => {
            return Err(Error::output(
                "cannot-save-run",
                format!("cannot save the run in {place}: {}", in_words(&error)),
            )
            .help(help));
        }
    }
    // access(2) checks the real user's permissions, and also detects a read-only file system
    // (EROFS).
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).map_err(
        |error| {
            Error::output(
                "cannot-save-run",
                format!("cannot save the run in {place}: {}", in_words(&error.into())),
            )
            .help(help)
        },
    )
}

/// `zc-2026-11-21T20-25-00.jsonl.gz`, with `-2` and so on if the file exists already.
pub(super) fn default_out(now: &jiff::Zoned) -> PathBuf {
    let stem = now.strftime("zc-%Y-%m-%dT%H-%M-%S").to_string();
    let mut name = PathBuf::from(format!("{stem}.jsonl.gz"));
    let mut count = 2;
    while count < 100 && name.symlink_metadata().is_ok() {
        name = PathBuf::from(format!("{stem}-{count}.jsonl.gz"));
        count += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_a_place_for_a_run_and_one_with_something_in_it_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run.json");
        std::fs::write(&out, "").unwrap();
        let check = |out: &Path, format| super::check(out, true, format);
        check(&out, FormatArgs::default()).unwrap();
        std::fs::write(&out, "x").unwrap();
        assert_eq!(check(&out, FormatArgs::default()).unwrap_err().id, "file-exists");
        check(Path::new("-"), FormatArgs::default()).unwrap();
        let json = FormatArgs { json: true, ..FormatArgs::default() };
        assert_eq!(check(Path::new("-"), json).unwrap_err().id, "stdout-twice");
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let now: jiff::Zoned = "2026-11-21T20:25:00+00:00[UTC]".parse().unwrap();
        assert_eq!(default_out(&now), PathBuf::from("zc-2026-11-21T20-25-00.jsonl.gz"));
    }
}
