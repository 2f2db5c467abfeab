//! Markup under construction. Everything from outside (host names, labels, warnings, file names)
//! passes through [`Markup::text`] or an attribute's value and is escaped there. Only `'static`
//! strings, which are in the source of this program, are taken as markup.
//!
//! No template engine is used: nearly all of the page is computed (axes, marks, tables of any
//! shape), so templates would mostly hold strings declared safe, without the benefit of their
//! escaping.

use std::fmt::Write as _;

use zc_run::escape;

/// The longest text of one element, so that hostile input cannot make a page of megabytes.
const LONGEST: usize = 4000;

/// A piece of a page; it is well-formed if its writer closes what it opens.
#[derive(Debug, Default)]
pub(crate) struct Markup(String);

/// The name of an attribute and its value, which may be anything.
pub(crate) type Attribute<'a> = (&'static str, &'a str);

impl Markup {
    /// Appends the program's own markup.
    pub(crate) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Appends text of any origin, escaped.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.escaped(text);
        self
    }

    pub(crate) fn open(&mut self, tag: &'static str, attributes: &[Attribute]) -> &mut Self {
        self.start(tag, attributes);
        self.0.push('>');
        self
    }

    pub(crate) fn close(&mut self, tag: &'static str) -> &mut Self {
        self.0.push_str("</");
        self.0.push_str(tag);
        self.0.push('>');
        self
    }

    /// An element that contains only text.
    pub(crate) fn element(
        &mut self,
        tag: &'static str,
        attributes: &[Attribute],
        text: &str,
    ) -> &mut Self {
        self.open(tag, attributes).text(text).close(tag)
    }

    /// An empty SVG element.
    pub(crate) fn empty(&mut self, tag: &'static str, attributes: &[Attribute]) -> &mut Self {
        self.start(tag, attributes);
        self.0.push_str("/>");
        self
    }

    /// Appends another piece.
    pub(crate) fn append(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// The content of a raw text element (style, script). Characters that could end it or open a
    /// comment are written as escapes of JSON and JavaScript strings, so `text` must be JSON or the
    /// program's own.
    pub(crate) fn verbatim(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            match character {
                '<' => self.0.push_str("\\u003c"),
                '\u{2028}' => self.0.push_str("\\u2028"),
                '\u{2029}' => self.0.push_str("\\u2029"),
                other => self.0.push(other),
            }
        }
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }

    fn start(&mut self, tag: &'static str, attributes: &[Attribute]) {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            self.0.push_str("=\"");
            self.escaped(value);
            self.0.push('"');
        }
    }

    /// Escapes text such that it is valid in an element and in a quoted attribute.
    fn escaped(&mut self, text: &str) {
        for character in escape(text, LONGEST).chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
    }
}

/// A coordinate with at most two decimals and no trailing zeros.
pub(crate) fn number(value: f64) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write!(text, "{value:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

/// A share of the plot's width, 0 to 1.
pub(crate) fn percent(share: f64) -> String {
    number(share * 100.0) + "%"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> String {
        let mut markup = Markup::default();
        markup.text(text);
        markup.finish()
    }

    #[test]
    fn text_is_never_markup() {
        assert_eq!(text("<b>&\"'"), "&lt;b&gt;&amp;&quot;&#39;");
        assert_eq!(text("a\u{1b}[2J\u{202e}b"), "a\\u{1b}[2J\\u{202e}b");
        let mut markup = Markup::default();
        markup.element("p", &[("title", "\" onload=\"alert(1)")], "x").empty("use", &[("x", "1")]);
        assert_eq!(
            markup.finish(),
            "<p title=\"&quot; onload=&quot;alert(1)\">x</p><use x=\"1\"/>"
        );
    }

    #[test]
    fn json_cannot_end_its_element() {
        let mut markup = Markup::default();
        markup.verbatim("[\"</script><!--\u{2028}\"]");
        assert_eq!(markup.finish(), "[\"\\u003c/script>\\u003c!--\\u2028\"]");
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!(number(12.0), "12");
        assert_eq!(number(12.504), "12.5");
        assert_eq!(number(-0.001), "0");
        assert_eq!(number(100.0), "100");
        assert_eq!(percent(0.3333), "33.33%");
    }

    proptest! {
        #[test]
        fn no_text_holds_a_character_that_begins_or_ends_something(given in any::<String>()) {
            let text = text(&given);
            prop_assert!(!text.contains(['<', '>', '"', '\'']));
            let mut json = Markup::default();
            json.verbatim(&serde_json::to_string(&given).unwrap());
            let json = json.finish();
            prop_assert!(!json.contains('<'));
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), given);
        }
    }
}
