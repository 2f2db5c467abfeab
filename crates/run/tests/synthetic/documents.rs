//! Documentation that is made from the registries of experiments and factors.

use std::path::{Path, PathBuf};

use zc_run::{Experiment, experiment, factor};

fn file(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page)
}

fn text(page: &str) -> String {
    std::fs::read_to_string(file(page)).unwrap_or_else(|error| panic!("docs/{page}: {error}"))
}

/// With INSTA_UPDATE=always, as for snapshots, the page is brought up to date instead.
#[test]
fn the_tables_in_docs_plans_are_made_from_experiments_and_factors() {
    let page = "plans.md";
    let old = text(page);
    let mut new = old.clone();
    for table in [experiment::table(), factor::table()] {
        let head = table.lines().next().unwrap();
        let begin = new.find(head).unwrap_or_else(|| panic!("docs/{page} has no \"{head}\""));
        let end = begin + new[begin..].find("\n\n").expect("something follows it") + 1;
        new.replace_range(begin..end, &table);
    }
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(file(page), new).unwrap();
    } else {
        assert_eq!(old, new, "INSTA_UPDATE=always cargo test -p zc-run writes the tables");
    }
}

#[test]
fn every_experiment_has_its_texts_and_a_page_that_names_it() {
    for experiment in Experiment::ALL.iter().map(|experiment| experiment.definition()) {
        let name = experiment.name;
        assert!(experiment.question.ends_with('?'), "{name} asks nothing");
        assert!(experiment.title.starts_with(char::is_lowercase), "{name}");
        assert!(!experiment.title.ends_with('.'), "{name}");
        let page = experiment.document();
        let is_named = text(&page).contains(&format!("zc run {name}"));
        assert!(is_named, "docs/{page} does not name \"{name}\"");
    }
}
