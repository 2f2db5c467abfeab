//! Where the code of a `*_by_lua_block` ends: at the brace that closes it by Lua's grammar, not by
//! that of nginx.
//!
//! Braces in strings, long brackets and comments do not count, as in
//! <https://github.com/openresty/lua-nginx-module/blob/master/util/gen-lexer-c>. A quote that its
//! line does not close is no string there, and here.

use super::lex::Lexer;

/// The code of a block whose opening brace is taken, and takes its closing one. None if nothing
/// closes it: the lexer is then at the end of its text.
pub(super) fn take_code<'a>(lexer: &mut Lexer<'a>) -> Option<&'a str> {
    let rest = lexer.text.get(lexer.at..).unwrap_or_default();
    let Some(code) = length_of_block(rest).and_then(|length| rest.get(..length)) else {
        lexer.at = lexer.text.len();
        return None;
    };
    let lines = u32::try_from(code.matches('\n').count()).unwrap_or(u32::MAX);
    lexer.line = lexer.line.saturating_add(lines);
    lexer.at += code.len() + 1;
    Some(code)
}

/// The length of an opening long bracket `[==[` at the start of `code`, and what closes it.
fn long_bracket(code: &str) -> Option<(usize, String)> {
    let inside = code.strip_prefix('[')?;
    let level = inside.len() - inside.trim_start_matches('=').len();
    inside[level..].starts_with('[').then(|| (level + 2, format!("]{}]", "=".repeat(level))))
}

/// The length of a long bracket with its contents; None without one or without its end.
fn bracketed(code: &str) -> Option<Result<usize, ()>> {
    let (opening, closing) = long_bracket(code)?;
    let end = code[opening..].find(&closing).map(|at| opening + at + closing.len());
    Some(end.ok_or(()))
}

/// The length of a string of one line in quotes, if it is closed on it.
fn quoted(code: &str) -> Option<usize> {
    let bytes = code.as_bytes();
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\n' => return None,
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => return None,
            b'\\' => at += 1,
            byte if byte == bytes[0] => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The length of Lua code up to the brace that closes its block, which is not included.
fn length_of_block(code: &str) -> Option<usize> {
    let bytes = code.as_bytes();
    let mut level = 1;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let step = match byte {
            b'{' => {
                level += 1;
                1
            }
            b'}' => {
                level -= 1;
                if level == 0 {
                    return Some(at);
                }
                1
            }
            b'[' => bracketed(&code[at..]).map_or(Some(1), Result::ok)?,
            b'-' if code[at..].starts_with("--[") && long_bracket(&code[at + 2..]).is_some() => {
                2 + bracketed(&code[at + 2..]).and_then(Result::ok)?
            }
            b'-' if code[at..].starts_with("--") => {
                code[at..].find('\n').unwrap_or(code.len() - at)
            }
            b'"' | b'\'' => quoted(&code[at..]).unwrap_or(1),
            _ => 1,
        };
        at += step;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code is a whole block: it ends at the brace that stands last.
    #[track_caller]
    fn is_whole(code: &str) {
        assert_eq!(length_of_block(&format!("{code}}} server {{")), Some(code.len()), "{code}");
    }

    #[test]
    fn braces_in_strings_and_comments_do_not_count() {
        is_whole("");
        is_whole(" local t = { a = { 1 } } ");
        is_whole("print('}') print(\"{\")");
        is_whole("print('a\\'}') print(\"\\\"}\")");
        is_whole("cors([[some\\.domain}$]]) x = [==[ ]] } ]==]");
        is_whole("-- it's }\nreturn 1");
        is_whole("--[[ } \n } ]] return t[a[1]]");
        is_whole("--[==[ ]] } ]==] return 1 - 2");
        is_whole("local apostrophe = [[']] return t['x'] -- don't\n");
    }

    #[test]
    fn code_without_its_brace_has_no_end() {
        for code in ["print('}')", "{ }", "[[ }", "--[[ }", "-- }", "'a\\"] {
            assert_eq!(length_of_block(code), None, "{code}");
        }
        // Not closed on its line, so no string.
        assert_eq!(length_of_block("' \n }"), Some(4));
    }
}
