//! Directives as text that nginx reads as the same directives.

use super::tree::Directive;

/// Directives as the text of one file.
pub fn render(directives: &[Directive]) -> String {
    let mut out = String::new();
    write(&mut out, directives, 0);
    out
}

fn write(out: &mut String, directives: &[Directive], level: usize) {
    for directive in directives {
        indent(out, level);
        out.push_str(&line(directive));
        if let Some(code) = &directive.lua {
            out.push_str(" {");
            out.push_str(code);
            out.push('}');
        } else if let Some(block) = &directive.block {
            out.push_str(" {\n");
            write(out, block, level + 1);
            indent(out, level);
            out.push('}');
        } else {
            out.push(';');
        }
        out.push('\n');
    }
}

fn indent(out: &mut String, level: usize) {
    out.extend(std::iter::repeat_n("    ", level));
}

/// The words of a directive without what ends it.
fn line(directive: &Directive) -> String {
    match &directive.raw {
        Some(words) => words.join(" "),
        None => words(&directive.name, &directive.args),
    }
}

/// A name and arguments, quoted where they need it.
pub(super) fn words(name: &str, args: &[String]) -> String {
    let words = std::iter::once(name).chain(args.iter().map(String::as_str));
    words.map(word).collect::<Vec<_>>().join(" ")
}

/// A value as nginx reads it back.
fn word(value: &str) -> String {
    let is_special = |letter: char| matches!(letter, ' ' | '\t' | '\r' | '\n' | ';' | '{' | '\\');
    let begins_special = value.starts_with(['"', '\'', '#', '}']) || value.is_empty();
    // A brace after a dollar is part of a word: "${name}".
    if !begins_special && !value.replace("${", "").contains(is_special) {
        return value.to_owned();
    }
    let mut out = String::with_capacity(value.len() + 2);
    out.push('"');
    for letter in value.chars() {
        if matches!(letter, '"' | '\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_nginx_needs_it() {
        for (value, written) in [
            ("on", "on"),
            ("${a}b", "${a}b"),
            ("a\"b", "a\"b"),
            ("", "\"\""),
            ("a b", "\"a b\""),
            ("\"a", "\"\\\"a\""),
            ("\\.(gif|png)$", "\"\\\\.(gif|png)$\""),
            ("^/a{2}", "\"^/a{2}\""),
            ("#a", "\"#a\""),
            (")", ")"),
        ] {
            assert_eq!(word(value), written);
        }
    }
}
