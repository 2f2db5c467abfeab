//! What must hold for a document about runs, by its form.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::edits::CANARY;
use crate::html;

/// A document and its form.
#[derive(Debug)]
pub struct Document {
    form: Form,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Terminal,
    Markdown,
    Csv,
    Json,
    Html,
    OpenMetrics,
    Folded,
}

impl Document {
    pub fn terminal(text: String) -> Self {
        Self { form: Form::Terminal, text }
    }

    pub fn markdown(text: String) -> Self {
        Self { form: Form::Markdown, text }
    }

    pub fn csv(text: String) -> Self {
        Self { form: Form::Csv, text }
    }

    pub fn json(text: String) -> Self {
        Self { form: Form::Json, text }
    }

    pub fn html(text: String) -> Self {
        Self { form: Form::Html, text }
    }

    pub fn openmetrics(text: String) -> Self {
        Self { form: Form::OpenMetrics, text }
    }

    pub fn folded(text: String) -> Self {
        Self { form: Form::Folded, text }
    }

    /// Checks it. With `numbers` it may have no NaN and no infinity: the input has no such word.
    pub fn check(&self, numbers: bool) {
        let text = &self.text;
        let plain = if self.form == Form::Terminal { without_colour(text) } else { text.clone() };
        if let Some(bad) = plain.chars().find(|&c| !zc_run::is_safe(c) && c != '\n') {
            panic!("{:?} has {bad:?}:\n{plain}", self.form);
        }
        if numbers && self.form != Form::Folded {
            assert!(words_without_number(&plain), "{:?} has no number:\n{plain}", self.form);
        }
        match self.form {
            Form::Terminal | Form::Folded => {}
            Form::Markdown => check_markdown(text),
            Form::Csv => check_csv(text),
            Form::Json => {
                serde_json::from_str::<Value>(text).expect("JSON");
            }
            Form::Html => html::check(text),
            Form::OpenMetrics => check_openmetrics(text),
        }
    }
}

/// Whether no word of a text is how a number that is none would be written.
pub fn words_without_number(text: &str) -> bool {
    let none = |word: &[u8]| {
        [&b"nan"[..], b"inf", b"infinity"].iter().any(|none| word.eq_ignore_ascii_case(none))
    };
    !text.as_bytes().split(|byte| !byte.is_ascii_alphanumeric()).any(none)
}

/// The text without SGR escapes, the only ones that zc writes.
fn without_colour(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        let end = after.find('m').expect("an escape that sets colours");
        assert!(
            after[..end].bytes().all(|byte| byte.is_ascii_digit() || byte == b';'),
            "an escape of another kind: {:?}",
            &after[..end]
        );
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    out
}

/// Outside of fenced code no markup comes through.
fn check_markdown(text: &str) {
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.starts_with("```");
        if fenced {
            continue;
        }
        for (at, _) in line.match_indices(CANARY) {
            assert!(line[..at].ends_with('\\'), "markup is not escaped: {line}\n{text}");
        }
    }
    assert!(!fenced, "code without an end:\n{text}");
}

/// Every record has as many fields as the first.
fn check_csv(text: &str) {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    for record in reader.records() {
        record.expect("a record like the first one");
    }
}

/// The form of OpenMetrics text 1.0: families, samples with a finite number, each series once, and
/// the end.
fn check_openmetrics(text: &str) {
    assert!(text.ends_with("# EOF\n"), "no end:\n{text}");
    let mut series = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with('#') {
            continue;
        }
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
        assert!(series.insert(name), "twice: {line}");
        let Some((family, labels)) = name.split_once('{') else { continue };
        assert!(family.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{line}");
        check_labels(labels, line);
    }
}

/// `name="value",...}` with nothing in a value that would end it.
fn check_labels(labels: &str, line: &str) {
    let mut rest = labels;
    loop {
        let (name, after) = rest.split_once("=\"").expect("a label");
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{name}: {line}");
        let mut escaped = false;
        let end = after.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let end = end.unwrap_or_else(|| panic!("a value without an end: {line}"));
        match &after[end + 1..] {
            "}" => return,
            more => rest = more.strip_prefix(',').unwrap_or_else(|| panic!("{more}: {line}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(document: Document) -> bool {
        std::panic::catch_unwind(|| document.check(true)).is_err()
    }

    #[test]
    fn a_document_that_lets_something_through_is_refused() {
        let page = |text: &str| Document::html(format!("<!doctype html><html>{text}</html>"));
        for bad in [
            Document::terminal("a\u{1b}[2J".to_owned()),
            Document::terminal("a\u{202e}".to_owned()),
            Document::terminal("cost NaN".to_owned()),
            Document::markdown(format!("| {CANARY} |")),
            Document::csv("a,b\n1,2,3\n".to_owned()),
            Document::json("{\"a\":}".to_owned()),
            Document::folded("a\u{9b};b 1\n".to_owned()),
            Document::openmetrics("zc_x{a=\"b\"\"} 1\n# EOF\n".to_owned()),
            Document::openmetrics("zc_x{a=\"b\"} 1\nzc_x{a=\"b\"} 2\n# EOF\n".to_owned()),
            page(&format!("<p>{CANARY}</p>")),
            page("<p>a & b</p>"),
            page("<p title=\"a\" onload=\"b\">a</p>"),
            page("<p>a"),
            page("<script>a<!--</script>"),
        ] {
            let text = bad.text.clone();
            assert!(is_refused(bad), "{text}");
        }
    }

    #[test]
    fn what_zc_writes_is_accepted() {
        for good in [
            Document::terminal("\u{1b}[32mgreen\u{1b}[0m and plain\n".to_owned()),
            Document::markdown(format!("| \\{CANARY} |\n```text\n{CANARY}\n```\n")),
            Document::csv("a,b\n1,\"2,3\"\n".to_owned()),
            Document::openmetrics("# TYPE zc_x gauge\nzc_x{a=\"b\\\"\"} 1.5\n# EOF\n".to_owned()),
            Document::html("<!doctype html><html><p class=\"a\">b &lt;</p></html>".to_owned()),
        ] {
            let text = good.text.clone();
            assert!(!is_refused(good), "{text}");
        }
    }
}
