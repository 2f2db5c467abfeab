//! The jobs of a fleet as scripts for sbatch: an array for each pair of hosts, with a task for each
//! measurement, and one job after all of them.

use crate::folder::Folder;
use crate::plan::FleetPlan;
use crate::shell::{quoted, words};
use std::fmt::Write as _;

const MINUTE_NS: u64 = 60_000_000_000;

/// The script of a pair. The hosts see the folder by the path that it has here.
pub(crate) fn pair_script(plan: &FleetPlan, number: usize, folder: &Folder) -> String {
    let pair = &plan.pairs[number];
    let mut script = String::from("#!/bin/sh\n");
    let mut option = |text: &str| {
        let _ = writeln!(script, "#SBATCH {text}");
    };
    let hosts = plan.hosts_of(pair);
    option(&format!("--job-name={}", plan.job_name));
    option(&format!("--nodes=2 --nodelist={}", hosts.join(",")));
    option("--ntasks=2 --ntasks-per-node=1 --mem=0");
    // Both hosts are allocated exclusively.
    option(if plan.shared { "--oversubscribe" } else { "--exclusive" });
    let wires: Vec<String> = plan.wires_of(pair).iter().map(|wire| format!("{wire}:1")).collect();
    if !wires.is_empty() {
        option(&format!("--licenses={}", wires.join(",")));
    }
    let most_ns = pair.cells.iter().map(|cell| plan.plans[cell.plan].most_ns()).max().unwrap_or(0);
    option(&format!("--time={}", most_ns.div_ceil(MINUTE_NS)));
    // A measurement that was cut off is submitted anew, under another number.
    option("--no-requeue");
    option(&format!("--array=0-{}", pair.cells.len() - 1));
    let output = folder.output_of_tasks(number);
    option(&format!("--output={}", quoted(&output)));
    common(plan, &mut option);
    let _ = writeln!(script, "# {} and {}: {} measurements.", hosts[0], hosts[1], pair.cells.len());
    script += "case $SLURM_ARRAY_TASK_ID in\n";
    for (task, cell) in pair.cells.iter().enumerate() {
        let [near, far] = plan.ends(cell);
        let planned = &plan.plans[cell.plan];
        let file = planned.file.as_ref().map(|file| folder.path().join(file).display().to_string());
        let file = file.as_deref().map_or(Vec::new(), |file| vec!["--plan", file]);
        let run = words(file.into_iter().chain(planned.words.iter().map(String::as_str)));
        let _ = writeln!(script, "{task}) cell={} near={near} far={far}; set -- {run} ;;", cell.id);
    }
    let _ = write!(
        script,
        "*) exit 64 ;;\nesac\n\
         folder={folder}\n\
         attempt=$cell.$SLURM_JOB_ID\n\
         trap : TERM # zc hears it too, saves what it has, and says how it ended\n\
         on() {{ host=$1; shift; {srun}\"$host\" \"$@\"; }}\n\
         on \"$near\" {zc} run \"$@\" --via \"{srun}$far\" \\\n    \
         --out \"$folder/runs/$attempt.jsonl.gz\" </dev/null >/dev/null \
         2>\"$folder/logs/$attempt.txt\"\n\
         code=$?\n\
         echo $code >\"$folder/runs/$attempt.exit\"\n\
         exit $code\n",
        folder = quoted(&folder.path().display().to_string()),
        srun = "srun --overlap --mem=0 --nodes=1 --ntasks=1 --nodelist=",
        zc = words(plan.zc.split_whitespace()),
    );
    script
}

/// The script of the job after all others: it writes the report.
pub(crate) fn report_script(plan: &FleetPlan, folder: &Folder) -> String {
    let mut script = String::from("#!/bin/sh\n");
    let mut option = |text: &str| {
        let _ = writeln!(script, "#SBATCH {text}");
    };
    option(&format!("--job-name={}", plan.job_name));
    // After every job of this name and user that was submitted before.
    option("--dependency=singleton");
    option("--nodes=1 --ntasks=1 --time=30");
    option(&format!("--output={}", quoted(&folder.output_of_report())));
    common(plan, &mut option);
    let _ = writeln!(script, "folder={}", quoted(&folder.path().display().to_string()));
    let zc = words(plan.zc.split_whitespace());
    for planned in &plan.plans {
        let name = &planned.name;
        let _ = writeln!(
            script,
            "{zc} fleet report \"$folder\" --plan {name} -o \"$folder/report-{name}.html\""
        );
    }
    script
}

fn common(plan: &FleetPlan, option: &mut impl FnMut(&str)) {
    if let Some(partition) = &plan.slurm.partition {
        option(&format!("--partition={}", quoted(partition)));
    }
    for word in &plan.slurm.options {
        option(&quoted(word));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::four_hosts;

    /// A folder whose name shells would split into words.
    fn folder(at: &tempfile::TempDir) -> Folder {
        Folder::create(&at.path().join("it's $(a) \"fleet\"")).unwrap().0
    }

    #[test]
    fn the_script_of_a_pair_and_the_one_after_all() {
        let at = tempfile::tempdir().unwrap();
        let (folder, _lock) = Folder::create(&at.path().join("fleet")).unwrap();
        let plan = four_hosts("[slurm]\npartition = \"bench\"\noptions = [\"--account=a b\"]\n");
        let at_a_wire = |number: &usize| plan.wires_of(&plan.pairs[*number]).contains("sw1");
        let number = (0..plan.pairs.len()).find(at_a_wire).unwrap();
        let path = folder.path().display().to_string();
        let shown = |script: String| script.replace(&path, "/shared/fleet");
        insta::assert_snapshot!(shown(pair_script(&plan, number, &folder)));
        insta::assert_snapshot!(shown(report_script(&plan, &folder)));
    }

    #[test]
    fn a_shell_reads_each_script() {
        let at = tempfile::tempdir().unwrap();
        let folder = folder(&at);
        let plan = four_hosts("shared = true\n");
        for number in 0..plan.pairs.len() {
            let script = pair_script(&plan, number, &folder);
            let checked = std::process::Command::new("sh").args(["-n", "-c", &script]).output();
            let checked = checked.unwrap();
            assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        }
    }
}
