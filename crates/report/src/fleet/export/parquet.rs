//! The table as Apache Parquet, for tables that span years: columns have types, and are read
//! separately. <https://parquet.apache.org/docs/file-format/>

use std::sync::Arc;

use super::columns::{Column, Line, Value, columns, lines};
use ::parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Stored};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::Result;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;
use zc_analysis::fleet::{Grouping, RunFigures};
use zc_run::escape;

/// Runs in a group of rows, which are held in memory until they are written.
const GROUP_RUNS: usize = 10_000;

/// The whole file.
pub(super) fn file(runs: &[RunFigures], grouping: &Grouping) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(runs, grouping, &mut bytes)
        .expect("a Vec takes every byte, and every value is of its column's type");
    bytes
}

fn write(runs: &[RunFigures], grouping: &Grouping, out: &mut Vec<u8>) -> Result<()> {
    let columns = columns(grouping);
    let fields = columns.iter().map(field).collect::<Result<_>>()?;
    let schema = Type::group_type_builder("zc").with_fields(fields).build()?;
    let by = concat!("zc ", env!("CARGO_PKG_VERSION")).to_owned();
    let properties = WriterProperties::builder().set_created_by(by).build();
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
    for runs in runs.chunks(GROUP_RUNS) {
        let lines: Vec<Line> = runs.iter().flat_map(|run| lines(run, grouping)).collect();
        let mut group = file.next_row_group()?;
        for column in &columns {
            write_column(&column.value, &lines, &mut group)?;
        }
        group.close()?;
    }
    file.close().map(drop)
}

/// A column's name and type. Each may have no value.
fn field(Column { name, value }: &Column) -> Result<Arc<Type>> {
    let (stored, logical) = match value {
        Value::Text(_) => (Stored::BYTE_ARRAY, Some(LogicalType::String)),
        Value::Time(_) => (Stored::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        Value::Flag(_) => (Stored::BOOLEAN, None),
        Value::Count(_) => (Stored::INT64, None),
        Value::Number(_) => (Stored::DOUBLE, None),
    };
    let field = Type::primitive_type_builder(name, stored).with_logical_type(logical);
    Ok(Arc::new(field.with_repetition(Repetition::OPTIONAL).build()?))
}

fn write_column(
    value: &Value,
    lines: &[Line],
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
) -> Result<()> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    match (column.untyped(), value) {
        (ColumnWriter::ByteArrayColumnWriter(writer), Value::Text(text)) => {
            let text = |line| Some(text(line)).filter(|text| !text.is_empty());
            let bytes = |text: String| ByteArray::from(escape(&text, usize::MAX).as_str());
            let (values, there) = split_missing(lines.iter().map(|line| text(line).map(bytes)));
            writer.write_batch(&values, Some(&there), None)?;
        }
        (ColumnWriter::Int64ColumnWriter(writer), Value::Time(time)) => {
            let (values, there) = split_missing(lines.iter().map(|line| microseconds(time(line))));
            writer.write_batch(&values, Some(&there), None)?;
        }
        (ColumnWriter::BoolColumnWriter(writer), Value::Flag(flag)) => {
            let (values, there) = split_missing(lines.iter().map(|line| Some(flag(line))));
            writer.write_batch(&values, Some(&there), None)?;
        }
        (ColumnWriter::Int64ColumnWriter(writer), Value::Count(count)) => {
            let (values, there) =
                split_missing(lines.iter().map(|line| i64::try_from(count(line)).ok()));
            writer.write_batch(&values, Some(&there), None)?;
        }
        (ColumnWriter::DoubleColumnWriter(writer), Value::Number(number)) => {
            let (values, there) = split_missing(lines.iter().map(number));
            writer.write_batch(&values, Some(&there), None)?;
        }
        _ => unreachable!("columns are written in the order of the schema, which is made of them"),
    }
    column.close()
}

/// The values that there are, and of each line whether it has one: a definition level, 0 or 1.
fn split_missing<T>(values: impl Iterator<Item = Option<T>>) -> (Vec<T>, Vec<i16>) {
    let mut there = Vec::new();
    let values = values.inspect(|value| there.push(i16::from(value.is_some()))).flatten().collect();
    (values, there)
}

/// Microseconds since 1970, UTC; `None` if `time` is not a time.
fn microseconds(time: &str) -> Option<i64> {
    time.parse().ok().map(jiff::Timestamp::as_microsecond)
}
