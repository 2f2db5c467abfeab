//! The table as Apache Parquet, for tables that span years: columns have types, and are read
//! separately. A column of a group of rows is one page, uncompressed, after a page with its
//! dictionary where that makes both smaller. Every value may be absent.
//! <https://parquet.apache.org/docs/file-format/>; the numbers of fields, types and encodings are
//! those of <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>.

mod encoding;
mod thrift;

use super::columns::{Column, Line, Value, columns, lines};
use encoding::Dictionary;
use thrift::Struct;
use zc_analysis::fleet::{Grouping, RunFigures};
use zc_run::escape;

/// Runs in a group of rows, which are held in memory until they are written.
const GROUP_RUNS: usize = 10_000;

const MAGIC: &[u8] = b"PAR1";

// Encodings.
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const RLE_DICTIONARY: i32 = 8;

/// The whole file.
pub(super) fn file(runs: &[RunFigures], grouping: &Grouping) -> Vec<u8> {
    let columns = columns(grouping);
    let mut out = MAGIC.to_vec();
    let (mut groups, mut rows) = (Vec::new(), 0);
    for runs in runs.chunks(GROUP_RUNS) {
        let lines: Vec<Line> = runs.iter().flat_map(|run| lines(run, grouping)).collect();
        let begin = out.len();
        let chunks = columns.iter().map(|column| write_column(column, &lines, &mut out)).collect();
        let group = Struct::default().structs(1, chunks).size(2, out.len() - begin);
        groups.push(group.size(3, lines.len()));
        rows += lines.len();
    }
    let root = Struct::default().text(4, "zc").int(5, int(columns.len()));
    let schema = [root].into_iter().chain(columns.iter().map(schema_element)).collect();
    let footer = Struct::default().int(1, 1).structs(2, schema).size(3, rows).structs(4, groups);
    let footer = footer.text(6, concat!("zc ", env!("CARGO_PKG_VERSION"))).end();
    out.extend(&footer);
    out.extend(int(footer.len()).to_le_bytes());
    out.extend(MAGIC);
    out
}

/// A column's name and type. The older of two forms of a type is for older readers.
fn schema_element(Column { name, value }: &Column) -> Struct {
    let optional = Struct::default().int(1, stored_type(value)).int(3, 1).text(4, name);
    let empty = Struct::default;
    match value {
        Value::Text(_) => optional.int(6, 0).nested(10, empty().nested(1, empty())),
        Value::Time(_) => {
            let microseconds_utc = empty().flag(1, true).nested(2, empty().nested(2, empty()));
            optional.int(6, 10).nested(10, empty().nested(8, microseconds_utc))
        }
        Value::Flag(_) | Value::Count(_) | Value::Number(_) => optional,
    }
}

fn stored_type(value: &Value) -> i32 {
    match value {
        Value::Flag(_) => 0,
        Value::Time(_) | Value::Count(_) => 2,
        Value::Number(_) => 5,
        Value::Text(_) => 6,
    }
}

/// Writes the pages of a column, and returns what the footer says about them.
fn write_column(Column { name, value }: &Column, lines: &[Line], out: &mut Vec<u8>) -> Struct {
    let begin = out.len();
    let values: Vec<Option<Vec<u8>>> = lines.iter().map(|line| plain(value, line)).collect();
    let present: Vec<u32> = values.iter().map(|value| u32::from(value.is_some())).collect();
    let values: Vec<Vec<u8>> = values.into_iter().flatten().collect();
    let levels = encoding::runs(&present, 1);
    let mut page = int(levels.len()).to_le_bytes().to_vec();
    page.extend(levels);
    let encoding = match (value, Dictionary::if_smaller(&values)) {
        (Value::Flag(_), _) => {
            let bits: Vec<u32> = values.concat().into_iter().map(u32::from).collect();
            page.extend(encoding::packed(&bits, 1));
            PLAIN
        }
        (_, Some(Dictionary { entries, count, places })) => {
            let header = Struct::default().int(1, int(count)).int(2, PLAIN);
            write_page(out, 2, &entries, 7, header);
            page.extend(places);
            RLE_DICTIONARY
        }
        (_, None) => {
            page.extend(values.concat());
            PLAIN
        }
    };
    let data = out.len();
    let header = Struct::default().int(1, int(lines.len())).int(2, encoding).int(3, RLE);
    write_page(out, 0, &page, 5, header.int(4, RLE));

    let size = out.len() - begin;
    let chunk = Struct::default().int(1, stored_type(value)).ints(2, &[PLAIN, RLE, encoding]);
    let chunk = chunk.texts(3, &[name]).int(4, 0).size(5, lines.len());
    let chunk = chunk.size(6, size).size(7, size).size(9, data);
    let chunk = if data == begin { chunk } else { chunk.size(11, begin) };
    Struct::default().size(2, begin).nested(3, chunk)
}

/// Writes a page, with the header that a page of its type has under a field number.
fn write_page(out: &mut Vec<u8>, page_type: i32, page: &[u8], number: u8, header: Struct) {
    let size = int(page.len());
    let all = Struct::default().int(1, page_type).int(2, size).int(3, size);
    out.extend(all.nested(number, header).end());
    out.extend(page);
}

/// The plain encoding of a line's value, if it has one. A flag is a byte here.
fn plain(value: &Value, line: &Line) -> Option<Vec<u8>> {
    Some(match value {
        Value::Text(text) => {
            let text = Some(text(line)).filter(|text| !text.is_empty())?;
            let text = escape(&text, usize::MAX);
            [&int(text.len()).to_le_bytes(), text.as_bytes()].concat()
        }
        Value::Time(time) => {
            let time: jiff::Timestamp = time(line).parse().ok()?;
            time.as_microsecond().to_le_bytes().into()
        }
        Value::Flag(flag) => [u8::from(flag(line))].into(),
        Value::Count(count) => i64::try_from(count(line)).ok()?.to_le_bytes().into(),
        Value::Number(number) => number(line)?.to_le_bytes().into(),
    })
}

/// A size within a page or the footer, of which the format wants an `i32`.
fn int(size: usize) -> i32 {
    i32::try_from(size).expect("a column of 10,000 runs is smaller than 2 GiB")
}
