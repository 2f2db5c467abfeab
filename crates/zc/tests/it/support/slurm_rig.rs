//! The Slurm cluster of contrib/fleet, as tests use it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Bounded as _, Running, path_with_zc, text, until};

/// A cluster that runs until it is dropped.
pub(crate) struct SlurmRig {
    /// Reads its stdin, whose end ends it.
    rig: Running,
    folder: PathBuf,
    /// The first process in its namespaces, by its number outside.
    inside: u32,
}

impl SlurmRig {
    /// Starts a cluster of this many nodes.
    ///
    /// # Errors
    /// Why it cannot be had here, as a sentence.
    pub(crate) fn up(nodes: u32) -> Result<Self, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/fleet/slurm-rig");
        let mut rig = Command::new(script)
            .args([&nodes.to_string(), "sh", "-c", "echo $RIG; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .start()
            .map_err(|error| format!("the rig cannot be started: {error}"))?;
        let mut first = String::new();
        let stdout = rig.stdout.as_mut().ok_or("the rig has no stdout")?;
        BufReader::new(stdout).read_line(&mut first).map_err(|error| error.to_string())?;
        if first.trim().is_empty() {
            let output = rig.wait_with_output().map_err(|error| error.to_string())?;
            let said = text(&output.stderr);
            let why = said.lines().next().unwrap_or("it said nothing").to_owned();
            assert_eq!(output.status.code(), Some(4), "the rig did not come up: {said}");
            return Err(why);
        }
        let of_this_test =
            std::fs::read_link("/proc/self/ns/net").map_err(|error| error.to_string())?;
        let is_inside = |pid: &u32| {
            let net = std::fs::read_link(format!("/proc/{pid}/ns/net"));
            let space = std::fs::read_link(format!("/proc/{pid}/ns/pid"));
            let of_children = std::fs::read_link(format!("/proc/{pid}/ns/pid_for_children"));
            net.is_ok_and(|net| net != of_this_test) && space.ok() == of_children.ok()
        };
        let inside = until("the rig has a process of its own", || {
            descendants(rig.id()).into_iter().find(is_inside)
        });
        Ok(Self { folder: PathBuf::from(first.trim()), inside, rig })
    }

    /// A program in the cluster, where Slurm's commands are, in this folder.
    pub(crate) fn command(&self, folder: &Path, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--target", &self.inside.to_string(), "--net", "--mount", "--uts", "--pid"])
            .arg(format!("--wd={}", folder.display()))
            .arg("env")
            .arg(format!("SLURM_CONF={}/slurm.conf", self.folder.display()))
            .arg(format!("RIG={}", self.folder.display()))
            .arg(format!("PATH={}/bin:{}:/usr/sbin:/sbin", self.folder.display(), path_with_zc()))
            .args(words)
            .stdin(Stdio::null())
            .env("COLUMNS", "120");
        command
    }

    /// The stdout of a program in the cluster; it must succeed.
    #[track_caller]
    pub(crate) fn printed(&self, folder: &Path, words: &[&str]) -> String {
        let output = self.command(folder, words).finish().unwrap();
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }
}

impl Drop for SlurmRig {
    /// Ends it as its user would, so that it removes its folder.
    fn drop(&mut self) {
        drop(self.rig.stdin.take());
        drop(self.rig.wait());
    }
}

/// A process's children, and theirs.
fn descendants(pid: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    children.flat_map(|child| [vec![child], descendants(child)].concat()).collect()
}
