//! Offers a description of fields that stand behind a known format on each line: the durations that
//! nginx adds to `combined`, `rt=0.012`.

use super::format::Format;

/// A description that reads more of a log than its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The text of the first line behind the format.
    pub behind: String,
    /// An nginx `log_format` that reads durations from it.
    pub log_format: String,
}

/// The offer for a log of this format, if durations stand behind it: numbers with three decimals,
/// as nginx writes `$request_time` alone.
pub(crate) fn from_sample(format: &Format, sample: &[&[u8]]) -> Option<Offer> {
    let described = format.as_log_format()?;
    let behind: Vec<&[u8]> = sample.iter().filter_map(|line| format.behind(line)).collect();
    let first = str::from_utf8(behind.first()?).ok()?;
    // Spaces, and the bounds of texts, stay.
    let mut described = described.to_owned();
    let mut has_duration = false;
    for token in first.split_inclusive(' ') {
        let (text, space) = token.strip_suffix(' ').map_or((token, ""), |text| (text, " "));
        let (name, value) = text.split_at(text.find('=').map_or(0, |at| at + 1));
        let bare = value.trim_matches(['"', '[', ']']);
        let (open, close) =
            value.split_once(bare).filter(|_| !bare.is_empty()).unwrap_or((value, ""));
        let variable = match bare {
            "" => "",
            bare if is_duration(bare) && !has_duration => {
                has_duration = true;
                "$request_time"
            }
            _ => "$other",
        };
        described += &format!("{name}{open}{variable}{close}{space}");
    }
    let read = Format::described(&described)?.ok()?;
    let fits = |line: &&&[u8]| read.reads_whole(line);
    let fitting = sample.iter().filter(fits).count();
    (has_duration && 10 * fitting >= 9 * sample.len())
        .then(|| Offer { behind: first.trim().to_owned(), log_format: described })
}

/// Whether a text is a number with three decimals.
fn is_duration(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('.').is_some_and(|(s, ms)| digits(s) && digits(ms) && ms.len() == 3)
}
