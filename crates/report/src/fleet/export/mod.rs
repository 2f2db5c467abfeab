//! The figures that saved runs add to a fleet as one table, for other programs: a line for each
//! run, cell and end. Full precision, no units in the cells, nothing where a value is missing.

mod columns;
#[cfg(feature = "parquet")]
mod parquet;

use crate::csv::text;
use columns::{Line, Value, columns, lines};
use zc_analysis::fleet::{Grouping, RunFigures};

/// The table as CSV, with its heading.
pub fn csv(runs: &[RunFigures], grouping: &Grouping) -> String {
    let columns = columns(grouping);
    let heading = columns.iter().map(|column| column.name.clone()).collect();
    let cells = |line: Line| columns.iter().map(|column| cell(&column.value, &line)).collect();
    let lines = runs.iter().flat_map(|run| lines(run, grouping)).map(cells);
    text([heading].into_iter().chain(lines).collect())
}

fn cell(value: &Value, line: &Line) -> String {
    match value {
        Value::Text(text) => text(line),
        Value::Time(time) => time(line).to_owned(),
        Value::Flag(flag) => flag(line).to_string(),
        Value::Count(count) => count(line).to_string(),
        Value::Number(number) => number(line).map_or_else(String::new, |number| number.to_string()),
    }
}

/// The table as a file of Apache Parquet.
#[cfg(feature = "parquet")]
pub fn parquet(runs: &[RunFigures], grouping: &Grouping) -> zc_run::Result<Vec<u8>> {
    Ok(parquet::file(runs, grouping))
}

/// The table as a file of Apache Parquet.
///
/// # Errors
/// [`ErrorKind::Unsupported`](zc_run::ErrorKind): this zc was built without it.
#[cfg(not(feature = "parquet"))]
pub fn parquet(_runs: &[RunFigures], _grouping: &Grouping) -> zc_run::Result<Vec<u8>> {
    Err(zc_run::Error::unsupported("built-without-parquet", "this zc was built without Parquet")
        .help(
            "packages have it, and cargo install --locked --path crates/zc --features parquet; CSV \
         needs no feature",
        ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use zc_analysis::fleet::{CellFigures, HostFacts, Logarithm};

    fn host(name: &str) -> Arc<HostFacts> {
        let facts = [("kernel", "6.12.1"), ("cpu", "EPYC, \"9654\"")];
        let facts = facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Arc::new(HostFacts { host: name.to_owned(), facts })
    }

    /// Content of a Parquet file, in the form of the CSV.
    #[cfg(feature = "parquet")]
    fn parquet_as_csv(file: &[u8]) -> String {
        use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
        use ::parquet::record::{Field, Row};
        use std::io::Write as _;

        let file = {
            let mut stored = tempfile::tempfile().unwrap();
            stored.write_all(file).unwrap();
            SerializedFileReader::new(stored).unwrap()
        };
        let fields = file.metadata().file_metadata().schema_descr().columns().to_vec();
        let heading = fields.iter().map(|field| field.name().to_owned()).collect();
        let cell = |(_, value): (&String, &Field)| match value {
            Field::Null => String::new(),
            Field::Str(text) => text.clone(),
            Field::TimestampMicros(time) => {
                jiff::Timestamp::from_microsecond(*time).unwrap().to_string()
            }
            Field::Double(number) => number.to_string(),
            other => other.to_string(),
        };
        let row = |row: Result<Row, _>| row.unwrap().get_column_iter().map(cell).collect();
        text([heading].into_iter().chain(file.get_row_iter(None).unwrap().map(row)).collect())
    }

    #[test]
    fn a_line_for_each_run_cell_and_end() {
        let ln = |value: f64, error: f64| Some(Logarithm { ln: value.ln(), error });
        let cell = |label: &str, ratio| CellFigures {
            label: label.to_owned(),
            sender: ln(256.0, 0.5),
            receiver: ln(128.0, 0.25),
            both: ln(384.0, 0.25),
            ratio,
        };
        let run = RunFigures {
            name: "2026-11-24/a.json".to_owned(),
            started_at: "2026-11-24T01:02:03Z".to_owned(),
            zc_version: "0.2.0".to_owned(),
            experiment: "paths".to_owned(),
            link: "remote".to_owned(),
            reference: "read+send".to_owned(),
            near: host("n1"),
            far: Some(host("n2")),
            blocks_kept: 9,
            blocks: 10,
            is_whole: true,
            withheld: vec!["busy-machine".to_owned()],
            cells: vec![cell("read+send", None), cell("sendfile", ln(0.5, 0.125))],
        };
        let mut alone = run.clone();
        alone.far = None;
        alone.cells = vec![CellFigures { sender: None, receiver: None, ..cell("sendfile", None) }];
        let features = [("generation", "gen1"), ("kernel", "6.12 \u{1b}[31mred")];
        let features = features.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let grouping = Grouping { by: Vec::new(), features: [("n1".to_owned(), features)].into() };
        let runs = [run, alone];
        insta::assert_snapshot!(csv(&runs, &grouping));
        #[cfg(feature = "parquet")]
        assert_eq!(parquet_as_csv(&parquet(&runs, &grouping).unwrap()), csv(&runs, &grouping));
    }
}
