//! cli
/// The program.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
