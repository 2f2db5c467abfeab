//! Lines as text that Caddy reads as the same lines.

use super::quote::joined;
use super::tree::Line;

/// Lines as the text of one file.
pub fn render(lines: &[Line]) -> String {
    let mut out = String::new();
    write(&mut out, lines, "", "\n");
    out
}

/// Writes lines, each with `indent` before it and `newline` behind it.
pub(super) fn write(out: &mut String, lines: &[Line], indent: &str, newline: &str) {
    for line in lines {
        out.push_str(indent);
        out.push_str(&joined(&line.words));
        if let Some(block) = &line.block {
            out.push_str(if line.words.is_empty() { "{" } else { " {" });
            out.push_str(newline);
            write(out, block, &format!("{indent}\t"), newline);
            out.push_str(indent);
            out.push('}');
        }
        out.push_str(newline);
    }
}
