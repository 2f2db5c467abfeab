//! Tables of the documentation that are made from the registries.

use std::path::Path;

use zc_run::Experiment;
use zc_run::experiment::{list, table};
use zc_run::factor;

/// Checks that a page below docs/ has a table, which begins with `begins` and ends before an empty
/// line. With INSTA_UPDATE=always, as for snapshots, the page is brought up to date instead.
fn check(page: &str, begins: &str, table: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = std::fs::read_to_string(&file).unwrap();
    let begin = text.find(begins).unwrap_or_else(|| panic!("docs/{page} has no \"{begins}\""));
    let end = begin + text[begin..].find("\n\n").expect("something follows it") + 1;
    if text[begin..end] == *table {
        return;
    }
    let update = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    assert!(update, "INSTA_UPDATE=always cargo test -p zc-run writes the table of docs/{page}");
    std::fs::write(&file, format!("{}{table}{}", &text[..begin], &text[end..])).unwrap();
}

/// One test, as both tables are in one file.
#[test]
fn the_tables_in_docs_plans_are_made_from_experiments_and_factors() {
    check("plans.md", "| plan | question |", &table());
    check("plans.md", "| factor | levels |\n", &factor::table());
}

#[test]
fn the_list_in_docs_readme_is_made_from_experiments() {
    check("README.md", "- [paths](experiments/paths.md)", &list());
}

#[test]
fn every_experiment_has_its_texts_and_a_page_that_names_it() {
    for experiment in Experiment::ALL.iter().map(|experiment| experiment.definition()) {
        let name = experiment.name;
        assert!(experiment.question.ends_with('?'), "{name} asks nothing");
        assert!(experiment.title.starts_with(char::is_lowercase), "{name}");
        assert!(!experiment.title.ends_with('.'), "{name}");
        let page = experiment.document();
        let text = std::fs::read_to_string(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(&page),
        )
        .unwrap_or_else(|error| panic!("docs/{page}: {error}"));
        assert!(text.contains(&format!("zc run {name}")), "docs/{page} does not name \"{name}\"");
    }
}
