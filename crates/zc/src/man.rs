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
    for (name, each) in family(&command, "zc") {
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
        more(&each, &name).to_writer(&mut text)?;
        pages.push((page.get_filename(), text));
    }
    Ok(pages)
}

/// A command with its whole name, its subcommands, and theirs.
fn family(command: &Command, name: &str) -> Vec<(String, Command)> {
    let commands = command.get_subcommands().filter(|each| each.get_name() != "help");
    let nested = commands.flat_map(|each| family(each, &format!("{name} {}", each.get_name())));
    [(name.to_owned(), command.clone())].into_iter().chain(nested).collect()
}

/// The sections that clap does not make.
fn more(command: &Command, name: &str) -> Roff {
    let mut page = Roff::new();
    let examples = examples::for_command(name);
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
    page.text([bold(see_also(name))]);
    page
}

fn see_also(name: &str) -> &'static str {
    match name {
        "zc" => "zc-run(1), zc-show(1), zc-report(1), zc-compare(1), zc-soak(1), zc-doctor(1)",
        "zc run" => {
            "zc-plan(1), zc-show(1), zc-report(1), zc-doctor(1), tcp(7), sendfile(2), splice(2)"
        }
        "zc profile" => "zc-run(1), zc-show(1), perf_event_open(2)",
        "zc compare" => "zc-run(1), zc-calibrate(1), zc-report(1)",
        "zc calibrate" => "zc-run(1), zc-compare(1)",
        "zc soak" => "zc-run(1), sched(7), getrusage(2), proc_stat(5)",
        "zc zcs" | "zc zcc" | "zc cyclesoak" | "zc run-rr" | "zc ttcp" => {
            "zc-install-classic(1), zc-run(1)"
        }
        _ => "zc(1), zc-run(1)",
    }
}
