//! Lists of hosts as clusters write them: `n[1-4,7],m01,gpu[001-128]`.

use zc_run::{Error, Result, escape};

/// The most hosts of a fleet. With more of them than this something was mistyped.
pub(super) const MOST_HOSTS: usize = 20_000;

const HINT: &str = "names with commas between them, and numbers in brackets: n1,n2 or n[1-4,7]";

/// The names of a list, in its order. Leading zeros are kept: `n[08-10]` is n08, n09, n10.
///
/// # Errors
/// It is no list, or has more than [`MOST_HOSTS`] names.
pub(super) fn expand(list: &str) -> Result<Vec<String>> {
    let wrong = |what: &str| {
        Error::input("invalid-host-list", format!("hosts \"{}\": {what}", escape(list, 60)))
            .help(HINT)
    };
    let mut names = Vec::new();
    for part in parts(list).ok_or_else(|| wrong("a bracket is not closed"))? {
        if part.trim().is_empty() {
            return Err(wrong("a name is missing"));
        }
        expand_one(part.trim(), &mut names).map_err(|what| wrong(&what))?;
        if names.len() > MOST_HOSTS {
            return Err(wrong("they are more than 20,000"));
        }
    }
    match names.iter().find(|name| !is_name(name)) {
        Some(name) => Err(wrong(&format!("\"{}\" is no name of a host", escape(name, 60)))),
        None => Ok(names),
    }
}

/// Whether a host may be called so: it becomes a word of commands and a part of file names.
pub(super) fn is_name(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:".contains(&byte);
    !text.is_empty()
        && text.len() <= 253
        && !text.starts_with(['-', '.'])
        && text.bytes().all(is_letter)
}

/// Splits at commas outside brackets; `None` if brackets do not match.
fn parts(list: &str) -> Option<Vec<&str>> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, letter) in list.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                parts.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[from..]);
    (depth == 0).then_some(parts)
}

/// Expands the first brackets of a name, and those after it by calling itself.
fn expand_one(part: &str, names: &mut Vec<String>) -> std::result::Result<(), String> {
    let Some((before, rest)) = part.split_once('[') else {
        names.push(part.to_owned());
        return Ok(());
    };
    let (numbers, after) = rest.split_once(']').ok_or("a bracket is not closed")?;
    for range in numbers.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| match text.parse::<u64>() {
            Ok(number) if text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(number),
            _ => Err(format!("\"{}\" is no range of numbers", escape(range, 40))),
        };
        let (from, to) = (number(low)?, number(high)?);
        if to < from || to - from >= MOST_HOSTS as u64 {
            return Err(format!("the range {from}-{to} is none, or too long"));
        }
        for number in from..=to {
            expand_one(&format!("{before}{number:0width$}{after}", width = low.len()), names)?;
            if names.len() > MOST_HOSTS {
                return Err("they are more than 20,000".to_owned());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_and_names_are_expanded_in_order() {
        let expanded = |list: &str| expand(list).unwrap().join(" ");
        assert_eq!(expanded("n[1-3,7],m1"), "n1 n2 n3 n7 m1");
        assert_eq!(expanded("n[08-10]"), "n08 n09 n10");
        assert_eq!(expanded("r[1-2]n[1-2]"), "r1n1 r1n2 r2n1 r2n2");
        assert_eq!(expanded("a.example.org, b"), "a.example.org b");
    }

    #[test]
    fn what_is_no_list_is_refused_with_the_reason() {
        let many = "n[1-9999],m[1-9999],o[1-9999]";
        let said = [
            "n[1-",
            "n]1[",
            "a,,b",
            "",
            "n[2-1]",
            "n[1-99999999]",
            "n[x]",
            many,
            "-oProxyCommand=x",
            "a;b",
            "../x",
        ]
        .map(|list| expand(list).unwrap_err().message);
        insta::assert_snapshot!(said.join("\n"), @r#"
        hosts "n[1-": a bracket is not closed
        hosts "n]1[": a bracket is not closed
        hosts "a,,b": a name is missing
        hosts "": a name is missing
        hosts "n[2-1]": the range 2-1 is none, or too long
        hosts "n[1-99999999]": the range 1-99999999 is none, or too long
        hosts "n[x]": "x" is no range of numbers
        hosts "n[1-9999],m[1-9999],o[1-9999]": they are more than 20,000
        hosts "-oProxyCommand=x": "-oProxyCommand=x" is no name of a host
        hosts "a;b": "a;b" is no name of a host
        hosts "../x": "../x" is no name of a host
        "#);
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic_and_no_name_is_dangerous(text in ".{0,60}") {
            for name in expand(&text).unwrap_or_default() {
                prop_assert!(is_name(&name));
            }
        }
    }
}
