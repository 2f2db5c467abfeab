//! How the configurations of two kernels differ.

use std::collections::{BTreeMap, BTreeSet};

/// An option that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigDifference {
    /// Its name: `CONFIG_NET_RX_BUSY_POLL`.
    pub name: String,
    /// Its value in the first one; `None` where it is not set.
    pub old: Option<String>,
    /// Its value in the second one.
    pub new: Option<String>,
}

/// The options that only one of two .config has, or that have another value, by name. `# CONFIG_X is
/// not set` is the same as no line.
pub fn differences(old: &str, new: &str) -> Vec<ConfigDifference> {
    let (old, new) = (options(old), options(new));
    let names: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    let differs = |name: &&str| old.get(name) != new.get(name);
    let value = |of: &BTreeMap<&str, &str>, name| of.get(name).map(|value| (*value).to_owned());
    names
        .into_iter()
        .filter(differs)
        .map(|name| ConfigDifference {
            name: name.to_owned(),
            old: value(&old, name),
            new: value(&new, name),
        })
        .collect()
}

fn options(text: &str) -> BTreeMap<&str, &str> {
    let lines = text.lines().filter_map(|line| line.trim().split_once('='));
    lines.filter(|(name, _)| name.starts_with("CONFIG_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_one_alone_or_with_another_value_differ() {
        let old =
            "# Linux/x86 6.1\nCONFIG_A=y\nCONFIG_B=m\n# CONFIG_C is not set\nCONFIG_D=\"x=y\"\n";
        let new = "CONFIG_D=\"x=z\"\nCONFIG_A=y\nCONFIG_C=y\n";
        let found: Vec<String> = differences(old, new)
            .into_iter()
            .map(|ConfigDifference { name, old, new }| {
                format!("{name}: {} -> {}", old.unwrap_or_default(), new.unwrap_or_default())
            })
            .collect();
        assert_eq!(found, ["CONFIG_B: m -> ", "CONFIG_C:  -> y", "CONFIG_D: \"x=y\" -> \"x=z\""]);
        assert!(differences(old, old).is_empty());
    }
}
