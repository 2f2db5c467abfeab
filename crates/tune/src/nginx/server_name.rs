//! Which `server_name` a `Host` belongs to
//! (<https://nginx.org/en/docs/http/server_names.html>).

/// How well a name matches: the greatest wins; of two that are equal, the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// `www.*`, by its length.
    WildcardEnd(usize),
    /// `*.example.org` or `.example.org`, by its length.
    WildcardBegin(usize),
    /// The name itself, or the regular expression itself as it is written.
    Exact,
}

/// How well a `server_name` matches `host`. Regular expressions are not evaluated: they match only
/// a host that is written like them.
pub(super) fn rank(name: &str, host: &str) -> Option<Rank> {
    let (name, host) = (name.to_lowercase(), host.trim_end_matches('.').to_lowercase());
    if name == host {
        return Some(Rank::Exact);
    }
    if name.starts_with('~') {
        return None;
    }
    if let Some(domain) = name.strip_prefix('.') {
        if domain == host {
            return Some(Rank::Exact);
        }
        return host.ends_with(&name).then_some(Rank::WildcardBegin(name.len()));
    }
    if let Some(domain) = name.strip_prefix('*').filter(|domain| domain.starts_with('.')) {
        let is_below = host.len() > domain.len() && host.ends_with(domain);
        return is_below.then_some(Rank::WildcardBegin(name.len()));
    }
    let begin = name.strip_suffix('*').filter(|begin| begin.ends_with('.'))?;
    (host.len() > begin.len() && host.starts_with(begin)).then_some(Rank::WildcardEnd(name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_name_wins() {
        let names = ["www.*", "*.example.org", "*.a.example.org", ".example.net", "a.example.org"];
        let best = |host: &str| {
            names
                .iter()
                .filter_map(|name| Some((rank(name, host)?, *name)))
                .max()
                .map(|best| best.1)
        };
        assert_eq!(best("A.example.org"), Some("a.example.org"));
        assert_eq!(best("b.a.example.org."), Some("*.a.example.org"));
        assert_eq!(best("www.example.org"), Some("*.example.org"));
        assert_eq!(best("www.example.com"), Some("www.*"));
        assert_eq!(best("example.net"), Some(".example.net"));
        assert_eq!(best("x.example.net"), Some(".example.net"));
        assert_eq!(best("example.org"), None);
        assert_eq!(rank("~^(.+)\\.org$", "a.org"), None);
        assert_eq!(rank("~^(.+)\\.org$", "~^(.+)\\.org$"), Some(Rank::Exact));
    }
}
