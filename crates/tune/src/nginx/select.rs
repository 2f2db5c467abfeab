//! The part of a configuration that a copy has, with its changes: everything but other servers and
//! blocks that are not about http.

use std::collections::HashMap;

use super::change::{Edit, Spot};
use super::site;
use super::tree::{Config, Directive, NEW};
use crate::site::Site;

/// What was left out.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// How many server blocks.
    pub(super) servers: usize,
    /// Blocks of the main context: `stream`, `mail`.
    pub(super) blocks: Vec<String>,
}

/// The directives of a copy, and what was left out.
pub(super) fn select(
    config: &Config,
    site: &Site,
    edits: &[Edit<'_>],
) -> (Vec<Directive>, LeftOut) {
    let mut left_out = LeftOut::default();
    let mut main = Vec::new();
    for directive in &config.main {
        match (directive.name.as_str(), &directive.block) {
            (_, None) | ("events", _) => main.push(directive.clone()),
            ("http", Some(block)) => {
                let is_kept = |(index, child): &(usize, &Directive)| {
                    !site::is_server(child) || *index == site.index
                };
                let kept = block.iter().enumerate().filter(is_kept);
                let kept: Vec<Directive> = kept.map(|(_, child)| child.clone()).collect();
                left_out.servers += block.len() - kept.len();
                main.push(Directive { block: Some(kept), ..directive.without_block() });
            }
            (name, Some(_)) => left_out.blocks.push(name.to_owned()),
        }
    }
    (apply(main, &by_id(edits)), left_out)
}

/// The edits at each directive.
type ById<'a> = HashMap<u32, Vec<&'a Edit<'a>>>;

fn by_id<'a>(edits: &'a [Edit<'a>]) -> ById<'a> {
    let mut out = ById::new();
    for edit in edits {
        out.entry(edit.at.id).or_default().push(edit);
    }
    out
}

fn apply(directives: Vec<Directive>, edits: &ById<'_>) -> Vec<Directive> {
    let mut out = Vec::with_capacity(directives.len());
    for mut directive in directives {
        let at = edits.get(&directive.id).map(Vec::as_slice).unwrap_or_default();
        let new = |spot: Spot| {
            let wanted = at.iter().filter(move |edit| edit.spot == spot);
            wanted.map(|edit| Directive::new(&edit.name, edit.args.iter().cloned()))
        };
        out.extend(new(Spot::Before));
        if let Some(block) = directive.block.take() {
            let first = new(Spot::FirstInside);
            directive.block = Some(first.chain(apply(block, edits)).collect());
        }
        let replaced = new(Spot::InPlace).next_back();
        let is_gone = at.iter().any(|edit| edit.spot == Spot::Without);
        match replaced {
            Some(replaced) => {
                directive.name.clone_from(&replaced.name);
                directive.set_args(replaced.args);
                directive.id = NEW;
                out.push(directive);
            }
            None if is_gone => {}
            None => out.push(directive),
        }
        out.extend(new(Spot::After));
    }
    out
}
