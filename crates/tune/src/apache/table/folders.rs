//! What is looked for in the folders above a file: `.htaccess` files and links.

use super::context::Context;
use crate::candidate::{Candidate, Change, Offer};

const OVERRIDE: &str = "https://httpd.apache.org/docs/2.4/misc/perf-tuning.html#htaccess";
const LINKS: &str = "https://httpd.apache.org/docs/2.4/misc/perf-tuning.html#symlinks";

pub(super) fn offers(context: &Context<'_>) -> Vec<Offer> {
    let allow_override = context.line("AllowOverride").filter(|line| !line.first_is("none"));
    let none = allow_override.map(|line| {
        candidate(
            "AllowOverride",
            vec!["None".to_owned()],
            line.text(),
            "each request looks for .htaccess in every folder above its file",
            OVERRIDE,
        )
    });
    none.into_iter().chain([links(context)]).collect()
}

fn candidate(name: &str, args: Vec<String>, present: String, reason: &str, at: &str) -> Offer {
    Offer::Try(Candidate {
        name: format!("{name} {}", args.join(" ")),
        present,
        change: Change::Directive { name: name.to_owned(), args },
        reason: reason.to_owned(),
        reference: at.to_owned(),
    })
}

/// Links followed without a look at each folder, or with one where they are followed already.
fn links(context: &Context<'_>) -> Offer {
    let chain = context.config.chain(context.site.index);
    // From the outermost, as sections are merged.
    let lines = chain.into_iter().rev().flat_map(|block| block.lines().iter());
    let all: Vec<_> = lines.filter(|line| line.is("Options")).collect();
    // It is the default, and where links of all are followed, those of their owner are, too.
    let follows = all.iter().fold(true, |before, line| with(before, &line.words()));
    let (on, off) = match follows {
        true => ("SymLinksIfOwnerMatch", "FollowSymLinks"),
        false => ("FollowSymLinks", "SymLinksIfOwnerMatch"),
    };
    let own = all.last();
    let words = own.map(|line| line.words()).unwrap_or_default();
    let is_link = |word: &String| {
        let word = word.trim_start_matches(['+', '-']);
        [on, off].iter().any(|link| word.eq_ignore_ascii_case(link))
    };
    let others = words.iter().filter(|word| !is_link(word)).cloned();
    let is_relative = words.iter().all(|word| word.starts_with(['+', '-']));
    let args: Vec<String> = match is_relative {
        true => others.chain([format!("+{on}"), format!("-{off}")]).collect(),
        false if words.iter().any(|word| word.eq_ignore_ascii_case("all")) => {
            let why = "\"Options All\" has it, and a line without it would be another: try one by \
                       --try";
            return Offer::Not { name: format!("Options {on}"), why: why.to_owned() };
        }
        false => others
            .filter(|word| !word.eq_ignore_ascii_case("none"))
            .chain([on.to_owned()])
            .collect(),
    };
    let present = own.map_or("Options FollowSymLinks (default)".to_owned(), |line| line.text());
    let reason = "without FollowSymLinks, or with SymLinksIfOwnerMatch, each request looks at \
                  every folder above its file by lstat()";
    candidate("Options", args, present, reason, LINKS)
}

/// Whether links of all are followed after a line of options, by what was before.
fn with(before: bool, words: &[String]) -> bool {
    let is_relative = words.iter().all(|word| word.starts_with(['+', '-']));
    let mut out = is_relative && before;
    for word in words {
        let option = word.trim_start_matches(['+', '-']);
        if ["all", "followsymlinks"].iter().any(|all| option.eq_ignore_ascii_case(all)) {
            out = !word.starts_with('-');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::with;

    #[test]
    fn options_are_merged_as_apache_merges_them() {
        let follows = |lines: &[&str]| {
            lines.iter().fold(true, |before, line| {
                let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
                with(before, &words)
            })
        };
        for on in [&[][..], &["Indexes", "+FollowSymLinks"], &["Indexes followsymlinks"], &["All"]]
        {
            assert!(follows(on), "{on:?}");
        }
        for off in [&["None"][..], &["All", "+SymLinksIfOwnerMatch -followsymlinks"], &["Indexes"]]
        {
            assert!(!follows(off), "{off:?}");
        }
    }
}
