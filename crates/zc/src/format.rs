//! The form in which a result is written, and the options that choose it.

use clap::Args;

/// The form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// For people, as wide as the terminal.
    Table,
    /// One JSON document.
    Json,
    /// One line per cell.
    Csv,
    /// For an issue, a page or a mailing list.
    Markdown,
    /// A self-contained HTML page.
    Html,
    /// For collectors of metrics.
    OpenMetrics,
    /// A few lines, for a patch.
    CommitMessage,
}

impl From<FormatArgs> for Format {
    fn from(args: FormatArgs) -> Self {
        match args {
            FormatArgs { json: true, .. } => Self::Json,
            FormatArgs { csv: true, .. } => Self::Csv,
            FormatArgs { markdown: true, .. } => Self::Markdown,
            FormatArgs { commit_message: true, .. } => Self::CommitMessage,
            _ => Self::Table,
        }
    }
}

impl From<ReportFormatArgs> for Format {
    fn from(args: ReportFormatArgs) -> Self {
        match args {
            ReportFormatArgs { markdown: true, .. } => Self::Markdown,
            ReportFormatArgs { csv: true, .. } => Self::Csv,
            ReportFormatArgs { json: true, .. } => Self::Json,
            ReportFormatArgs { openmetrics: true, .. } => Self::OpenMetrics,
            _ => Self::Html,
        }
    }
}

/// The width of text for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub(super) struct WidthArgs {
    /// Longest line of text and Markdown, as far as possible, 40 to 1000 [default: of text the
    /// terminal's width; otherwise COLUMNS, or 72]
    #[arg(
        long,
        value_name = "N",
        help_heading = "Output",
        value_parser = clap::value_parser!(u16).range(40..=1000),
    )]
    pub(super) columns: Option<u16>,
}

/// How the result is written to stdout: at most one form, by default the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub(super) struct FormatArgs {
    /// Print all tables and notes, not only the most important
    #[arg(short, long, help_heading = "Output")]
    pub(super) verbose: bool,
    /// Print one JSON document instead of the table
    #[arg(long, help_heading = "Output", conflicts_with_all = ["csv", "markdown"])]
    pub(super) json: bool,
    /// Print CSV instead of the table, one line per path
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "markdown"])]
    pub(super) csv: bool,
    /// Print Markdown instead of the table
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "csv"])]
    pub(super) markdown: bool,
    /// Print at most eight lines of 72 columns in ASCII, for the message of a commit
    #[arg(long, help_heading = "Output", conflicts_with_all = ["json", "csv", "markdown"])]
    pub(super) commit_message: bool,
    #[command(flatten)]
    pub(super) width: WidthArgs,
}

/// The form of a report: at most one, by default HTML.
#[derive(Debug, Clone, Copy, Default, Args)]
#[group(multiple = false)]
pub(super) struct ReportFormatArgs {
    /// Write a self-contained HTML page; the default
    #[arg(long, help_heading = "Output")]
    pub(super) html: bool,
    /// Write Markdown in 72 columns, for a pull request or a mailing list
    #[arg(long, help_heading = "Output")]
    pub(super) markdown: bool,
    /// Write CSV, one line per path
    #[arg(long, help_heading = "Output")]
    pub(super) csv: bool,
    /// Write one JSON document
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    /// Write OpenMetrics text, for collectors of metrics
    #[arg(long, help_heading = "Output")]
    pub(super) openmetrics: bool,
}
