//! Lines as text that Apache reads as the same lines.

use super::tree::Line;
use super::words::quoted;

/// Lines as the text of one file.
pub fn render(lines: &[Line]) -> String {
    let mut out = String::new();
    write(&mut out, lines, 0);
    out
}

fn write(out: &mut String, lines: &[Line], level: usize) {
    for line in lines {
        indent(out, level);
        if line.block.is_none() && line.code.is_none() {
            out.push_str(&quoted(&line.name));
            if !line.args.is_empty() {
                out.push(' ');
                out.push_str(&line.args);
            }
            // A backslash at its end would go on with the next line.
            out.push_str(if line.args.ends_with('\\') { " \n" } else { "\n" });
            continue;
        }
        out.push_str(&opened(line));
        out.push_str(line.code.as_deref().unwrap_or_default());
        write(out, line.children(), level + 1);
        indent(out, level);
        out.push_str(&quoted(&format!("</{}>", line.name)));
        out.push('\n');
    }
}

/// The line that opens a section. Of a name Apache takes one bracket off.
fn opened(line: &Line) -> String {
    let bracket = if line.name.ends_with('>') { ">" } else { "" };
    match line.args.as_str() {
        "" => format!("{}\n", quoted(&format!("<{}>", line.name))),
        args => format!("{} {args}>\n", quoted(&format!("<{}{bracket}", line.name))),
    }
}

fn indent(out: &mut String, level: usize) {
    out.extend(std::iter::repeat_n("    ", level));
}
