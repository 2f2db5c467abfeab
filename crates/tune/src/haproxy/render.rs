//! Sections as text that HAProxy reads as the same sections.

use super::tree::Section;
use super::words::joined;

/// Sections as the text of one file.
pub fn render(sections: &[Section]) -> String {
    let mut out = String::new();
    for section in sections {
        out.push_str(&joined(&section.header.words));
        out.push('\n');
        for line in &section.lines {
            out.push_str("    ");
            out.push_str(&joined(&line.words));
            out.push('\n');
        }
    }
    out
}
