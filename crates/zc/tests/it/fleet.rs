//! `zc fleet` and `zc trend`, in a Slurm cluster of namespaces (contrib/fleet/slurm-rig). Where
//! only the scheduling is tested, a script stands for the zc of the nodes: it writes a run of a
//! machine that does not exist, and can be told to wait, or to be killed.

mod folders;

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use zc_run::SendPath;
use zc_testkit::synthetic::{Synthetic, TrueCell, two_machines};

use super::support::cgroup::Cgroup;
use super::support::slurm_rig::SlurmRig;
use super::support::{
    Bounded as _, ZC, interrupted_when, measuring, on_small_disk, refused, stderr, text, until, zc,
    zc_in,
};

/// A cluster; `None`, and a line that says so, where there is none.
fn rig(nodes: u32) -> Option<SlurmRig> {
    SlurmRig::up(nodes).map_err(|why| eprintln!("skipped: {why}")).ok()
}

/// Stand-in for a node's zc in these tests: `zc run ... --out FILE` writes a run between the hosts
/// that the name of the file gives. While the folder has a file `hold/ID`, it waits; if there is a
/// file `kill/ID`, it enters the cgroup named there and allocates more memory than that has.
const STAND_IN: &str = r#"#!/bin/sh
here=$(dirname "$0")
[ "$1" = run ] || exec "$(cat "$here/real-zc")" "$@"
while [ $# -gt 0 ]; do [ "$1" != --out ] || out=$2; shift; done
id=$(basename "$out" .jsonl.gz); id=${id%.*}
near=$(hostname)
far=$(echo "$id" | cut -d- -f2,3); far=${far#"$near-"}; far=${far%"-$near"}
[ ! -e "$here/kill/$id" ] || {
    echo $$ >"$(cat "$here/kill/$id")/cgroup.procs"
    exec python3 -c 'bytearray(1 << 30)'
}
trap 'echo "error: it was told to stop" >&2; exit 130' TERM INT
[ ! -e "$here/hold/$id" ] || : >"$here/held-$id"
while [ -e "$here/hold/$id" ]; do sleep 0.05; done
started=$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)
sed "s/@NEAR@/$near/; s/@FAR@/$far/; s/\"started_at\":\"[^\"]*\"/\"started_at\":\"$started\"/" "$here/run.json" >"$out"
"#;

/// A folder with the stand-in and the run that it writes.
fn folder_with_stand_in() -> tempfile::TempDir {
    let at = tempfile::tempdir().unwrap();
    // Nodes have other users' eyes in no test; the folder itself must be reached from their
    // namespaces.
    let zc = at.path().join("zc");
    std::fs::write(&zc, STAND_IN).unwrap();
    std::fs::set_permissions(&zc, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(at.path().join("real-zc"), ZC).unwrap();
    for part in ["hold", "kill"] {
        std::fs::create_dir(at.path().join(part)).unwrap();
    }
    let mut run = two_machines(Synthetic { blocks: 8, ..Synthetic::default() }.run());
    run.header.host.hostname = "@NEAR@".to_owned();
    let far = run.header.remote.as_mut().and_then(|remote| remote.machine.as_mut()).unwrap();
    far.host.hostname = "@FAR@".to_owned();
    std::fs::write(at.path().join("run.json"), zc_run::run_lines(&run)).unwrap();
    at
}

fn fleet_file(folder: &Path, pairs: &str, zc: &str) {
    let text = format!(
        "name = \"nightly\"\nseed = 3\nzc = \"{zc}\"\n[pairs]\n{pairs}\n[slurm]\n\
         partition = \"bench\"\n\
         [[hosts]]\nwith_feature = \"gen1\"\nfeatures = {{ generation = \"gen1\" }}\n\
         [[hosts]]\nwith_feature = \"gen2\"\nfeatures = {{ generation = \"gen2\" }}\n\
         [[plans]]\nname = \"paths\"\noptions = [\"--paths\", \"sendfile\"]\nbudget = \"2s\"\n"
    );
    std::fs::write(folder.join("fleet.toml"), text).unwrap();
}

/// The state of each measurement, and why.
fn states(rig: &SlurmRig, folder: &Path) -> BTreeMap<String, (String, String)> {
    let printed = rig.printed(folder, &[ZC, "fleet", "status", "out", "--json"]);
    let document: Value = serde_json::from_str(&printed).unwrap();
    let cells = document["measurements"].as_array().unwrap();
    let of = |cell: &Value, key: &str| cell[key].as_str().unwrap_or_default().to_owned();
    cells.iter().map(|cell| (of(cell, "id"), (of(cell, "state"), of(cell, "why")))).collect()
}

/// Waits until no measurement but these waits or runs.
fn until_done_but(
    rig: &SlurmRig,
    folder: &Path,
    but: &dyn Fn(&str) -> bool,
) -> BTreeMap<String, (String, String)> {
    until("the jobs have ended", || {
        let states = states(rig, folder);
        let is_open = |(id, (state, _)): (&String, &(String, String))| {
            !but(id) && matches!(state.as_str(), "waiting" | "running")
        };
        (!states.iter().any(is_open)).then_some(states)
    })
}

fn saved_in(archive: &Path) -> Vec<PathBuf> {
    let days = std::fs::read_dir(archive).into_iter().flatten().flatten().map(|day| day.path());
    let days = days.filter(|day| day.is_dir());
    days.flat_map(|day| std::fs::read_dir(day).unwrap().map(|run| run.unwrap().path())).collect()
}

#[test]
fn twenty_pairs_are_measured_whatever_becomes_of_nodes_jobs_and_the_controller() {
    let Some(rig) = rig(8) else { return };
    let at = folder_with_stand_in();
    let here = at.path();
    fleet_file(here, "partners = 5\ndirections = \"one\"", &here.join("zc").display().to_string());
    let zc =
        |words: &[&str]| rig.command(here, &[&[ZC, "fleet"], words].concat()).finish().unwrap();
    let planned = zc(&["plan", "fleet.toml", "-o", "out"]);
    assert!(planned.status.success(), "{}", stderr(&planned));
    assert!(text(&planned.stdout).contains("8 hosts, 20 pairs, 20 measurements"));
    let dry = rig.printed(here, &[ZC, "fleet", "submit", "out", "--dry-run"]);
    assert_eq!(
        dry.lines().filter(|line| line.starts_with("sbatch --parsable --array=0 ")).count(),
        20
    );

    // One node is drained, one measurement waits to be cancelled, and one is killed for lack of
    // memory.
    let ids: Vec<String> = states(&rig, here).into_keys().collect();
    let hosts_of = |id: &str| id.split('-').skip(1).take(2).map(str::to_owned).collect::<Vec<_>>();
    let has_n8 = |id: &str| hosts_of(id).contains(&"n8".to_owned());
    let mut others = ids.iter().filter(|id| !has_n8(id));
    let held = others.next().unwrap();
    let killed = others.next().unwrap();
    std::fs::write(here.join("hold").join(held), "").unwrap();
    let cgroup = Cgroup::of_memory(64 << 20);
    match &cgroup {
        Ok(cgroup) => {
            std::fs::write(here.join("kill").join(killed), cgroup.path().to_str().unwrap()).unwrap()
        }
        Err(error) => eprintln!("skipped: no memory cgroup can be made: {error}"),
    }
    rig.printed(here, &["scontrol", "update", "nodename=n8", "state=drain", "reason=test"]);
    let submitted = zc(&["submit", "out"]);
    assert!(submitted.status.success(), "{}", stderr(&submitted));
    assert!(
        stderr(&submitted).contains("submitted: 20 measurements in 20 arrays"),
        "{}",
        stderr(&submitted)
    );

    // Another folder of the same file has jobs of its own.
    assert!(zc(&["plan", "fleet.toml", "-o", "other"]).status.success());
    let jobs = |folder: &Path| rig.printed(folder, &["squeue", "--noheader", "--format=%o"]);
    let reports = |jobs: &str| jobs.lines().filter(|job| job.ends_with("report.sbatch")).count();
    assert!(zc(&["submit", "other"]).status.success());
    assert_eq!(reports(&jobs(here)), 2, "{}", jobs(here));
    assert!(zc(&["cancel", "other"]).status.success());
    until("the other one is cancelled", || (!jobs(here).contains("/other/jobs/")).then_some(()));
    assert_eq!(reports(&jobs(here)), 1, "{}", jobs(here));

    // What runs and waits is not submitted again; and the controller is restarted in the middle.
    // Not before it runs: a Slurm of 22.05 that is restarted has no memory for steps that begin
    // then.
    until("the one that is held runs", || here.join(format!("held-{held}")).exists().then_some(()));
    rig.printed(here, &["rig", "restart"]);
    until("the controller answers", || {
        let again = zc(&["submit", "out"]);
        stderr(&again).contains("nothing is missing").then_some(())
    });
    // One is cancelled; then all others come to their end but those of the node that is drained.
    let job =
        states(&rig, here)[held].1.split("(job ").nth(1).unwrap().trim_end_matches(')').to_owned();
    rig.printed(here, &["scancel", &job]);
    let seen = until_done_but(&rig, here, &has_n8);
    for (id, (state, why)) in &seen {
        let expected = match id {
            _ if has_n8(id) => "waiting",
            _ if id == held || id == killed && cgroup.is_ok() => "failed",
            _ => "done",
        };
        assert_eq!(state, expected, "{id}: {why}");
    }
    assert!(seen[held].1.starts_with("it was interrupted"), "{}", seen[held].1);
    if cgroup.is_ok() {
        assert!(seen[killed].1.starts_with("it was killed"), "{}", seen[killed].1);
    }

    // What there is is collected, and what is missing is named.
    let collected = zc(&["collect", "out", "--archive", "zc-runs"]);
    assert_eq!(collected.status.code(), Some(1), "{}", stderr(&collected));
    let done = seen.values().filter(|(state, _)| state == "done").count();
    let said = text(&collected.stdout);
    assert!(
        said.contains(&format!("{done} of 20 measurements have a run; {done} copied")),
        "{said}"
    );
    assert!(said.contains("1 failed: it was interrupted") && said.contains(held), "{said}");
    let report = zc(&["report", "out", "--json"]);
    let document: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(document["missing"].as_array().map(Vec::len), Some(20 - done), "{document}");

    // Then all of it can be done, and only what was missing is submitted.
    std::fs::remove_file(here.join("hold").join(held)).unwrap();
    if cgroup.is_ok() {
        std::fs::remove_file(here.join("kill").join(killed)).unwrap();
    }
    rig.printed(here, &["scontrol", "update", "nodename=n8", "state=resume"]);
    let again = zc(&["submit", "out"]);
    let failed = seen.values().filter(|(state, _)| state == "failed").count();
    let says = format!("submitted: {failed} measurements in {failed} arrays");
    assert!(stderr(&again).contains(&says), "{}", stderr(&again));
    let seen = until_done_but(&rig, here, &|_| false);
    assert!(seen.values().all(|(state, _)| state == "done"), "{seen:?}");
    let collected = zc(&["collect", "out", "--archive", "zc-runs"]);
    assert_eq!(collected.status.code(), Some(0), "{}", text(&collected.stdout));
    assert_eq!(saved_in(&here.join("zc-runs")).len(), 20);
    let said = zc(&["submit", "out"]);
    assert!(stderr(&said).contains("nothing is missing: 20 of 20 done"), "{}", stderr(&said));
    until("the job after all others has written the report", || {
        here.join("out/report-paths.html").exists().then_some(())
    });

    // A cancelled fleet leaves nothing in the queue, and what was collected stays.
    let cancelled = zc(&["cancel", "out"]);
    assert!(cancelled.status.success(), "{}", stderr(&cancelled));
    assert_eq!(rig.printed(here, &["squeue", "--noheader"]), "");
}

/// Stand-in for kubectl without a cluster: it answers with files of its folder, and records its
/// arguments. `get jobs,pods` prints `jobs.json`, `get nodes` prints `nodes.json`, `logs POD`
/// prints `log`. While there is a file `refuse`, it prints that and fails.
const KUBECTL: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/calls"
[ ! -e "$here/refuse" ] || { cat "$here/refuse" >&2; exit 1; }
case "$1 $2" in
"get jobs,pods") cat "$here/jobs.json" ;;
"get nodes") cat "$here/nodes.json" ;;
"logs "*) cat "$here/log" ;;
esac
"#;

/// Recorded answer of a real cluster about a measurement.
fn recorded(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fleet/src/kubernetes/testdata");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// A folder with a planned fleet of two nodes of Kubernetes, and what stands for kubectl.
fn fleet_by_kubernetes() -> tempfile::TempDir {
    let at = tempfile::tempdir().unwrap();
    let here = at.path();
    let kubectl = here.join("kubectl");
    std::fs::write(&kubectl, KUBECTL).unwrap();
    std::fs::set_permissions(&kubectl, std::fs::Permissions::from_mode(0o755)).unwrap();
    let node = |name: &str| {
        format!(
            "{{\"metadata\":{{\"name\":\"{name}\"}},\
             \"status\":{{\"allocatable\":{{\"zc/host\":\"1\"}}}}}}"
        )
    };
    let nodes = format!("{{\"items\":[{},{}]}}", node("n2"), node("n3"));
    std::fs::write(here.join("nodes.json"), nodes).unwrap();
    std::fs::write(here.join("jobs.json"), "{\"items\":[]}").unwrap();
    let text = format!(
        "name = \"few\"\nengine = \"kubernetes\"\nseed = 1\n[kubernetes]\nimage = \"zc:1\"\n\
         resource = \"zc/host\"\n\
         kubectl = \"{}\"\n[[hosts]]\nnames = \"n[2-3]\"\n[[plans]]\nname = \"paths\"\n\
         budget = \"2s\"\n",
        kubectl.display()
    );
    std::fs::write(here.join("fleet.toml"), text).unwrap();
    let planned = zc_in(here, &["fleet", "plan", "fleet.toml", "-o", "out"]).finish().unwrap();
    assert!(planned.status.success(), "{}", stderr(&planned));
    at
}

#[test]
fn in_kubernetes_what_cannot_run_is_refused_or_waits_with_a_sentence() {
    let at = fleet_by_kubernetes();
    let here = at.path();
    let zc = |words: &[&str]| zc_in(here, &[&["fleet"], words].concat()).finish().unwrap();
    let token = std::fs::metadata(here.join("out/jobs/fleet.json")).unwrap();
    assert_eq!(token.permissions().mode() & 0o777, 0o600, "it has the token");

    // Of two measurements of one pair one is submitted, and the other waits for its hosts.
    let dry = text(&zc(&["submit", "out", "--dry-run"]).stdout);
    assert_eq!(dry.lines().filter(|line| line.contains(" create --filename=")).count(), 2, "{dry}");
    let submitted = zc(&["submit", "out"]);
    assert_eq!(submitted.status.code(), Some(0), "{}", stderr(&submitted));
    assert!(stderr(&submitted).contains("submitted: 1 measurements; 1 wait for their hosts"));
    let calls = std::fs::read_to_string(here.join("calls")).unwrap();
    assert!(
        calls.contains("create --filename=") && calls.contains("--selector=zc-fleet=zc-few-"),
        "{calls}"
    );
    let state = |file: &str| {
        std::fs::write(here.join("jobs.json"), recorded(file)).unwrap();
        text(&zc(&["status", "out"]).stdout)
    };
    for (file, says) in [
        ("pending.json", "waiting  the end that sends: Unschedulable: 0/3 nodes are available"),
        (
            "image-missing.json",
            "waiting  the end that sends: the image cannot be had on n2: ErrImagePull",
        ),
        ("silent-node.json", "running  node n3 does not answer"),
    ] {
        let said = state(file);
        assert!(said.contains(says), "{file}: {said}");
    }
    let again = zc(&["submit", "out"]);
    assert!(stderr(&again).contains("submitted: 0 measurements; 1 wait"), "{}", stderr(&again));

    // Nodes that others can use meanwhile, a cluster that does not answer or refuses, and no
    // kubectl.
    std::fs::write(here.join("jobs.json"), "{\"items\":[]}").unwrap();
    let nodes = std::fs::read_to_string(here.join("nodes.json")).unwrap();
    std::fs::write(here.join("nodes.json"), nodes.replacen("\"1\"", "\"4\"", 1)).unwrap();
    let submitted = zc(&["submit", "out"]);
    assert_eq!(refused(&submitted, 4), "nodes-not-exclusive");
    let said = stderr(&submitted);
    assert!(said.contains("\"zc/host\"") && said.contains(" n2 has 4 "), "{said}");
    let down = "The connection to the server 192.0.2.1:6443 was refused - did you specify the \
                right host or port?\n";
    std::fs::write(here.join("refuse"), down).unwrap();
    assert_eq!(refused(&zc(&["submit", "out"]), 6), "cluster-unreachable");
    let status = zc(&["status", "out"]);
    assert!(status.status.success() && stderr(&status).contains("what lies in the folder"));
    let forbidden =
        "Error from server (Forbidden): jobs.batch is forbidden: User \"a\" cannot list resource\n";
    std::fs::write(here.join("refuse"), forbidden).unwrap();
    let cancelled = zc(&["cancel", "out"]);
    assert_eq!(refused(&cancelled, 6), "kubectl-failed");
    assert!(stderr(&cancelled).contains("docs/fleet.md"), "{}", stderr(&cancelled));
    std::fs::remove_file(here.join("kubectl")).unwrap();
    assert_eq!(refused(&zc(&["submit", "out"]), 4), "command-not-found");
}

#[test]
fn from_kubernetes_a_run_comes_home_by_the_log_whole_or_cut_off() {
    let at = fleet_by_kubernetes();
    let here = at.path();
    let zc = |words: &[&str]| zc_in(here, &[&["fleet"], words].concat()).finish().unwrap();
    let run =
        zc_run::run_lines(&two_machines(Synthetic { blocks: 8, ..Synthetic::default() }.run()));
    let log = |run: &str| {
        let lines: Vec<&str> = run.lines().collect();
        let (head, rest) = lines.split_first().unwrap();
        let text = format!("waiting for the far end: x\n{head}\nblock 1\n{}\n", rest.join("\n"));
        std::fs::write(here.join("log"), text).unwrap();
    };
    // Killed in the middle of a block: what is whole is kept, and is tried again.
    log(&run[..run.len() * 2 / 3]);
    std::fs::write(here.join("jobs.json"), recorded("oom.json")).unwrap();
    let status = text(&zc(&["status", "out"]).stdout);
    assert!(status.contains("in part  it was killed for lack of memory (OOMKilled)"), "{status}");
    let calls = std::fs::read_to_string(here.join("calls")).unwrap();
    assert!(calls.lines().last().unwrap().starts_with("delete jobs "), "{calls}");
    let saved = saved_in_folder(&here.join("out/runs"));
    let (cut, _) = zc_run::read(File::open(&saved[0]).unwrap()).unwrap();
    assert!((1..8).contains(&cut.blocks.len()) && cut.end.is_none(), "{}", cut.blocks.len());

    // A later one that is whole is byte by byte what a file would hold; its Jobs could not be
    // deleted at first.
    log(&run);
    let whole = recorded("oom.json")
        .replace("22:35:24Z", "22:45:24Z")
        .replace("OOMKilled", "Completed")
        .replace("\"exitCode\": 137", "\"exitCode\": 0");
    std::fs::write(here.join("jobs.json"), whole).unwrap();
    for _ in 0..2 {
        let status = text(&zc(&["status", "out"]).stdout);
        assert!(status.ends_with("few: 1 of 2 done, 1 missing\n"), "{status}");
    }
    let saved = saved_in_folder(&here.join("out/runs"));
    assert_eq!(saved.len(), 2, "{saved:?}");
    assert!(saved.iter().any(|path| std::fs::read(path).unwrap() == zc_run::gzip_members(&run)));

    // Of the second measurement no log is left.
    std::fs::write(here.join("log"), "unable to retrieve container logs for containerd://1\n")
        .unwrap();
    let second = std::fs::read_to_string(here.join("jobs.json")).unwrap();
    let second = second.replace("00000", "00001");
    std::fs::write(here.join("jobs.json"), second).unwrap();
    let status = text(&zc(&["status", "out"]).stdout);
    assert!(status.contains("failed   its log has no run: unable to retrieve"), "{status}");
}

/// Output of zc for a fleet's file of the project, which docs/fleet.md shows as it is.
fn planned_as_documented(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    assert!(read("docs/fleet.md").contains(&read(name)));
    let file = root.join(name);
    let output = zc(&["fleet", "plan", file.to_str().unwrap(), "--dry-run"]).finish().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    text(&output.stdout)
}

#[test]
fn the_example_for_kubernetes_is_what_the_page_shows_and_is_understood() {
    let said = planned_as_documented("contrib/fleet/kubernetes.toml");
    assert!(said.contains("80 hosts, 160 pairs, 320 measurements (paths)"), "{said}");
}

/// Stand-in for ssh in these tests: a host is a folder of this machine, and is down if there is
/// none.
const SSH: &str = r#"#!/bin/sh
here=$(dirname "$0")
[ -d "$here/hosts/$1" ] || { echo "ssh: connect to host $1 port 22: No route to host" >&2; exit 255; }
cd "$here/hosts/$1" && exec sh -c "$2"
"#;

/// A folder with a fleet of three hosts that are reached by [`SSH`], of which one is down.
fn fleet_by_ssh(zc: &str) -> tempfile::TempDir {
    let at = folder_with_stand_in();
    let here = at.path();
    let ssh = here.join("ssh");
    std::fs::write(&ssh, SSH).unwrap();
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
    for host in ["a", "b"] {
        std::fs::create_dir_all(here.join("hosts").join(host)).unwrap();
    }
    let text = format!(
        "name = \"few\"\nengine = \"ssh\"\nseed = 1\nzc = \"{zc}\"\n[ssh]\ncommand = \"{}\"\n\
         [pairs]\nchoose = \"reference\"\nreference = \"a\"\n\
         [[hosts]]\nnames = \"a,b,c\"\n\
         [[plans]]\nname = \"mine\"\nplan = \"mine.toml\"\nbudget = \"2s\"\n",
        ssh.display()
    );
    std::fs::write(here.join("fleet.toml"), text).unwrap();
    let plan = zc_in(here, &["plan", "paths"]).finish().unwrap();
    std::fs::write(here.join("mine.toml"), plan.stdout).unwrap();
    at
}

#[test]
fn by_ssh_each_is_measured_in_turn_and_what_failed_is_tried_again() {
    let at = fleet_by_ssh("../../zc");
    let here = at.path();
    // The hosts are told by the name of the file, which is temporary here: the stand-in takes that
    // of the machine.
    let zc = |words: &[&str]| zc_in(here, &[&["fleet"], words].concat()).finish().unwrap();
    assert!(zc(&["plan", "fleet.toml", "-o", "out"]).status.success());
    let submitted = zc(&["submit", "out"]);
    assert_eq!(submitted.status.code(), Some(1), "{}", stderr(&submitted));
    let said = stderr(&submitted);
    assert!(
        said.contains("No route to host") && said.ends_with("3 of 4 done, 1 failed\n"),
        "{said}"
    );
    std::fs::create_dir(here.join("hosts/c")).unwrap();
    let again = zc(&["submit", "out"]);
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
    assert!(stderr(&again).contains("1 of 1: ") && stderr(&again).ends_with("4 of 4 done\n"));
    let collected = zc(&["collect", "out"]);
    assert_eq!(collected.status.code(), Some(0), "{}", text(&collected.stdout));
    assert_eq!(saved_in(&here.join("zc-runs")).len(), 4);
    let report = zc(&["report", "out", "--json"]);
    let document: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(document["hosts"], 3, "they are called as the fleet calls them: {document}");
    for host in ["a", "b", "c"] {
        assert_eq!(std::fs::read_dir(here.join("hosts").join(host)).unwrap().count(), 0);
    }
}

#[test]
fn a_report_of_one_plan_leaves_an_index_of_all() {
    let at = fleet_by_ssh("../../zc");
    let here = at.path();
    std::fs::create_dir(here.join("hosts/c")).unwrap();
    let file = std::fs::read_to_string(here.join("fleet.toml")).unwrap();
    let two = format!("{file}[[plans]]\nname = \"paths\"\nbudget = \"2s\"\n");
    std::fs::write(here.join("fleet.toml"), two).unwrap();
    let zc = |words: &[&str]| zc_in(here, &[&["fleet"], words].concat()).finish().unwrap();
    assert!(zc(&["plan", "fleet.toml", "-o", "out"]).status.success());
    assert_eq!(zc(&["submit", "out"]).status.code(), Some(0));
    let of = |name: &str| {
        let report = zc(&["report", "out", "--plan", name, "--json"]);
        let document: Value = serde_json::from_slice(&report.stdout).unwrap();
        document["runs"].as_u64().unwrap()
    };
    assert_eq!((of("mine"), of("paths")), (4, 4));
    let index = std::fs::read_to_string(here.join("out/index.jsonl")).unwrap();
    assert_eq!(index.matches("{\"file\":").count(), 8);
    let unknown = zc(&["report", "out", "--plan", "pathz"]);
    assert_eq!(refused(&unknown, 2), "unknown-plan");
}

#[test]
fn by_ssh_ctrl_c_ends_the_far_zc_which_saves_what_it_has() {
    let at = fleet_by_ssh("../../zc");
    let here = at.path();
    std::fs::create_dir(here.join("hosts/c")).unwrap();
    assert!(
        zc_in(here, &["fleet", "plan", "fleet.toml", "-o", "out"])
            .finish()
            .unwrap()
            .status
            .success()
    );
    std::fs::write(here.join("hold/run"), "").unwrap();
    let mut command = zc_in(here, &["fleet", "submit", "out"]);
    let output =
        interrupted_when("the first one runs", &mut command, || here.join("held-run").exists());
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("it was interrupted (job 1)"), "{}", stderr(&output));
    std::fs::remove_file(here.join("hold/run")).unwrap();
    let again = zc_in(here, &["fleet", "submit", "out"]).finish().unwrap();
    assert!(stderr(&again).ends_with("4 of 4 done\n"), "{}", stderr(&again));
}

#[test]
fn a_file_that_describes_no_fleet_is_refused_with_what_is_wrong() {
    let at = tempfile::tempdir().unwrap();
    let with = |text: &str| {
        let path = at.path().join("fleet.toml");
        std::fs::write(&path, text).unwrap();
        let args = ["fleet", "plan", "fleet.toml", "-o", "out"];
        let output = zc_in(at.path(), &args).finish().unwrap();
        assert!(!at.path().join("out").exists(), "{}", stderr(&output));
        (refused(&output, 3), stderr(&output))
    };
    let hosts =
        "name = \"f\"\nengine = \"ssh\"\n[[hosts]]\nnames = \"a,b\"\n[[plans]]\nbudget = \"9s\"\n";
    let one = hosts.replace("a,b", "a");
    for (text, id, names) in [
        (String::new(), "cannot-read-fleet", "`name`"),
        (format!("{hosts}name = \"pathz\""), "unknown-experiment", "\"pathz\""),
        (format!("{hosts}name = \"nfs\""), "experiment-without-plan", "nfs"),
        (
            format!("{hosts}name = \"paths\"\noptions = [\"--no-such\"]"),
            "invalid-options",
            "--no-such",
        ),
        (format!("{hosts}name = \"x\"\nplan = \"none.toml\""), "cannot-read-plan", "none.toml\""),
        (format!("{one}name = \"paths\""), "too-few-hosts", ""),
    ] {
        let (found, said) = with(&text);
        assert_eq!(found, id, "{said}");
        assert!(said.contains(names), "{said}");
    }

    // A folder that is there already, a scheduler that is none.
    let slurm = hosts.replace("engine = \"ssh\"\n", "") + "name = \"paths\"";
    std::fs::write(at.path().join("fleet.toml"), slurm).unwrap();
    assert!(
        zc_in(at.path(), &["fleet", "plan", "fleet.toml", "-o", "out"])
            .finish()
            .unwrap()
            .status
            .success()
    );
    let again = zc_in(at.path(), &["fleet", "plan", "fleet.toml", "-o", "out"]).finish().unwrap();
    assert_eq!(refused(&again, 5), "cannot-make-folder");
    assert!(stderr(&again).contains("\"out\""), "{}", stderr(&again));
    let mut without = zc_in(at.path(), &["fleet", "submit", "out"]);
    let without = without.env("PATH", "/nonexistent").finish().unwrap();
    assert_eq!(refused(&without, 4), "command-not-found");
    assert!(stderr(&without).contains("squeue"), "{}", stderr(&without));
    let nothing = zc_in(at.path(), &["fleet", "report", "out"]).finish().unwrap();
    assert_eq!(refused(&nothing, 13), "no-usable-run");
    assert!(stderr(&nothing).contains(" 2 missing"), "{}", stderr(&nothing));
}

#[test]
fn the_documented_fleet_is_what_its_page_shows_and_is_understood() {
    let said = planned_as_documented("contrib/fleet/nightly.toml");
    assert!(said.contains("80 hosts, 160 pairs, 640 measurements (paths, sizes)"), "{said}");
}

#[test]
fn a_partition_that_shares_its_hosts_is_refused_unless_that_is_wanted() {
    let Some(rig) = rig(2) else { return };
    let at = folder_with_stand_in();
    let here = at.path();
    fleet_file(here, "directions = \"one\"", &here.join("zc").display().to_string());
    let file = std::fs::read_to_string(here.join("fleet.toml")).unwrap().replace("bench", "crowd");
    std::fs::write(here.join("fleet.toml"), &file).unwrap();
    let zc =
        |words: &[&str]| rig.command(here, &[&[ZC, "fleet"], words].concat()).finish().unwrap();
    assert!(zc(&["plan", "fleet.toml", "-o", "out"]).status.success());
    assert_eq!(refused(&zc(&["submit", "out"]), 4), "hosts-shared");
    std::fs::write(here.join("fleet.toml"), format!("shared = true\n{file}")).unwrap();
    assert!(zc(&["plan", "fleet.toml", "-o", "shared"]).status.success());
    let submitted = zc(&["submit", "shared"]);
    assert!(submitted.status.success(), "{}", stderr(&submitted));
    until("it is measured", || {
        let status = zc(&["status", "shared"]);
        text(&status.stdout).contains("1 of 1 done").then_some(())
    });
    let marked = "Other jobs could use the hosts during 1 of 1 run";
    let said = text(&zc(&["report", "shared"]).stdout);
    assert!(said.replace('\n', " ").contains(marked), "{said}");
    // In an archive too.
    let collected = zc(&["collect", "shared", "--archive", "archive"]);
    assert!(collected.status.success(), "{}", text(&collected.stdout));
    let again = zc(&["collect", "shared", "--archive", "archive"]);
    assert!(text(&again.stdout).contains("1 there already"), "{}", text(&again.stdout));
    for command in [&["report", "archive"][..], &["report", "archive", "--html"]] {
        let said = text(&zc(command).stdout);
        assert!(said.replace('\n', " ").contains(marked), "{said}");
    }
}

#[test]
fn zc_itself_measures_between_two_nodes_of_slurm() {
    let _turn = measuring();
    let Some(rig) = rig(2) else { return };
    let at = folder_with_stand_in();
    let here = at.path();
    fleet_file(here, "directions = \"one\"", ZC);
    let zc =
        |words: &[&str]| rig.command(here, &[&[ZC, "fleet"], words].concat()).finish().unwrap();
    assert!(zc(&["plan", "fleet.toml", "-o", "out"]).status.success());
    let submitted = zc(&["submit", "out", "--wait"]);
    // So short a run may end before its blocks count.
    assert!(matches!(submitted.status.code(), Some(0 | 1)), "{}", stderr(&submitted));
    assert!(stderr(&submitted).contains(" of 1 done"), "it has waited: {}", stderr(&submitted));
    let seen = until_done_but(&rig, here, &|_| false);
    let runs = saved_in_folder(&here.join("out/runs"));
    assert_eq!(runs.len(), 1, "{seen:?}");
    for path in runs {
        let (run, _) = zc_run::read(File::open(&path).unwrap()).unwrap();
        let far = run.header.remote.as_ref().and_then(|remote| remote.machine.as_ref()).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let ends = format!("-{}-{}-", run.header.host.hostname, far.host.hostname);
        assert!(name.contains(&ends), "{name} is between {ends}");
    }
}

fn saved_in_folder(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.to_string_lossy().ends_with(".jsonl.gz")).collect()
}

/// An archive of three hosts in twelve nights of November; from the ninth on every path costs as
/// much more.
fn archive_of_twelve_nights(folder: &Path, more: f64) {
    for night in 0..12_u32 {
        let day = folder.join(format!("2026-11-{:02}", night + 1));
        std::fs::create_dir_all(&day).unwrap();
        for host in 0..3_u32 {
            let factor = if night < 8 { 1.0 } else { more };
            let cells = [(SendPath::ReadSend, 500.0), (SendPath::Sendfile, 180.0)];
            let [reference, sendfile] =
                cells.map(|(path, ns)| TrueCell::new(path, ns * factor, 400.0 * factor));
            let world = Synthetic {
                cells: vec![reference.clone(), sendfile, reference.control()],
                blocks: 12,
                noise: 0.01,
                block_drift: 0.0,
                seed: u64::from(night * 3 + host) + 1,
                ..Synthetic::default()
            };
            let mut run = two_machines(world.run());
            run.header.started_at = format!("2026-11-{:02}T0{host}:00:00Z", night + 1);
            run.header.host.hostname = format!("n{host}");
            run.header.host.kernel_release = if night < 8 { "6.1.0" } else { "6.12.1" }.to_owned();
            let far = run.header.remote.as_mut().and_then(|far| far.machine.as_mut()).unwrap();
            far.host.hostname = format!("n{}", (host + 1) % 3);
            std::fs::write(day.join(format!("{host}.json")), zc_run::run_lines(&run)).unwrap();
        }
    }
}

#[test]
fn a_trend_tells_the_night_of_a_change_what_changed_with_it_and_answers_with_its_exit_code() {
    let at = tempfile::tempdir().unwrap();
    let here = at.path();
    archive_of_twelve_nights(&here.join("dearer"), 1.1);
    archive_of_twelve_nights(&here.join("same"), 1.0);
    // What a disk that filled has left, and what is no run at all.
    std::fs::write(here.join("dearer/2026-11-03/cut.json"), "{\"zc_run\":3,").unwrap();
    std::fs::write(here.join("dearer/other.json"), "{}").unwrap();
    std::fs::write(here.join("events"), "2026-11-09 new kernel\n").unwrap();
    let zc = |words: &[&str]| zc_in(here, words).finish().unwrap();

    let dearer = zc(&["trend", "dearer", "--events", "events", "--fail-if-worse", "5%"]);
    assert_eq!(dearer.status.code(), Some(1), "{}{}", stderr(&dearer), text(&dearer.stdout));
    let said = text(&dearer.stdout);
    for says in ["2026-11-09", "new kernel", "6.1.0 -> 6.12.1"] {
        assert!(said.contains(says), "no {says} in:\n{said}");
    }
    assert!(said.contains("2026-11-03/cut.json") && said.contains("other.json"), "{said}");
    let same = zc(&["trend", "same", "--fail-if-worse", "5%"]);
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stdout));
    assert!(text(&same.stdout).contains("No change was found"), "{}", text(&same.stdout));
    assert_eq!(zc(&["trend", "same"]).status.code(), Some(0));

    // The index gives the same, and another one is made where it is broken.
    let first = zc(&["fleet", "report", "same", "--json"]);
    assert!(here.join("same/index.jsonl").exists());
    assert_eq!(zc(&["fleet", "report", "same", "--json"]).stdout, first.stdout);
    std::fs::write(here.join("same/index.jsonl"), "nonsense\n").unwrap();
    assert_eq!(zc(&["fleet", "report", "same", "--json"]).stdout, first.stdout);
    std::fs::remove_file(here.join("same/2026-11-01/0.json")).unwrap();
    assert_ne!(zc(&["fleet", "report", "same", "--json"]).stdout, first.stdout);

    // A line for each run, path and end.
    let table = zc(&["export", "dearer"]);
    assert_eq!(text(&table.stdout).lines().count(), 1 + 36 * 2 * 2, "{}", stderr(&table));
    assert!(stderr(&table).contains("\"other.json\" is left out"), "{}", stderr(&table));
    let parquet = zc(&["export", "dearer", "--parquet", "-o", "runs.parquet"]);
    assert!(parquet.status.success() && parquet.stdout.is_empty(), "{}", stderr(&parquet));
    let parquet = std::fs::read(here.join("runs.parquet")).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    assert_eq!(refused(&zc(&["export", "dearer", "--parquet"]), 2), "option-needs-another");

    let none = zc(&["trend", "same", "--experiment", "sizes"]);
    assert_eq!(refused(&none, 14), "no-such-runs");
    std::fs::create_dir(here.join("empty")).unwrap();
    for command in [&["trend", "empty"][..], &["fleet", "report", "empty"], &["export", "empty"]] {
        assert_eq!(refused(&zc(command), 13), "no-usable-run");
    }
}

/// Compresses a file into one beside it.
fn compress(file: &Path, kind: &str) {
    let text = std::fs::read(file).unwrap();
    let bytes = match kind {
        "gz" => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut out, &text).unwrap();
            out.finish().unwrap()
        }
        _ => {
            let fastest = ruzstd::encoding::CompressionLevel::Fastest;
            ruzstd::encoding::compress_to_vec(&text[..], fastest)
        }
    };
    let to = PathBuf::from(format!("{}.{kind}", file.display()));
    std::fs::write(to, bytes).unwrap();
}

#[test]
fn compressed_runs_of_an_archive_are_read_once_or_named_with_the_reason() {
    let at = tempfile::tempdir().unwrap();
    let here = at.path();
    archive_of_twelve_nights(&here.join("runs"), 1.1);
    let zc = |words: &[&str]| zc_in(here, words).finish().unwrap();
    let forms: [&[&str]; 3] =
        [&["export", "runs"], &["trend", "runs", "--csv"], &["fleet", "report", "runs", "--csv"]];
    let plain = forms.map(|words| text(&zc(words).stdout));
    for (place, file) in saved_in(&here.join("runs")).into_iter().enumerate() {
        compress(&file, ["gz", "zst"][place % 2]);
        // Of some both forms are there.
        if place % 3 > 0 {
            std::fs::remove_file(file).unwrap();
        }
    }
    let unnamed = |table: &str| table.replace(".json.gz", ".json").replace(".json.zst", ".json");
    for (words, plain) in forms.iter().zip(&plain) {
        assert_eq!(&unnamed(&text(&zc(words).stdout)), plain, "{words:?}");
    }
    for kind in ["gz", "zst"] {
        let is_kind = |path: &PathBuf| path.extension().is_some_and(|found| found == kind);
        let run = saved_in(&here.join("runs")).into_iter().find(is_kind).unwrap();
        for command in ["show", "report"] {
            let output = zc(&[command, &run.to_string_lossy(), "--json"]);
            assert!(output.status.success(), "{run:?}: {}", stderr(&output));
        }
    }
    std::fs::write(here.join("runs/other.json.xz"), b"\xfd7zXZ\0 and so on").unwrap();
    let said = stderr(&zc(&["export", "runs"]));
    let why = "\"other.json.xz\" is left out: it cannot be read: it is compressed with xz, which \
               zc does not read";
    assert!(said.contains(why), "{said}");
}

#[test]
fn on_a_full_disk_nothing_that_came_back_is_lost_and_collecting_goes_on() {
    let at = fleet_by_ssh("../../zc");
    let here = at.path();
    std::fs::create_dir(here.join("hosts/c")).unwrap();
    let zc = |words: &[&str]| zc_in(here, &[&["fleet"], words].concat()).finish().unwrap();
    assert!(zc(&["plan", "fleet.toml", "-o", "out"]).status.success());
    assert_eq!(zc(&["submit", "out"]).status.code(), Some(0));
    let disk = tempfile::tempdir().unwrap();
    // Of four runs one has room.
    let size = std::fs::metadata(&saved_in_folder(&here.join("out/runs"))[0]).unwrap().len();
    let script = format!(
        "cd {here} && {ZC} fleet collect out --archive \"$OLDPWD/archive\"; echo $?; find \
         \"$OLDPWD\" -type f | wc -l",
        here = here.display()
    );
    let size = format!("{}k", (size + size / 2) >> 10);
    let Some(output) = on_small_disk(disk.path(), &size, &script) else { return };
    let (said, printed) = (stderr(&output), text(&output.stdout));
    assert!(said.contains("[cannot-write]"), "{said}");
    assert_eq!(printed, "5\n1\n", "what is not whole is removed: {said}");
    assert_eq!(zc(&["collect", "out"]).status.code(), Some(0));
    assert_eq!(saved_in(&here.join("zc-runs")).len(), 4);
}

#[test]
fn a_node_that_vanishes_is_named_and_what_it_had_is_measured_again() {
    let Some(rig) = rig(2) else { return };
    let at = folder_with_stand_in();
    let here = at.path();
    fleet_file(here, "directions = \"one\"", &here.join("zc").display().to_string());
    let zc =
        |words: &[&str]| rig.command(here, &[&[ZC, "fleet"], words].concat()).finish().unwrap();
    assert!(zc(&["plan", "fleet.toml", "-o", "out"]).status.success());
    let id = states(&rig, here).into_keys().next().unwrap();
    std::fs::write(here.join("hold").join(&id), "").unwrap();
    assert!(zc(&["submit", "out"]).status.success());
    until("it runs", || here.join(format!("held-{id}")).exists().then_some(()));
    rig.printed(here, &["rig", "stop", "n1"]);
    rig.printed(here, &["scontrol", "update", "nodename=n1", "state=down", "reason=test"]);
    let seen = until_done_but(&rig, here, &|_| false);
    assert_eq!(seen[&id].0, "failed", "{seen:?}");
    assert!(seen[&id].1.contains("(job "), "{seen:?}");
    std::fs::remove_file(here.join("hold").join(&id)).unwrap();
    rig.printed(here, &["rig", "start", "n1"]); // and it is in service again
    assert!(zc(&["submit", "out"]).status.success());
    let seen = until_done_but(&rig, here, &|_| false);
    assert_eq!(seen[&id].0, "done", "{seen:?}");
}
