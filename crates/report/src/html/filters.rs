//! Choices above the tables of a section that show the rows of some groups only, by the page's
//! script: without it there are no choices, and all rows are shown.

use super::page::Page;

/// A feature by which rows are chosen, and for each of its values the indices of the groups that
/// have it.
pub(crate) struct Choice {
    pub(crate) name: String,
    pub(crate) values: Vec<(String, Vec<usize>)>,
}

/// A list for each choice that has more than one value.
pub(crate) fn filters(page: &mut Page, choices: &[Choice]) {
    let choices: Vec<&Choice> = choices.iter().filter(|choice| choice.values.len() > 1).collect();
    if choices.is_empty() {
        return;
    }
    page.out.raw("<p class=\"filters\" hidden>");
    for choice in choices {
        let id = page.id();
        let out = &mut page.out;
        out.raw("<span>").element("label", &[("for", &id)], &choice.name).raw(" ");
        out.open("select", &[("id", &id)]).raw("<option value=\"\">all</option>");
        for (value, groups) in &choice.values {
            let groups: Vec<String> = groups.iter().map(usize::to_string).collect();
            out.element("option", &[("value", &groups.join(" "))], value);
        }
        out.raw("</select></span> ");
    }
    page.out.raw("<output aria-live=\"polite\"></output></p>\n");
}
