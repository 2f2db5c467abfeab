//! How failures and warnings reach the user: on stderr, a sentence and a hint each. And how results reach stdout.

use std::io::{self, Write as _};
use std::path::Path;

use anstyle::{AnsiColor, Style};

use zc_run::escape;
use zc_run::{Error, Result, in_words};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default();

/// `error: SENTENCE`, and `help: ...` below it.
pub(super) fn error(error: &Error) {
    lines("error", ERROR, &error.message, error.help.as_deref());
}

/// `warning: SENTENCE`, and `help: ...` below it.
pub(super) fn warning(message: &str, help: Option<&str>) {
    lines("warning", WARNING, message, help);
}

fn lines(word: &str, style: Style, message: &str, help: Option<&str>) {
    let mut stderr = anstream::stderr().lock();
    // Where stderr is closed or full there is nobody left to tell.
    let _ = writeln!(stderr, "{style}{word}:{style:#} {}", escape(message, 2000));
    if let Some(help) = help {
        let _ = writeln!(stderr, "{HINT}hint:{HINT:#} {}", escape(help, 2000));
    }
}

/// Writes a result to stdout. A reader that has gone away (`zc run | head`) has what it wanted: no error.
///
/// # Errors
/// [`ErrorKind::Output`](zc_run::FaultKind): the disk behind it is full, say.
pub(super) fn result(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Error::output(format!("cannot write the result to stdout: {}", in_words(&error)))
            .help("the run itself is saved: zc show FILE prints it again")),
        Ok(()) => Ok(()),
    }
}

/// Help or version, coloured where stdout is a terminal.
///
/// # Errors
/// As for [`result`].
pub(super) fn help(text: &clap::builder::StyledStr) -> Result<()> {
    let mut bytes = Vec::new();
    let choice = anstream::AutoStream::choice(&io::stdout());
    // Writing to a Vec cannot fail.
    let _ = write!(anstream::AutoStream::new(&mut bytes, choice), "{}", text.ansi());
    result(&String::from_utf8_lossy(&bytes))
}

/// One line on stderr.
pub(super) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A file name as it may be printed.
pub(super) fn path(path: &Path) -> String {
    escape(&path.to_string_lossy(), 400)
}
