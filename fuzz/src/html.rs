//! A page, taken apart as strictly as zc writes it: elements that are closed, in order, with
//! attributes in double quotes, and only those names that zc uses. What came through from the input
//! as markup would have another name, or break this form.

/// Elements of zc's pages. (`script` and `style` hold raw text.)
const ELEMENTS: &[&str] = &[
    "html",
    "head",
    "body",
    "meta",
    "title",
    "style",
    "script",
    "link",
    "h1",
    "h2",
    "h3",
    "h4",
    "p",
    "table",
    "caption",
    "thead",
    "tbody",
    "tfoot",
    "tr",
    "th",
    "td",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "div",
    "span",
    "section",
    "details",
    "summary",
    "pre",
    "code",
    "b",
    "i",
    "em",
    "strong",
    "sub",
    "sup",
    "small",
    "br",
    "hr",
    "figure",
    "figcaption",
    "nav",
    "a",
    "main",
    "header",
    "footer",
    "svg",
    "g",
    "path",
    "line",
    "rect",
    "circle",
    "polygon",
    "polyline",
    "text",
    "tspan",
    "desc",
    "defs",
    "use",
    "clipPath",
    "button",
    "input",
    "label",
    "select",
    "option",
    "output",
    "template",
    "abbr",
    "time",
    "colgroup",
    "col",
    "article",
    "aside",
];

/// Elements without content, which HTML does not close.
const VOID: &[&str] = &["meta", "link", "br", "hr", "input", "col"];

/// Checks a page.
pub fn check(page: &str) {
    let mut rest = page;
    let mut open: Vec<&str> = Vec::new();
    rest = rest
        .strip_prefix("<!doctype html>")
        .or_else(|| rest.strip_prefix("<!DOCTYPE html>"))
        .expect("a page begins with its type");
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        assert!(!text.contains('>'), "a bracket in text: {text}");
        check_references(text);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('/') {
            let (name, after) = after.split_once('>').expect("an end of a tag");
            assert_eq!(open.pop(), Some(name), "elements are not nested");
            rest = after;
            continue;
        }
        let end = rest.find([' ', '>', '/', '\n']).expect("an end of a tag");
        let name = &rest[..end];
        assert!(ELEMENTS.contains(&name), "an element that zc does not write: {name}");
        let (after, closed) = check_attributes(&rest[end..], name);
        rest = after;
        if ["script", "style"].contains(&name) {
            let end = format!("</{name}>");
            let (raw, after) = rest.split_once(&end).expect("an end of raw text");
            assert!(!raw.contains("</") && !raw.contains("<!--"), "raw text could end: {raw}");
            rest = after;
        } else if !closed && !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "not closed: {open:?}");
    assert_eq!(rest.trim(), "", "text after the page");
}

/// Attributes up to the end of a tag. Returns what follows, and whether the tag closes itself.
fn check_attributes<'a>(mut rest: &'a str, element: &str) -> (&'a str, bool) {
    loop {
        rest = rest.trim_start_matches([' ', '\n']);
        if let Some(after) = rest.strip_prefix("/>") {
            return (after, true);
        }
        if let Some(after) = rest.strip_prefix('>') {
            return (after, false);
        }
        let end = rest
            .find(['=', ' ', '>', '/', '\n'])
            .unwrap_or_else(|| panic!("a tag without an end: {element}"));
        let name = &rest[..end];
        let known = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == ':';
        assert!(!name.is_empty() && name.chars().all(known), "an attribute of {element}: {name}");
        assert!(!name.starts_with("on"), "a handler: {name}");
        rest = &rest[end..];
        if let Some(after) = rest.strip_prefix("=\"") {
            let (value, after) = after.split_once('"').expect("an end of a value");
            assert!(!value.contains(['<', '>']), "a bracket in a value: {value}");
            check_references(value);
            if ["href", "src", "xlink:href"].contains(&name) {
                assert!(value.starts_with('#') || value.starts_with("data:"), "a link: {value}");
            }
            rest = after;
        }
    }
}

/// Every ampersand begins a character reference.
fn check_references(text: &str) {
    for (at, _) in text.match_indices('&') {
        let reference = text[at + 1..].split_once(';').map(|(reference, _)| reference);
        let known = |reference: &str| {
            ["amp", "lt", "gt", "quot", "apos", "nbsp"].contains(&reference)
                || reference.starts_with('#')
        };
        assert!(reference.is_some_and(known), "an ampersand is not escaped: {}", &text[at..]);
    }
}
