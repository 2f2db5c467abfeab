//! Tests of contrib/: the dashboard asks for metrics that exist, and the recipe for CI answers by
//! exit code. The recipe compares with the real program; only `zc run` is replaced, by a script
//! that hands out synthetic runs.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use zc_analysis::soak::{
    CountedBy, MeterTotals, PlusMinus, ServiceCost, ServiceInterrupts, ServicePer,
    ServiceProcesses, SharedBy, Unit,
};
use zc_report::soak::{MeterFigures, meter};
use zc_run::{
    MeterPeriod, Probe, Run, SendPath, ServiceTarget, Severity, SoakService, SoakStart, SoakerKind,
    SoakerRank, Support, SupportRow, Unavailable, Warning,
};
use zc_testkit::synthetic::TrueCell;

use crate::support::{Bounded as _, ZC, stderr, three_paths};

fn contrib(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib").join(file)
}

/// A run of three paths, one of which reports what the kernel copied; sendfile's costs times
/// `factor`.
fn run(seed: u64, factor: f64) -> Run {
    let zerocopy =
        TrueCell { copied_share: Some(0.0), ..TrueCell::new(SendPath::MsgZerocopy, 210.0, 390.0) };
    three_paths(seed, factor, zerocopy)
}

/// The names that begin with `zc_`, of everything in `text`.
fn metrics(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("zc_"))
        .collect()
}

#[test]
fn the_dashboard_asks_for_metrics_and_labels_that_exist() {
    let mut run = run(1, 1.0);
    run.header.unavailable.push(SupportRow {
        what: "send path".to_owned(),
        name: "uring-splice".to_owned(),
        support: Support::No(Unavailable::refused("io_uring is switched off")),
    });
    let mut server = zc_testkit::server::server(0.9);
    server.header.probes.push(Probe::TopSpeed { cell: "on".to_owned(), bytes_per_s: 1e9 });
    let (of_paths, of_server) = (zc_analysis::estimate(&run), zc_analysis::estimate(&server));
    let exposition =
        zc_report::openmetrics(&[(&run, &of_paths), (&server, &of_server)]) + &metered_service();
    let with_samples: BTreeSet<&str> =
        exposition.lines().filter_map(|line| line.split_once('{').map(|(name, _)| name)).collect();
    let text = std::fs::read_to_string(contrib("grafana/zc.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let mut queries: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(queries.len() > 20, "{}", queries.len());
    for metric in ["zc_request_cost_", "zc_service_cost_"] {
        assert!(queries.iter().any(|query| query.contains(metric)), "no panel of {metric}");
    }
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    queries.extend(variables.iter().filter_map(|each| each["query"]["query"].as_str()));
    for query in queries {
        // The name of a label is the text before `=`.
        let label = |part: &str| {
            let name = part.trim_end_matches('!').rsplit(['{', ',']).next().unwrap_or_default();
            name == "instance" || exposition.contains(&format!("{name}=\""))
        };
        let metrics = metrics(query);
        assert!(!metrics.is_empty(), "{query}");
        for name in &metrics {
            assert!(with_samples.contains(name), "\"{name}\" is not exposed: {query}");
        }
        for matcher in query.replace("==", "").replace("=~", "=").split('=').rev().skip(1) {
            assert!(label(matcher), "no such label: {matcher}");
        }
    }
}

/// What `zc soak --openmetrics` writes.
fn metered_service() -> String {
    let figure = |value| PlusMinus { value, half_width: Some(0.1 * value) };
    let seen = SoakService {
        target: ServiceTarget::Pid { pid: 7, name: "nginx".to_owned() },
        start: SoakStart {
            cpus: vec![0],
            soaker: SoakerKind::Alu,
            rank: SoakerRank::Autogroup,
            idle: Vec::new(),
            pace: Vec::new(),
            taken: None,
            emulated: false,
            cpu_quota: None,
            irq_time_accounting: None,
            thread_clock_step_ns: None,
        },
        windows: Vec::new(),
        no_sockets: None,
    };
    let per = |unit, by, cost_ns| ServicePer { unit, by, per_s: 1e3, cost_ns: figure(cost_ns) };
    let cost = ServiceCost {
        windows: 12,
        elapsed_s: 1.2,
        cpus: Some(figure(0.4)),
        withheld: None,
        processes: ServiceProcesses {
            cpus: figure(0.3),
            by_cgroup: false,
            clocks_cpus: 0.3,
            most: 2,
        },
        interrupts: Some(ServiceInterrupts {
            all_cpus: figure(0.2),
            cpus: 0.1,
            share: 0.5,
            by: SharedBy::Segments,
        }),
        soaked_cpus: None,
        others: None,
        stat_cpus: 0.4,
        per: vec![
            per(Unit::Requests, CountedBy::StubStatus, 4e4),
            per(Unit::Bytes, CountedBy::Sockets, 10.0),
        ],
    };
    let period = MeterPeriod {
        seen,
        dropped: 0,
        elapsed_ns: 60_000_000_000,
        soaked_ns: 0,
        soakers_cpu_ns: 0,
        zc_cpu_ns: 0,
        no_requests: None,
    };
    meter(&MeterFigures {
        target: &period.seen.target,
        last: Some((&period, Some(&cost))),
        is_metered: true,
        totals: &MeterTotals::default(),
        requests_by: "log",
        at_s: 1.0,
    })
}

#[test]
fn the_metrics_and_alerts_of_a_service_that_are_documented_are_those_that_it_has() {
    let exposition = metered_service();
    let page = std::fs::read_to_string(contrib("../docs/monitoring.md")).unwrap();
    let with_samples: BTreeSet<&str> =
        exposition.lines().filter_map(|line| line.split_once('{').map(|(name, _)| name)).collect();
    let of_service = |name: &&str| name.starts_with("zc_service") || name.starts_with("zc_meter");
    let told: BTreeSet<&str> = metrics(&page).into_iter().filter(of_service).collect();
    for name in &told {
        assert!(with_samples.contains(name), "\"{name}\" is not exposed");
    }
    let is_end = |name: &&str| name.contains("_low_") || name.contains("_high_");
    let missing: Vec<&&str> = with_samples.difference(&told).filter(|name| !is_end(name)).collect();
    assert!(missing.is_empty(), "not in docs/monitoring.md: {missing:?}");
}

/// A folder with the recipe's `zc`, and the runs that it hands out one after the other.
struct Recipe {
    folder: TempDir,
    handed_out: usize,
}

/// `zc run` copies the next of the prepared runs to the file of --out, or ends with the code that
/// is prepared instead.
const STAND_IN: &str = r#"#!/bin/sh
[ "$1" = run ] || exec "$ZC" "$@"
printf '%s\n' "$*" >> zc.log
number=$(($(cat number) + 1))
echo "$number" > number
[ ! -f "$number.code" ] || exit "$(cat "$number.code")"
while [ "$1" != --out ]; do shift; done
exec cp "$number.json" "$2"
"#;

impl Recipe {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let zc = folder.path().join("zc");
        std::fs::write(&zc, STAND_IN).unwrap();
        std::fs::set_permissions(&zc, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::write(folder.path().join("number"), "0").unwrap();
        Self { folder, handed_out: 0 }
    }

    fn then(&mut self, end: &str, text: &str) {
        self.handed_out += 1;
        let name = format!("{}.{end}", self.handed_out);
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn measures(mut self, run: &Run) -> Self {
        self.then("json", &zc_run::run_lines(run));
        self
    }

    fn ends_with(mut self, code: u8) -> Self {
        self.then("code", &code.to_string());
        self
    }

    fn compare(&self, args: &[&str]) -> Output {
        let mut script = Command::new("sh");
        script.arg(contrib("ci/zc-compare.sh")).args(["--zc", "./zc", "--out", "results"]);
        script.args(args).current_dir(self.folder.path()).stdin(Stdio::null()).env("ZC", ZC);
        for variable in ["GITHUB_ACTIONS", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
            script.env_remove(variable);
        }
        script.finish().unwrap()
    }

    /// The exit code and the word, of two runs of sendfile one after the other.
    fn answer(&self, args: &[&str]) -> (Option<i32>, String) {
        let states = ["--two-runs", "--cell", "sendfile", "--before", "true", "--after", "true"];
        let output = self.compare(&[&states, args].concat());
        (output.status.code(), self.read("results/answer").unwrap_or_else(|| stderr(&output)))
    }

    fn read(&self, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.folder.path().join(name)).ok()?;
        Some(text.trim_end().to_owned())
    }
}

fn is(code: i32, word: &str) -> (Option<i32>, String) {
    (Some(code), word.to_owned())
}

#[test]
fn the_recipe_is_red_only_for_what_two_measurements_say() {
    let (old, same, worse) = (run(1, 1.0), run(2, 1.0), run(3, 1.5));
    let recipe = Recipe::new().measures(&old).measures(&same);
    assert_eq!(recipe.answer(&[]), is(0, "not-worse"));
    let once = recipe.read("zc.log").unwrap();
    assert_eq!(once.lines().count(), 2, "{once}");
    assert!(recipe.read("results/first/compare.html").unwrap().contains("sendfile"));
    assert!(recipe.read("results/first/report.html").unwrap().contains("<svg"));

    // The second time the state after is measured first.
    let recipe =
        Recipe::new().measures(&old).measures(&worse).measures(&run(4, 1.5)).measures(&same);
    assert_eq!(recipe.answer(&[]), is(1, "worse"));
    let log = recipe.read("zc.log").unwrap();
    let written: Vec<&str> =
        log.lines().filter_map(|line| line.split("--out ").nth(1)?.rsplit('/').next()).collect();
    assert_eq!(written, ["before.json", "after.json", "after.json", "before.json"]);
    assert!(log.lines().nth(1).unwrap().contains("--like "), "{log}");

    let recipe = Recipe::new().measures(&old).measures(&worse).measures(&same).measures(&old);
    assert_eq!(recipe.answer(&[]), is(10, "not-confirmed"));
    let recipe = Recipe::new().measures(&old).measures(&worse).ends_with(13);
    assert_eq!(recipe.answer(&["--tolerant"]), is(0, "not-confirmed"));
    let recipe = Recipe::new().measures(&old).measures(&worse);
    assert_eq!(recipe.answer(&["--once"]), is(1, "worse"));
}

#[test]
fn where_a_machine_cannot_tell_the_recipe_says_so_by_its_exit_code() {
    let withheld = |mut run: Run| {
        run.header.warnings.push(Warning::new(
            "planted",
            Severity::Withhold,
            "something was wrong",
        ));
        run
    };
    let (old, slightly) = (run(1, 1.0), run(2, 1.1));
    let undecided = || Recipe::new().measures(&old).measures(&slightly);
    assert_eq!(undecided().answer(&["--margin", "10%"]), is(10, "undecided"));
    assert_eq!(undecided().answer(&["--margin", "10%", "--tolerant"]), is(0, "undecided"));
    assert_eq!(undecided().answer(&["--margin", "10%", "--bisect"]), is(125, "undecided"));
    let no_word = || Recipe::new().measures(&old).measures(&withheld(run(3, 1.5)));
    assert_eq!(no_word().answer(&[]), is(12, "withheld"));
    assert_eq!(no_word().answer(&["--tolerant"]), is(0, "withheld"));
    let starved = || Recipe::new().measures(&old).ends_with(13);
    assert_eq!(starved().answer(&[]), is(13, "nothing-kept"));
    assert_eq!(starved().answer(&["--bisect"]), is(125, "nothing-kept"));
    // What fails to build or to run is skipped, too, and what is worse or not is told.
    let (code, word) = Recipe::new().ends_with(4).answer(&["--bisect"]);
    assert_eq!(code, Some(125), "{word}");
    let bisected =
        |new: &Run| Recipe::new().measures(&old).measures(new).answer(&["--once", "--bisect"]);
    assert_eq!(bisected(&run(3, 1.5)), is(1, "worse"));
    assert_eq!(bisected(&run(2, 1.0)), is(0, "not-worse"));
}

#[test]
fn the_recipe_is_red_where_it_cannot_measure() {
    for (recipe, said) in [
        (Recipe::new().ends_with(4), "zc run failed with code 4"),
        // A measurement that fails is no cost that rose.
        (Recipe::new().measures(&run(1, 1.0)).ends_with(1), "zc run failed with code 1"),
        (
            Recipe::new().measures(&run(1, 1.0)).measures(&{
                let mut other = run(2, 1.0);
                other.header.plan.fixed.rate_bytes_per_s = 1e8;
                other
            }),
            "zc compare failed with code 14",
        ),
    ] {
        let (code, word) = recipe.answer(&[]);
        assert_eq!(code, Some(2), "{word}");
        assert!(word.contains(said), "{word}");
    }
    for (args, said) in [
        (&["--before", "true"][..], "--after is missing"),
        (&["--after", "true"], "there is no state to compare with"),
        (&["--after", "true", "--before"], "--before needs a value"),
        (&["--after", "true", "--frobnicate"], "unknown argument \"--frobnicate\""),
        (&["--after", "true", "--before", "false", "--two-runs"], "the command of a state failed"),
        (&["--after", "true", "--before", "true", "--zc", "./nothing"], "there is no program"),
        (&["--after", "true", "--before", "true", "--out", "zc"], "exists or cannot be made"),
    ] {
        let output = Recipe::new().compare(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(said), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn the_recipe_interleaves_and_leaves_the_restoring_to_zc() {
    let recipe = Recipe::new().ends_with(13);
    let output = recipe.compare(&[
        "--before",
        "echo it's",
        "--after",
        "true",
        "--restore",
        "touch restored",
        "--",
        "--paths",
        "sendfile",
    ]);
    assert_eq!(output.status.code(), Some(13), "{}", stderr(&output));
    assert_eq!(recipe.read("results/answer").unwrap(), "nothing-kept");
    let log = recipe.read("zc.log").unwrap();
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("; echo it's --ab "), "{log}");
    assert!(log.ends_with(" --ab-restore touch restored --paths sendfile"), "{log}");
    assert!(recipe.read("restored").is_none());
}

#[test]
fn the_recipe_builds_two_commits_and_leaves_only_its_results() {
    let recipe = Recipe::new().measures(&run(1, 1.0)).measures(&run(2, 1.0));
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=x", "-c", "user.email=x@localhost"]).args(args);
        git.current_dir(recipe.folder.path()).stdin(Stdio::null()).finish()
    };
    let Ok(made) = git(&["init", "--quiet"]) else {
        eprintln!("skipped: there is no git(1) here");
        return;
    };
    assert!(made.status.success(), "{}", stderr(&made));
    for content in ["old", "new"] {
        std::fs::write(recipe.folder.path().join("source"), content).unwrap();
        for args in [&["add", "source"][..], &["commit", "--quiet", "-m", content]] {
            let done = git(args).unwrap();
            assert!(done.status.success(), "{}", stderr(&done));
        }
    }
    let entered =
        format!("cat \"$ZC_BUILD/built\" >> '{}/entered'", recipe.folder.path().display());
    let output = recipe.compare(&[
        "--two-runs",
        "--cell",
        "sendfile",
        "--base",
        "HEAD~1",
        "--build",
        "sed 's/$/ built/' source > built",
        "--after",
        &entered,
        "--restore",
        "touch restored",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(recipe.read("entered").unwrap().replace('\n', ""), "old builtnew built");
    assert_eq!(recipe.read("restored").unwrap(), "");
    assert!(!recipe.folder.path().join("results/base").exists());
    let trees = String::from_utf8(git(&["worktree", "list"]).unwrap().stdout).unwrap();
    assert_eq!(trees.lines().count(), 1, "{trees}");

    let output = Recipe::new().compare(&["--base", "nothing", "--after", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("there is no commit \"nothing\""), "{}", stderr(&output));
}

/// The script that a unit starts, with `zc` in place of the installed one.
fn script_of_unit(unit: &str, zc: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist/systemd").join(unit);
    let text = std::fs::read_to_string(path).unwrap().replace("\\\n", " ");
    let start = text.lines().find_map(|line| line.strip_prefix("ExecStart=/bin/sh -c '")).unwrap();
    let script = start.strip_suffix('\'').unwrap();
    script.replace("$$", "$").replace("%%", "%").replace("/usr/bin/zc", zc)
}

#[test]
fn the_nightly_service_repeats_its_first_run_that_found_a_quiet_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // Writes what it is asked for, and ends as a run does for which there was no quiet block.
    let zc = "#!/bin/sh\necho \"$@\" >> log\nfor to; do :; done\necho made > \"$to\"\n\
              exit $(cat code)\n";
    std::fs::write(path("zc"), zc).unwrap();
    std::fs::set_permissions(path("zc"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = script_of_unit("zc-nightly.service", &path("zc").display().to_string());
    let nights = [13, 0, 0].map(|code| {
        std::fs::write(path("code"), code.to_string()).unwrap();
        let mut night = Command::new("/bin/sh");
        let ended = night.args(["-c", &script]).current_dir(folder.path()).status().unwrap();
        let log = std::fs::read_to_string(path("log")).unwrap();
        std::fs::remove_file(path("log")).unwrap();
        assert!(path("zc.prom").exists(), "{log}");
        assert_eq!(ended.code(), Some(code), "{log}");
        let words: Vec<String> =
            log.lines().next().unwrap().split(' ').map(str::to_owned).collect();
        words[1].clone() + " " + &words[2]
    });
    assert_eq!(nights, ["--budget 60s", "--budget 60s", "--like plan.json"]);
}
