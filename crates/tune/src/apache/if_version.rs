//! Whether `<IfVersion>` holds (<https://httpd.apache.org/docs/2.4/mod/mod_version.html>).

use std::cmp::Ordering;

use crate::values::Version;

/// Whether a condition holds for a version; `None` if it is a regular expression or no condition.
pub(super) fn holds(words: &[String], version: Version) -> Option<bool> {
    let (operator, wanted) = match words {
        [wanted] => ("=", wanted),
        [operator, wanted] => (operator.as_str(), wanted),
        _ => return None,
    };
    let (is_negated, operator) = match operator.strip_prefix('!') {
        Some("") => (true, "="),
        Some(operator) => (true, operator),
        None => (false, operator),
    };
    let order = compared(version, wanted)?;
    let holds = match operator {
        "=" | "==" => order == Ordering::Equal,
        ">" => order == Ordering::Greater,
        ">=" => order != Ordering::Less,
        "<" => order == Ordering::Less,
        "<=" => order != Ordering::Greater,
        _ => return None,
    };
    Some(holds != is_negated)
}

/// A version compared with `MAJOR[.MINOR[.PATCH]]`: numbers that are not given are 0.
fn compared(version: Version, wanted: &str) -> Option<Ordering> {
    let mut numbers = [0_u32; 3];
    let mut parts = wanted.split('.');
    for (number, part) in numbers.iter_mut().zip(parts.by_ref()) {
        *number = part.parse().ok()?;
    }
    let [major, minor, patch] = numbers;
    parts.next().is_none().then(|| version.cmp(&(major, minor, patch)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let holds = |text: &str| {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            holds(&words, (2, 4, 57))
        };
        for yes in [">= 2.4", "> 2.4.6", "2.4.57", "!= 2.2", "< 2.5", "<= 2.4.57", "! 2.4.1"] {
            assert_eq!(holds(yes), Some(true), "{yes}");
        }
        for no in ["< 2.4", "= 2.4", "!>= 2.4", "> 2.4.57"] {
            assert_eq!(holds(no), Some(false), "{no}");
        }
        for unknown in ["~ ^2", "/^2/", ">= x", ">= 2.4.1.1", ">= 2.4 3", "", "=> 2"] {
            assert_eq!(holds(unknown), None, "{unknown}");
        }
    }
}
