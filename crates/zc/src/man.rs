//! Man pages: clap's sections, and those that clap does not make (EXAMPLES, EXIT STATUS, FILES, SEE
//! ALSO).

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use zc_run::ErrorKind;

use super::examples;

/// A page for the program and one for each of its commands, by the names of their files.
///
/// # Errors
/// None: clap writes to memory.
pub(super) fn pages(mut command: Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    command.build();
    let mut pages = Vec::new();
    for each in family(&command) {
        // clap_mangen prints no text for an option that the short help leaves out.
        let shown = each.clone().mut_args(|arg| arg.hide_short_help(false));
        let page = Man::new(shown).manual("zc");
        let mut text = Vec::new();
        page.render_title(&mut text)?;
        page.render_name_section(&mut text)?;
        page.render_synopsis_section(&mut text)?;
        page.render_description_section(&mut text)?;
        page.render_options_section(&mut text)?;
        if each.has_subcommands() {
            page.render_subcommands_section(&mut text)?;
        }
        more(&each).to_writer(&mut text)?;
        pages.push((page.get_filename(), text));
    }
    Ok(pages)
}

/// A command, its subcommands, and theirs.
fn family(command: &Command) -> Vec<Command> {
    let commands = command.get_subcommands().filter(|each| each.get_name() != "help");
    [vec![command.clone()], commands.flat_map(family).collect()].concat()
}

/// The sections that clap does not make.
fn more(command: &Command) -> Roff {
    let mut page = Roff::new();
    // A command of a subcommand may be called as another one is, and has none.
    let is_nested = command.get_display_name().is_some_and(|name| name.matches('-').count() > 1);
    let examples = if is_nested { &[] } else { examples::of(command.get_name()) };
    if !examples.is_empty() {
        page.control("SH", ["EXAMPLES"]);
        for (line, what) in examples {
            page.control("TP", []).text([bold(*line)]).text([roman(*what)]);
        }
    }
    page.control("SH", ["EXIT STATUS"]);
    page.control("TP", []).text([bold("0")]).text([roman("Success.")]);
    for kind in ErrorKind::ALL {
        page.control("TP", [])
            .text([bold(kind.exit_code().to_string())])
            .text([roman(kind.summary())]);
    }
    if command.get_name() == "soak" {
        page.control("PP", []).text([roman(
            "Around a command: the command's own exit code; 125 if zc failed, 126 if the command \
             cannot be run, 127 if it does not exist.",
        )]);
    }
    page.control("SH", ["FILES"]);
    page.control("TP", []).text([bold("zc-DATE.jsonl.gz")]).text([roman(
        "A saved run in the current folder, written after every block of measurements; \
         docs/format.md describes it.",
    )]);
    page.control("SH", ["SEE ALSO"]);
    page.text([bold(see_also(command))]);
    page
}

fn see_also(command: &Command) -> &'static str {
    match command.get_name() {
        "zc" => "zc-run(1), zc-show(1), zc-report(1), zc-compare(1), zc-soak(1), zc-doctor(1)",
        "run" => {
            "zc-plan(1), zc-show(1), zc-report(1), zc-doctor(1), tcp(7), sendfile(2), splice(2)"
        }
        "profile" => "zc-run(1), zc-show(1), perf_event_open(2)",
        "compare" => "zc-run(1), zc-calibrate(1), zc-report(1)",
        "calibrate" => "zc-run(1), zc-compare(1)",
        "soak" => "zc-run(1), sched(7), getrusage(2), proc_stat(5)",
        "zcs" | "zcc" | "cyclesoak" | "run-rr" | "ttcp" => "zc-install-classic(1), zc-run(1)",
        _ => "zc(1), zc-run(1)",
    }
}
