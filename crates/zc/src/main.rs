//! The binary `zc`: everything is in the library, so that benches and tests reach it too.

use std::process::ExitCode;

fn main() -> ExitCode {
    zc_tools::cli::main()
}
