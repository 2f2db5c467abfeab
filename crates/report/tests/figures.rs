//! Holds the table of docs/figures.md against the registry of figures.

use std::path::Path;

/// INSTA_UPDATE=always updates the page instead, as it does for snapshots.
#[test]
fn the_table_of_figures_is_made_from_the_registry() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/figures.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let table = zc_report::table_of_figures();
    let begin = text.find("| figure | unit |").expect("the page has a table of figures");
    let end = begin + text[begin..].find("|\n\n").map_or(text.len() - begin, |end| end + 2);
    if text[begin..end] != table
        && std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always")
    {
        std::fs::write(&page, format!("{}{table}{}", &text[..begin], &text[end..])).unwrap();
        return;
    }
    assert_eq!(text[begin..end], table, "INSTA_UPDATE=always cargo test -p zc-report writes it");
}
