//! The writer of CSV: no cell is a formula, and none moves a terminal's cursor.

use zc_run::escape;

/// Lines of equal length as CSV. Control characters are escaped, because CSV is printed on
/// terminals too.
pub(super) fn text(lines: Vec<Vec<String>>) -> String {
    let mut out = csv::Writer::from_writer(Vec::new());
    for cells in lines {
        let cells = cells.iter().map(|cell| without_formula(escape(cell, usize::MAX)));
        out.write_record(cells)
            .expect("a Vec takes every byte, and every line is as long as the heading");
    }
    let bytes = out.into_inner().expect("a Vec takes every byte");
    String::from_utf8(bytes).expect("strings and commas are UTF-8")
}

/// A cell that no spreadsheet takes for a formula,
/// <https://owasp.org/www-community/attacks/CSV_Injection>: with an apostrophe before what would
/// begin one, unless it is a number. An apostrophe gets another, so that one can be taken off
/// again. Tabs and line breaks are escaped already.
fn without_formula(mut cell: String) -> String {
    const BEGIN: [char; 9] =
        ['=', '+', '-', '@', '\'', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];
    if cell.starts_with(BEGIN) && cell.parse::<f64>().is_err() {
        cell.insert(0, '\'');
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_and_numbers_stay_numbers() {
        let cells = [
            "=HYPERLINK(\"http://x/\"&A1)",
            "+1+1",
            "-2+3|cmd",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "\u{ff1d}1",
            "-",
            "-0.25",
            "-1e-9",
            "+5",
            "a=b",
            "read+send",
            "'=1",
        ];
        let line = text(vec![cells.map(str::to_owned).to_vec()]);
        let mut reader =
            ::csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
        let read: Vec<String> =
            reader.records().next().unwrap().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(
            read,
            [
                "'=HYPERLINK(\"http://x/\"&A1)",
                "'+1+1",
                "'-2+3|cmd",
                "'@SUM(A1)",
                "\\t=1",
                "\\r=1",
                "'\u{ff1d}1",
                "'-",
                "-0.25",
                "-1e-9",
                "+5",
                "a=b",
                "read+send",
                "''=1",
            ]
        );
    }
}
