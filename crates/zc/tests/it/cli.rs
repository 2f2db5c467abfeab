//! The binary from outside: an error in arguments or files is one sentence and a hint on stderr,
//! nothing on stdout, and the exit code of docs/exit-codes.md. Nothing here measures.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use zc_run::Factor;
use zc_run::factor::FactorOption;

use crate::support::{Bounded as _, ZC, refused, saved_run, stderr, zc_in as command};

/// Runs `zc` in an empty folder of its own.
fn zc(args: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    zc_in(folder.path(), args)
}

fn zc_in(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).finish().unwrap()
}

#[track_caller]
fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn with_file(name: &str, bytes: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), bytes).unwrap();
    folder
}

#[test]
fn zc_alone_prints_the_short_help_as_zc_help_does() {
    let alone = printed(&zc(&[]));
    assert!(
        alone.contains("Usage: zc [OPTIONS] <COMMAND>") && !alone.contains("Examples:"),
        "{alone}"
    );
    assert!(printed(&zc(&["help", "run"])).contains("Examples:"));
}

#[test]
fn cpus_that_do_not_exist_are_refused() {
    let first = zc_kernel::sched::allowed_cpus().unwrap()[0];
    let output = zc(&["run", "--link", "loopback", "--cpus", &format!("{first},60000")]);
    assert_eq!(refused(&output, 2), "no-such-cpu");
    assert!(stderr(&output).contains("60000"), "{}", stderr(&output));
}

#[test]
fn control_characters_in_arguments_do_not_reach_the_terminal() {
    for args in [&["run", "--paths", "a\u{1b}[2Jb"][..], &["show", "a\u{1b}[2Jb\n"], &["\u{1b}c"]] {
        let output = zc(args);
        assert!(!output.stderr.contains(&0x1b), "{args:?}");
    }
}

#[test]
fn help_and_version_are_exit_code_0_on_stdout() {
    for args in [
        &["--help"][..],
        &["-h"],
        &["run", "--help"],
        &["run", "-h"],
        &["show", "--help"],
        &["doctor", "--help"],
    ] {
        assert!(printed(&zc(args)).contains("Usage: zc"), "{args:?}");
    }
    assert_eq!(printed(&zc(&["--version"])), format!("zc {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_verbose_version_says_which_build_this_is_and_what_it_works_with() {
    let text = printed(&zc(&["--version", "--verbose"]));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(format!("zc {}", env!("CARGO_PKG_VERSION")).as_str()));
    let facts: Vec<(&str, &str)> = lines.map(|line| line.split_once(": ").unwrap()).collect();
    let keys: Vec<&str> = facts.iter().map(|(key, _)| *key).collect();
    assert_eq!(
        keys.join(", "),
        "commit, target, linked, profile, features, compiler, saved runs, control protocol"
    );
    for (key, expected) in [
        ("target", format!("{}-unknown-linux-", std::env::consts::ARCH)),
        ("profile", if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned()),
        ("compiler", "rustc 1.".to_owned()),
        ("saved runs", format!("writes {}.{}, reads ", zc_run::MAJOR, zc_run::MINOR)),
    ] {
        let (_, fact) = facts.iter().find(|(found, _)| *found == key).unwrap();
        assert!(fact.starts_with(&expected), "{key}: {fact}");
    }
    for words in [&["--verbose", "--version"][..], &["-V", "-v"], &["-v", "-V"], &["-vV"], &["-Vv"]]
    {
        assert_eq!(printed(&zc(words)), text, "{words:?}");
    }
}

#[test]
fn a_saved_run_is_shown_in_every_format() {
    let folder = with_file("run.json", saved_run().as_bytes());
    let table = printed(&zc_in(folder.path(), &["show", "run.json"]));
    assert!(table.contains("read+send") && table.contains("A/A control"), "{table}");
    let json: serde_json::Value =
        serde_json::from_str(&printed(&zc_in(folder.path(), &["show", "run.json", "--json"])))
            .unwrap();
    assert_eq!(json["run"]["blocks"], 5);
    assert!(
        printed(&zc_in(folder.path(), &["show", "run.json", "--csv"]))
            .starts_with("path,recv,status,")
    );
    assert!(
        printed(&zc_in(folder.path(), &["show", "run.json", "--markdown"])).starts_with("## zc ")
    );
}

#[test]
fn a_truncated_run_is_shown_as_far_as_it_goes_with_a_warning() {
    let text = saved_run();
    let cut = text.len() * 3 / 5;
    let folder = with_file("cut.json", &text.as_bytes()[..cut]);
    let output = zc_in(folder.path(), &["show", "cut.json"]);
    assert!(printed(&output).contains("read+send"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.starts_with("warning: file \"cut.json\" is cut off: what is shown rests on the "),
        "{stderr}"
    );
}

#[test]
fn a_run_cut_anywhere_is_shown_or_refused_but_never_a_panic() {
    let text = saved_run();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.json");
    for part in 0..40 {
        let mut cut = text.len() * part / 40;
        while !text.is_char_boundary(cut) {
            cut += 1;
        }
        std::fs::write(&path, &text[..cut]).unwrap();
        let output = zc_in(folder.path(), &["show", "cut.json"]);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{cut}: {:?}", output.status);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
    }
}

#[test]
fn what_is_no_run_is_exit_code_3_and_named() {
    let future = saved_run().replacen("{\"zc_run\":4,", "{\"zc_run\":99,", 1);
    let run = saved_run();
    let (head, in_a_string) = (&run[..200], &run[..run.find("paths").unwrap() + 2]);
    for (bytes, id) in [
        (&b"\x00\xff\xfe\x80"[..], "not-a-run"),
        (b"{\"a\": 1}", "not-a-run"),
        (b"[]", "not-a-run"),
        (future.as_bytes(), "run-format"),
        (head.as_bytes(), "run-cut-off"),
        (in_a_string.as_bytes(), "run-cut-off"),
    ] {
        let folder = with_file("x.json", bytes);
        let output = zc_in(folder.path(), &["show", "x.json"]);
        assert_eq!(refused(&output, 3), id);
        assert!(stderr(&output).contains("\"x.json\""), "{}", stderr(&output));
    }
}

#[test]
fn a_fifo_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("fifo"), 0o600.into()).unwrap();
    assert_eq!(refused(&zc_in(folder.path(), &["show", "fifo"]), 3), "cannot-read");
}

/// A command as a user without privileges. `None`, with a line on stderr, if that is not possible.
fn as_nobody(folder: &Path, args: &[&str]) -> Option<Output> {
    let mut command = command(folder, args);
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534);
        match command.finish() {
            Ok(output) => return Some(output),
            Err(error) => {
                eprintln!("skipped: the binary cannot be run as another user here: {error}");
                return None;
            }
        }
    }
    Some(command.finish().unwrap())
}

#[test]
fn a_run_that_may_not_be_read_is_exit_code_3() {
    let folder = with_file("secret.json", saved_run().as_bytes());
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
    };
    set(folder.path(), 0o755);
    set(&folder.path().join("secret.json"), 0o000);
    if let Some(output) = as_nobody(folder.path(), &["show", "secret.json"]) {
        assert_eq!(refused(&output, 3), "cannot-read");
    }
}

#[test]
fn a_program_with_its_owner_s_rights_is_refused() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: needs root, to give the rights of root away");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("zc");
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
    };
    set(folder.path(), 0o755);
    std::fs::copy(ZC, &program).unwrap();
    for mode in [0o4755, 0o2755] {
        set(&program, mode);
        let mut command = Command::new(&program);
        let output = command.arg("doctor").uid(65_534).gid(65_534).finish().unwrap();
        // 12: the machine is not fit to measure.
        if matches!(output.status.code(), Some(0 | 12)) {
            eprintln!("skipped: the file system of the temporary folder has no set-user-ID");
            return;
        }
        assert_eq!(refused(&output, 4), "rights-of-file");
    }
    set(&program, 0o755);
}

#[test]
fn an_output_file_that_exists_is_not_written_over() {
    let folder = with_file("run.json", b"precious");
    let output = zc_in(folder.path(), &["run", "--out", "run.json"]);
    assert_eq!(refused(&output, 5), "file-exists");
    assert_eq!(std::fs::read(folder.path().join("run.json")).unwrap(), b"precious");
}

#[test]
fn a_folder_that_may_not_be_written_is_an_error_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    if let Some(output) = as_nobody(folder.path(), &["run"]) {
        assert_eq!(refused(&output, 5), "cannot-save-run");
        assert!(stderr(&output).contains("--out"));
    }
    // A read-only file system refuses root too.
    let sys = Path::new("/sys/kernel");
    if sys.is_dir() {
        let output = zc(&["run", "--out", "/sys/kernel/run.json"]);
        // Whether the folder may be written is seen in advance, but for root.
        let id = refused(&output, 5);
        assert!(["cannot-save-run", "cannot-create-file"].contains(&&*id), "{id}");
        assert!(stderr(&output).contains("/sys/kernel"), "{}", stderr(&output));
    } else {
        eprintln!("skipped: no /sys");
    }
}

#[test]
fn files_that_cannot_be_sent_are_exit_code_3_and_leave_nothing_behind() {
    let folder = with_file("empty", b"");
    rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("fifo"), 0o600.into()).unwrap();
    std::fs::create_dir(folder.path().join("dir")).unwrap();
    for (file, id) in [
        ("missing", "no-such-file"),
        ("empty", "file-empty"),
        ("fifo", "not-a-regular-file"),
        ("dir", "is-a-directory"),
    ] {
        let output =
            zc_in(folder.path(), &["run", "--link", "loopback", "--budget", "5s", "--files", file]);
        assert_eq!(refused(&output, 3), id);
        assert!(stderr(&output).contains(&format!("\"{file}\"")), "{}", stderr(&output));
        let left: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left.len(), 3, "{left:?}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = with_file("run.json", saved_run().as_bytes());
    for args in [&["show", "run.json"][..], &["show", "run.json", "--json"], &["run", "--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let zc =
            command(folder.path(), args).stdout(writer).stderr(Stdio::piped()).start().unwrap();
        let output = zc.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}

#[test]
fn a_full_disk_behind_stdout_is_exit_code_5() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        eprintln!("skipped: no /dev/full");
        return;
    };
    let folder = with_file("run.json", saved_run().as_bytes());
    let zc = command(folder.path(), &["show", "run.json"])
        .stdout(full)
        .stderr(Stdio::piped())
        .start()
        .unwrap();
    let output = zc.wait_with_output().unwrap();
    assert_eq!(refused(&output, 5), "cannot-write-stdout");
}

#[test]
fn where_no_thread_can_be_had_runs_are_read_and_the_rest_is_a_sentence() {
    if zc_kernel::process::euid() == 0 {
        return eprintln!("skipped: root has no limit of threads");
    }
    let folder = with_file("run.json", saved_run().as_bytes());
    let alone = |args: &[&str]| {
        let mut prlimit = Command::new("prlimit");
        prlimit.args(["--nproc=1", ZC]).args(args).current_dir(folder.path());
        prlimit.stdin(Stdio::null()).finish()
    };
    let Ok(shown) = alone(&["show", "run.json"]) else {
        return eprintln!("skipped: there is no prlimit(1) here");
    };
    assert!(printed(&shown).contains("sendfile"));
    assert!(printed(&alone(&["report", "run.json", "--csv"]).unwrap()).lines().count() > 3);
    for args in [&["run", "--link", "loopback", "--out", "new.json"][..], &["doctor"]] {
        let output = alone(args).unwrap();
        let said = stderr(&output);
        assert!(!said.contains("panicked"), "{args:?}: {said}");
        assert!(output.status.success() || said.contains("error: "), "{args:?}: {said}");
    }
}

#[test]
fn the_doctor_s_exit_code_is_its_finding() {
    let output = zc(&["doctor", "--json"]);
    let Ok(document) = serde_json::from_slice::<serde_json::Value>(&output.stdout) else {
        // Where nothing can be set up there is no finding, and a sentence.
        assert!(stderr(&output).starts_with("error: "), "{}", stderr(&output));
        return eprintln!("skipped: {}", stderr(&output));
    };
    crate::format::is_as_described("doctor", &document);
    let is_unfit = document["fitness"] == "unfit";
    assert_eq!(output.status.code(), Some(if is_unfit { 12 } else { 0 }), "{document}");
    let withholds = |warning: &serde_json::Value| warning["severity"] == "withhold";
    assert_eq!(document["warnings"].as_array().unwrap().iter().any(withholds), is_unfit);
    assert!(document["available"].as_array().unwrap().iter().any(|row| row["name"] == "sendfile"));
}

#[test]
fn the_table_fits_the_columns_it_is_given() {
    let folder = with_file("run.json", saved_run().as_bytes());
    let show = |args: &[&str]| {
        let mut show = command(folder.path(), &[&["show", "run.json"], args].concat());
        show.env_remove("COLUMNS");
        show
    };
    for columns in ["72", "80", "100", "120"] {
        let most = columns.parse::<usize>().unwrap();
        let table = printed(&show(&[]).env("COLUMNS", columns).finish().unwrap());
        assert_eq!(printed(&show(&["--columns", columns]).finish().unwrap()), table);
        // A mail has room for no more.
        assert!(most != 72 || printed(&show(&[]).finish().unwrap()) == table, "{table}");
        assert!(table.contains("read+send"), "{table}");
        for line in table.lines() {
            assert!(line.chars().count() <= most, "{columns}: {line}");
        }
    }
}

/// The man pages and the completions, in a folder of their own.
fn generated() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for what in ["man", "completions"] {
        assert_eq!(printed(&zc_in(folder.path(), &["generate", what, "."])), "");
    }
    folder
}

/// The options of all factors.
fn factor_options() -> Vec<FactorOption> {
    Factor::ALL.iter().filter_map(|factor| factor.definition().option()).collect()
}

/// The paragraphs of a help: the heading above an option, where there is one, and the rest.
fn paragraphs(help: &str) -> impl Iterator<Item = (&str, &str)> {
    help.split("\n\n").map(|paragraph| {
        paragraph.split_at(paragraph.find(":\n      -").map_or(0, |colon| colon + 2))
    })
}

/// A help without the options of factors, whose texts are in the factors' own files.
fn without_factors(help: &str) -> String {
    let of_factor = |text: &str| {
        let option = text.trim_start().split(' ').next().unwrap_or_default();
        factor_options().iter().any(|factor| option == format!("--{}", factor.long))
    };
    let kept = paragraphs(help).filter_map(|(heading, text)| match of_factor(text) {
        true => (!heading.is_empty()).then(|| heading.trim_end().to_owned()),
        false => Some(format!("{heading}{text}")),
    });
    kept.collect::<Vec<_>>().join("\n\n")
}

#[test]
fn generated_schemas_are_those_that_zc_schema_prints() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(printed(&zc_in(folder.path(), &["generate", "schema", "."])), "");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 12);
    let of_runs = ["run", "show", "compare", "calibrate", "http", "advise", "tune", "service"];
    for name in of_runs.into_iter().chain(["fleet", "trend", "doctor", "kernels"]) {
        let path = folder.path().join(format!("zc-{name}.schema.json"));
        assert_eq!(std::fs::read_to_string(path).unwrap(), printed(&zc(&["schema", name])));
    }
}

#[test]
fn man_pages_change_only_on_purpose() {
    let folder = generated();
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    insta::assert_snapshot!("generated_files", names.join("\n"));
    let read = |name| {
        let page = std::fs::read_to_string(folder.path().join(name)).unwrap();
        page.replace(env!("CARGO_PKG_VERSION"), "VERSION")
    };
    insta::assert_snapshot!("zc.1", read("zc.1"));
    // The options are in the snapshot of the help.
    let page = read("zc-run.1");
    let (synopsis, description) = (page.find(".SH SYNOPSIS"), page.find(".SH DESCRIPTION"));
    let (options, examples) = (page.find(".SH OPTIONS"), page.find(".SH EXAMPLES"));
    let sections = [
        &page[..synopsis.unwrap()],
        &page[description.unwrap()..options.unwrap()],
        &page[examples.unwrap()..],
    ];
    insta::assert_snapshot!("zc-run.1", sections.concat());
}

#[test]
fn the_help_of_every_command_changes_only_on_purpose() {
    for args in [
        &["--help"][..],
        &["run", "--help"],
        &["run", "server", "--help"],
        &["run", "nfs", "--help"],
        &["run", "memory", "--help"],
        &["show", "--help"],
        &["soak", "--help"],
        &["doctor", "--help"],
    ] {
        insta::assert_snapshot!(
            format!("help_{}", args.join("_").replace("--", "")),
            without_factors(&printed(&zc(args)))
        );
    }
}

#[test]
fn the_help_of_an_experiment_has_its_own_options_first_and_none_that_it_refuses() {
    for (name, first, also, refused) in [
        ("server", "--state", "--budget", "--nfs-file"),
        ("nfs", "--nfs-server", "--files", "--state"),
        ("memory", "--with", "--seed", "--paths"),
        ("requests", "--responses", "--paths", "--state"),
        ("replay", "--log", "--rate", "--like"),
        ("sizes", "--files", "--log", "--vers"),
    ] {
        let help = printed(&zc(&["run", name, "--help"]));
        let options: Vec<&str> = paragraphs(&help)
            .filter_map(|(_, text)| text.trim_start().split(' ').next())
            .filter(|word| word.starts_with("--"))
            .collect();
        assert_eq!(options.first(), Some(&first), "{name}: {help}");
        assert!(options.contains(&also), "{name}: {also}: {help}");
        assert!(!options.contains(&refused), "{name}: {refused}: {help}");
        assert!(help.contains(&format!("Usage: zc run {name} [OPTIONS]")), "{help}");
        let place = help.lines().position(|line| line.trim_start().starts_with(first));
        assert!(place.is_some_and(|place| place < 20), "{name}: {help}");
    }
}

#[test]
fn every_option_of_run_is_in_its_man_page_with_its_help() {
    let folder = generated();
    let page = std::fs::read_to_string(folder.path().join("zc-run.1")).unwrap();
    let roff = [("\\-", "-"), ("\\*(Aq", "'"), ("\\fB", ""), ("\\fI", ""), ("\\fR", "")];
    let page = roff.iter().fold(page, |page, (code, text)| page.replace(code, text));
    let (page, help) = (spaced(&page), printed(&zc(&["run", "--help"])));
    let options: Vec<String> = paragraphs(&help)
        .map(|(_, text)| spaced(text))
        .filter(|text| text.starts_with('-'))
        .collect();
    assert!(options.len() > 30, "{options:#?}");
    for option in options {
        assert!(page.contains(&format!(".TP {option}")), "{option}\n{page}");
    }
}

#[test]
fn every_factor_s_option_is_in_help_and_completions() {
    let folder = generated();
    let help = spaced(&printed(&zc(&["run", "--help"])));
    let shells = [("zc.bash", "--"), ("_zc", "--"), ("zc.fish", "-l ")].map(|(name, dashes)| {
        (name, std::fs::read_to_string(folder.path().join(name)).unwrap(), dashes)
    });
    for (name, text, _) in &shells {
        assert!(text.contains("doctor") && !text.contains("internal"), "{name}");
    }
    let options = factor_options();
    assert!(options.len() > 10);
    for FactorOption { long, value_name, help: text, .. } in options {
        let shown = format!("--{long} <{value_name}> {text}");
        assert!(help.contains(&shown), "{shown}\n{help}");
        for (name, text, dashes) in &shells {
            assert!(text.contains(&format!("{dashes}{long}")), "--{long} is not in {name}");
        }
    }
}

/// The text with one space between words.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_exit_code_is_documented() {
    use zc_run::ErrorKind;
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/exit-codes.md");
    let text = std::fs::read_to_string(page).unwrap();
    for kind in ErrorKind::ALL {
        assert!(text.contains(&format!("| {} |", kind.exit_code())), "{kind:?}");
    }
}
