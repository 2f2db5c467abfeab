//! A handful of hosts that are reached by ssh: one pair after the other, from here.
//!
//! The host that sends runs zc, which starts the one that receives with `--via`. The run is made in
//! a temporary folder there, comes back on stdout, and is removed. When this end goes away, the
//! other end's stdin ends, and its zc is told to stop.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use zc_run::{Error, Result, in_words};

use crate::folder::Folder;
use crate::plan::{Cell, FleetPlan};
use crate::shell::{quoted, words};

/// Script for the shell of the sending host.
fn script(plan: &FleetPlan, cell: &Cell, own_plan: Option<&str>) -> String {
    let [_, far] = plan.ends(cell);
    let via = format!("{} {far}", plan.programs.ssh);
    let run = words(plan.plans[cell.plan].words.iter().map(String::as_str));
    let (write, named) = match own_plan {
        Some(text) => {
            (format!("printf %s {} >\"$d/plan.toml\"\n", quoted(text)), "--plan \"$d/plan.toml\" ")
        }
        None => (String::new(), ""),
    };
    format!(
        "d=$(mktemp -d) || exit 5\n\
         trap 'rm -rf \"$d\"' EXIT\n\
         {write}\
         {zc} run {named}{run} --via {via} --out \"$d/run.jsonl.gz\" </dev/null >/dev/null &\n\
         zc=$!\n\
         {{ cat >/dev/null; kill -TERM $zc; }} 2>/dev/null <&3 &\n\
         wait $zc\n\
         code=$?\n\
         kill $! 2>/dev/null\n\
         [ ! -e \"$d/run.jsonl.gz\" ] || cat \"$d/run.jsonl.gz\"\n\
         exit $code\n",
        zc = words(plan.zc.split_whitespace()),
        via = quoted(&via),
    )
}

/// A measurement that runs.
#[derive(Debug)]
pub struct Measuring {
    folder: Folder,
    child: Child,
    part: PathBuf,
    run: PathBuf,
    exit: PathBuf,
}

/// Begins a measurement. `attempt` distinguishes its files from those of earlier ones.
///
/// # Errors
/// A file cannot be written or read, or the command cannot be started.
pub fn begin(folder: &Folder, plan: &FleetPlan, cell: &Cell, attempt: &str) -> Result<Measuring> {
    let [run, exit, log] = folder.files(&cell.id, attempt);
    let part = exit.with_extension("part");
    let own_plan = folder.own_plan(&plan.plans[cell.plan])?;
    let [near, _] = plan.ends(cell);
    let mut ssh = plan.programs.ssh.split_whitespace();
    let command = ssh.next().unwrap_or("ssh");
    // The shell that ssh starts may be any: sh reads the script. Its own stdin stays that of ssh.
    let remote = format!("exec 3<&0; sh -c {}", quoted(&script(plan, cell, own_plan.as_deref())));
    let child = Command::new(command)
        .args(ssh)
        .arg(near)
        .arg(remote)
        .stdin(Stdio::piped())
        .stdout(folder.create_new(&part)?)
        .stderr(folder.create_new(&log)?)
        .spawn()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::unsupported(
                "command-not-found",
                format!("there is no command \"{command}\" here"),
            )
            .help("[ssh] command in the fleet's file says how hosts are reached"),
            _ => Error::os(format!("start {command}"), error),
        })?;
    Ok(Measuring { folder: folder.clone(), child, part, run, exit })
}

impl Measuring {
    /// Tells the other end to stop: it saves what it has.
    pub fn stop(&mut self) {
        drop(self.child.stdin.take());
    }

    /// The exit code, once it has ended. The run is then in the folder.
    ///
    /// # Errors
    /// Its end cannot be written down.
    pub fn ended(&mut self) -> Result<Option<u8>> {
        let ended = self.child.try_wait().map_err(|error| Error::os("wait for ssh", error))?;
        let Some(status) = ended else { return Ok(None) };
        let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(137);
        let failed = |error| {
            Error::output("cannot-save-run", format!("cannot write the run: {}", in_words(&error)))
        };
        if self.part.metadata().is_ok_and(|part| part.len() > 0) {
            std::fs::rename(&self.part, &self.run).map_err(failed)?;
        } else {
            std::fs::remove_file(&self.part).map_err(failed)?;
        }
        self.folder.write(&self.exit, &format!("{code}\n"))?;
        Ok(Some(code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::four_hosts;

    #[test]
    fn the_script_of_a_measurement() {
        let plan = four_hosts("engine = \"ssh\"\n");
        let cell = plan.cells().next().unwrap();
        insta::assert_snapshot!(script(&plan, cell, None));
        let with_plan = script(&plan, cell, Some("title = \"it's\"\n"));
        assert!(with_plan.contains("printf %s 'title = \"it'\\''s\"\n' >\"$d/plan.toml\""));
    }
}
