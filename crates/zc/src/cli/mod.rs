//! The command line: arguments in, exit code out.

mod units;

/// The program.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
