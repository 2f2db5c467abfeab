//! Shared by all pages: head with policy and style sheet, contents, foot and script.

use super::page::Page;
use super::{plot, policy};

pub(super) const STYLE: &str = include_str!("page.css");
pub(super) const SCRIPT: &str = include_str!("page.js");

/// Everything up to the contents: the title and lines about it.
pub(crate) fn begin(page: &mut Page, title: &str, about: &[String]) {
    let out = &mut page.out;
    out.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.open(
        "meta",
        &[("http-equiv", "Content-Security-Policy"), ("content", &policy::policy(STYLE, SCRIPT))],
    );
    out.raw("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.raw(
        "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" \
        content=\"zc\">\n",
    );
    out.element("title", &[], title).raw("\n<style>").raw(STYLE).raw("</style>\n</head>\n<body>\n");
    out.raw("<a class=\"skip\" href=\"#main\">To the figures</a>\n").raw(plot::SHAPE_DEFINITIONS);
    out.raw("<header>\n").element("h1", &[], title);
    for line in about {
        out.element("p", &[("class", "about")], line);
    }
    out.raw("</header>\n");
}

/// The navigation; `sections` are the ids and names of the sections between answer and method.
pub(crate) fn navigation(page: &mut Page, sections: &[(String, String)]) {
    let units = page.costs.units().to_vec();
    let out = &mut page.out;
    out.raw(
        "<div class=\"bar\"><nav aria-label=\"Contents\" tabindex=\"0\"><ol>\n<li><a \
        href=\"#answer\">Answer</a></li>\n",
    );
    for (id, name) in sections {
        out.raw("<li>").element("a", &[("href", &format!("#{id}"))], name).raw("</li>\n");
    }
    out.raw("<li><a href=\"#method\">Method</a></li>\n</ol></nav>\n");
    // Useless without the script, which unhides it.
    out.raw("<p id=\"units\" hidden><label for=\"unit\">Costs in</label> <select id=\"unit\">");
    for unit in &units {
        out.element("option", &[("title", &unit.about)], &unit.name);
    }
    out.raw("</select></p></div>\n");
}

/// The foot, with the version of zc that `done` it, and the script.
pub(crate) fn end(page: &mut Page, done: &'static str, version: &str) {
    let costs = page.costs.json();
    let out = &mut page.out;
    out.raw("<footer><p>").raw(done).raw(" by zc ").text(version).raw(
        ". This page fetches nothing \
        and runs one script, its own; without it nothing but convenience is lost.</p></footer>\n",
    );
    out.raw("<script type=\"application/json\" id=\"costs\">")
        .verbatim(&costs)
        .raw("</script>\n<script>");
    out.raw(SCRIPT).raw("</script>\n</body>\n</html>\n");
}
