//! Prints errors and warnings on stderr, a sentence and a hint each, and results on stdout.

use std::io::{self, Write as _};
use std::path::Path;

use anstyle::{AnsiColor, Style};

use zc_run::{Error, Result, escape, in_words};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default();

/// `error: SENTENCE [ID]`, and `hint: ...` below it.
pub(super) fn error(error: &Error) {
    let message = format!("{} [{}]", escape(&error.message, 2000), escape(&error.id, 60));
    lines("error", ERROR, &message, error.help.as_deref());
}

/// `warning: SENTENCE`, and `hint: ...` below it.
pub(super) fn warning(message: &str, help: Option<&str>) {
    lines("warning", WARNING, &escape(message, 2000), help);
}

fn lines(word: &str, style: Style, message: &str, help: Option<&str>) {
    let mut stderr = anstream::stderr().lock();
    // If stderr is closed or full, the message is lost.
    let _ = writeln!(stderr, "{style}{word}:{style:#} {message}");
    if let Some(help) = help {
        let _ = writeln!(stderr, "{HINT}hint:{HINT:#} {}", escape(help, 2000));
    }
}

/// Writes a result to stdout. It is not an error if the reader has gone (`zc run | head`).
///
/// # Errors
/// [`ErrorKind::Output`](zc_run::ErrorKind): stdout cannot be written, as when its disk is full.
pub(super) fn result(text: &(impl AsRef<[u8]> + ?Sized)) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_ref()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Error::output(
            "cannot-write-stdout",
            format!("cannot write the result to stdout: {}", in_words(&error)),
        )
        .help("the run itself is saved: zc show FILE prints it again")),
        Ok(()) => Ok(()),
    }
}

/// Prints help or the version, coloured if stdout is a terminal.
///
/// # Errors
/// Same as for [`result`].
pub(super) fn help(text: &clap::builder::StyledStr) -> Result<()> {
    let mut bytes = Vec::new();
    let choice = anstream::AutoStream::choice(&io::stdout());
    // Writing to a Vec cannot fail.
    let _ = write!(anstream::AutoStream::new(&mut bytes, choice), "{}", text.ansi());
    result(&bytes)
}

/// Prints a line on stderr.
pub(super) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints commands for the run saved in `file` on stderr, one per line with what it does. Prints
/// nothing if the file's name cannot be typed as it is shown.
pub(super) fn next(file: &Path, further: Option<(&str, &str)>) {
    let Some(name) = word(file) else { return };
    let mut lines = vec![
        (format!("zc show -v {name}"), "every table and note"),
        (format!("zc report {name} -o report.html"), "all of it as a page"),
    ];
    lines.extend(further.map(|(command, what)| (command.to_owned(), what)));
    let width = lines.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    for (place, (command, what)) in lines.iter().enumerate() {
        let label = if place == 0 { "next:" } else { "" };
        note(&format!("{label:<6} {command:<width$}   {what}"));
    }
}

/// A file name as a word of a shell command, quoted if necessary.
fn word(file: &Path) -> Option<String> {
    let name = file.to_str()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    match name {
        _ if name.starts_with('-') || name.contains('\'') || !name.chars().all(zc_run::is_safe) => {
            None
        }
        _ if !name.is_empty() && name.chars().all(plain) => Some(name.to_owned()),
        _ => Some(format!("'{name}'")),
    }
}

/// A file name with unsafe characters escaped.
pub(super) fn path(path: &Path) -> String {
    escape(&path.to_string_lossy(), 400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_is_quoted_where_a_shell_would_take_it_apart() {
        let word = |name: &str| word(Path::new(name));
        assert_eq!(word("zc-20261122-173642.json").as_deref(), Some("zc-20261122-173642.json"));
        assert_eq!(word("my runs/$1.json").as_deref(), Some("'my runs/$1.json'"));
        for unsayable in ["it's", "-v", "a\u{1b}[2J", "a\nb"] {
            assert_eq!(word(unsayable), None, "{unsayable:?}");
        }
    }
}
