//! The formats of access logs as they are named, and what is said of logs that do not fit theirs.

use super::log_input::cannot_read;
use super::tell;
use zc_access_log::{
    DurationUnit, Fields, Format, KNOWN, LogSummary, Offer, UnreadableLine, Unusable,
};
use zc_run::nearest::unknown_among;
use zc_run::{Error, Result, escape, in_words};

/// The share of lines that may be unreadable without a warning.
const MOST_UNREADABLE: f64 = 0.01;

/// Number of characters of a line that are shown.
const SHOWN: usize = 80;

/// The format that was named, with the keys of JSON lines that were; `None` if it is to be told by
/// the first lines. `of` is what the names of the two options begin with: nothing, or `log-`.
///
/// # Errors
/// [`ErrorKind::Usage`](zc_run::ErrorKind): there is no such format or key.
pub(super) fn parse(
    format: Option<&str>,
    named_fields: &[String],
    of: &str,
) -> Result<Option<Format>> {
    let mut fields = Fields::default();
    for field in named_fields {
        if !fields.add(field) {
            let words: Vec<_> = Fields::words().collect();
            let message =
                format!("--{of}field: \"{}\" is not of the form WHAT=KEY", escape(field, 80));
            return Err(Error::usage("invalid-log-field", message)
                .help(format!("WHAT is one of {}", words.join(", "))));
        }
    }
    let format = format.map(|format| named(format, of)).transpose()?;
    if fields.is_empty() {
        return Ok(format);
    }
    let format = format.or_else(|| Format::named("json"));
    let Some(format) = format.and_then(|format| format.with_fields(&fields)) else {
        return Err(Error::usage(
            "field-needs-json",
            format!("--{of}field is for JSON lines, and --{of}format is something else"),
        )
        .help("a log_format or LogFormat names its fields itself"));
    };
    Ok(Some(format))
}

/// A name, or a description of a format.
fn named(text: &str, of: &str) -> Result<Format> {
    if let Some(format) = Format::named(text) {
        return Ok(format);
    }
    match Format::described(text) {
        Some(Ok(format)) => Ok(format),
        Some(Err(error)) => {
            let message = format!("--{of}format: the format \"{}\" {error}", escape(text, 200));
            Err(Error::usage("invalid-log-format", message).help(
                "it is what stands behind the name in nginx's log_format, or what Apache's \
                 LogFormat has; time, request, status and bytes must be in it",
            ))
        }
        None => {
            let names: Vec<_> = KNOWN.iter().map(|known| known.name).collect();
            Err(unknown_among("format", text, &names).prefixed(format_args!("--{of}format: ")))
        }
    }
}

/// Says on stderr what could not be read of a log, whose options begin with `of`.
pub(super) fn say(name: &str, summary: &LogSummary, of: &str) {
    let LogSummary { format, lines, unreadable, is_cut, broken, nuls, .. } = summary;
    if *nuls > 0 {
        let message = format!(
            "\"{name}\" has {nuls} NULs before lines, as logrotate's copytruncate leaves them: \
             passed over"
        );
        tell::note(&message);
    }
    if *unreadable > 0 {
        let share = *unreadable as f64 / *lines as f64;
        let message = format!(
            "{unreadable} of {lines} lines of \"{name}\" ({:.2} %) cannot be read as {format}",
            100.0 * share
        );
        if share > MOST_UNREADABLE {
            let hint = format!("is it of another format? --{of}format names it");
            tell::warning(&message, Some(&hint));
        } else {
            tell::note(&message);
        }
        show(name, &summary.first_unreadable);
    }
    say_durations(name, summary, of);
    if let Some(error) = broken {
        let message = format!("the log \"{name}\" cannot be read to its end: {}", in_words(error));
        tell::warning(&message, Some("what comes before is counted"));
    } else if *is_cut {
        let message = format!("the last line of \"{name}\" has no end, and is not counted");
        tell::note(&message);
    }
}

/// Reports on durations, and on keys that were named.
fn say_durations(name: &str, summary: &LogSummary, of: &str) {
    let format = summary.format;
    match summary.durations {
        DurationUnit::OfFormat => {}
        DurationUnit::Found(unit) => tell::note(&format!(
            "the durations of \"{name}\" ({format}) are read as {unit}, by their first lines"
        )),
        DurationUnit::Doubtful => tell::warning(
            &format!(
                "the durations of \"{name}\" ({format}) are left out: whether they are in s, ms or \
                 ns cannot be told"
            ),
            Some(&format!("--{of}field duration_ms=duration names the unit")),
        ),
    }
    for field in &summary.without_value {
        let message = format!("no line of \"{name}\" has a value for --{of}field {field}");
        tell::warning(&message, Some("is it the key, and of this kind? a.b is b in the object a"));
    }
    if let Some(Offer { behind, log_format }) = &summary.offer {
        let message = format!(
            "what follows {format} on the lines of \"{name}\" looks like a duration, and is not \
             read: {}",
            escape(behind, SHOWN)
        );
        tell::warning(&message, Some(&format!("--{of}format '{}'", escape(log_format, 400))));
    }
}

/// Shows the first lines that could not be read. They may contain personal data, so they are shown
/// to the reader of the log and are in no document.
fn show(name: &str, lines: &[UnreadableLine]) {
    for UnreadableLine { number, text } in lines {
        tell::note(&format!("{name}:{number}: {}", escape(text, SHOWN)));
    }
}

/// The error of a log of which nothing can be read, whose options begin with `of`.
pub(super) fn refused(name: &str, unusable: Unusable, of: &str) -> Error {
    match unusable {
        Unusable::Io(error) => cannot_read(name, &in_words(&error)),
        Unusable::Empty => cannot_read(name, "it is empty"),
        Unusable::Unknown => {
            let names: Vec<_> = KNOWN.iter().map(|known| known.name).collect();
            Error::input(
                "log-format-unknown",
                format!("the log \"{name}\" is of no format that zc knows"),
            )
            .help(format!(
                "--{of}format takes a log_format of nginx or a LogFormat of Apache, --{of}field a \
                 key of JSON lines; known are {}",
                names.join(", ")
            ))
        }
        Unusable::Utf16 => Error::input(
            "log-encoding",
            format!("the log \"{name}\" is in UTF-16, which zc does not read"),
        )
        .help("iconv -f UTF-16 -t UTF-8 LOG | zc advise -"),
        Unusable::DoesNotFit(summary) => {
            show(name, &summary.first_unreadable);
            say_durations(name, &summary, of);
            let message = format!(
                "no line of the log \"{name}\" can be read as {}: {} were tried",
                summary.format, summary.lines
            );
            Error::input("log-format-wrong", message)
                .help(format!("without --{of}format it is told by the first lines"))
        }
        Unusable::Ambiguous(names) => Error::input(
            "log-format-ambiguous",
            format!("the log \"{name}\" could be {}", names.join(" or ")),
        )
        .help(format!("name it: --{of}format {}", names.first().unwrap_or(&"FORMAT"))),
        Unusable::Lacks { format, column } => Error::input(
            "log-column-missing",
            format!("the log \"{name}\" ({format}) has no column {column}"),
        )
        .help("add it to the fields that the server logs; what it has sent is not known without"),
    }
}
