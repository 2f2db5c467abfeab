//! The lines of a commit message: how many there are, how wide, and of which characters.
//!
//! All are indented, so that whatever a label or a command holds, git takes none of them for a
//! comment, a trailer or the start of a diff (git-commit(1) `--cleanup`, git-interpret-trailers(1),
//! git-mailinfo(1)).

use zc_run::escape;

/// The most lines.
pub(super) const LINES: usize = 8;

/// The most columns of a line.
const COLUMNS: usize = 72;

const INDENT: &str = "  ";

/// Columns behind the indent.
pub(super) const ROOM: usize = COLUMNS - INDENT.len();

/// What a cut line ends with.
const MORE: &str = " ...";

/// The message: the command in the lines that are left beside the others, of which at most
/// [`LINES`] - 1 count.
pub(super) fn message(command: &[String], others: &[String]) -> String {
    let others = &others[..others.len().min(LINES - 1)];
    let command = typed(command, LINES - others.len());
    let lines = command.iter().chain(others);
    lines.map(|line| format!("{INDENT}{}\n", cut(&ascii(line), ROOM))).collect()
}

/// Text from outside in ASCII, without control characters. It is cut where lines are, so the limit
/// here only bounds the work.
pub(super) fn plain(text: &str) -> String {
    ascii(&escape(text, 1000))
}

/// The text in ASCII: `?` for what has no such spelling.
fn ascii(text: &str) -> String {
    let spelled = text.replace('±', "+-");
    spelled.chars().map(|it| if it.is_ascii() && !it.is_control() { it } else { '?' }).collect()
}

/// An ASCII text of at most so many columns.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.trim_end().to_owned();
    }
    let kept: String = text.chars().take(columns.saturating_sub(MORE.len())).collect();
    kept.trim_end().to_owned() + MORE
}

/// The text over at most so many lines.
pub(super) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let text = crate::text::wrap("", &plain(text), 0, ROOM);
    let lines = text.lines().map(str::to_owned).collect();
    first(lines, most)
}

/// The first lines; the last of them ends in dots if there are more.
fn first(mut lines: Vec<String>, most: usize) -> Vec<String> {
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            let open = last.trim_end_matches(['\\', ' ']);
            *last = cut(open, ROOM - MORE.len()).trim_end_matches(MORE).to_owned() + MORE;
        }
    }
    lines
}

/// The parts in one line, as many as it has room for; the first is always in it.
pub(super) fn joined(first: String, others: impl IntoIterator<Item = String>) -> String {
    others.into_iter().fold(first, |line, part| {
        let longer = format!("{line}, {part}");
        if longer.chars().count() <= ROOM { longer } else { line }
    })
}

/// A command line as a shell would read it, over at most so many lines.
fn typed(command: &[String], most: usize) -> Vec<String> {
    let program = command.first().map_or("zc", |it| it.rsplit('/').next().unwrap_or(it));
    let words = std::iter::once(program).chain(command.iter().skip(1).map(String::as_str));
    let mut lines = vec!["$".to_owned()];
    for word in words.map(shell_word) {
        let Some(last) = lines.last_mut() else { continue };
        // A line that goes on ends with a space and a backslash.
        if last.len() + 1 + word.len() + 2 <= ROOM || last.as_str() == "$" {
            last.push(' ');
            last.push_str(&word);
        } else {
            last.push_str(" \\");
            lines.push(format!("    {word}"));
        }
    }
    first(lines, most)
}

/// A word as it is typed in a shell.
fn shell_word(word: &str) -> String {
    let word = plain(word);
    let is_bare = |it: char| it.is_ascii_alphanumeric() || "-_=+,.:/@%".contains(it);
    if !word.is_empty() && word.chars().all(is_bare) {
        return word;
    }
    zc_run::shell_word(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_command_is_quoted_as_a_shell_reads_it_and_goes_on_after_a_backslash() {
        let command = words(&["/usr/bin/zc", "run", "--ab", "sysctl -w a=0", "--out", "it's"]);
        assert_eq!(typed(&command, 1), [r"$ zc run --ab 'sysctl -w a=0' --out 'it'\''s'"]);
        let long = "sysctl -qw net.core.high_order_alloc_disable=0";
        let command = words(&["zc", "run", "--link", "null", "--ab", long, "--budget", "2min"]);
        let whole = typed(&command, 3);
        let second = format!("    '{long}' --budget 2min");
        assert_eq!(whole, [r"$ zc run --link null --ab \".to_owned(), second]);
        assert_eq!(typed(&command, 1), ["$ zc run --link null --ab ..."]);
    }

    #[test]
    fn a_line_is_ascii_and_cut_to_its_room() {
        assert_eq!(plain("a ±2 é\u{1b}[1m\n"), "a +-2 ?\\u{1b}[1m\\n");
        assert_eq!(cut("abcdefgh", 8), "abcdefgh");
        assert_eq!(cut("abcd efghi", 9), "abcd ...");
        let text = message(&words(&["zc"]), &vec!["x".repeat(200); 20]);
        assert_eq!(text.lines().count(), LINES);
        assert!(text.lines().all(|line| line.len() <= COLUMNS && line.starts_with(INDENT)));
    }

    #[test]
    fn what_does_not_fit_a_line_is_left_out_of_it() {
        let parts = ["b".repeat(60), "c".repeat(30), "d".to_owned()];
        assert_eq!(joined("a".to_owned(), parts), format!("a, {}, d", "b".repeat(60)));
    }
}
