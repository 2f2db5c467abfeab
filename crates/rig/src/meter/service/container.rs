//! The cgroup of a container by its name: which path in /proc/PID/cgroup is that of a container of
//! Docker or Podman, or of a pod of Kubernetes.
//!
//! Runtimes name a container's cgroup by its id, 64 hexadecimal digits: `docker-ID.scope`,
//! `libpod-ID.scope`, `cri-containerd-ID.scope` and `crio-ID.scope` with systemd's driver, `ID`
//! alone with the driver cgroupfs; kubelet names a pod's by its uid, `kubepods-pod1234_ab.slice` or
//! `pod1234-ab`. The name of a container is in the runtime's own files, which mostly only root may
//! read, so the runtime is asked where they do not tell.
//!
//! # References
//! - moby, daemon/oci_linux.go (`CgroupsPath`)
//! - podman, libpod/container_internal_linux.go (`getOCICgroupPath`)
//! - kubernetes, pkg/kubelet/cm/cgroup_manager_linux.go (`ToSystemd`);
//!   pkg/kubelet/kuberuntime/helpers.go (`BuildPodLogsDirectory`)
//! - containers-storage, containers.go (`containers.json`, `volatile-containers.json`)

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::root::{numbered, read};
use zc_run::{Error, Result, escape};

/// Digits of a whole id.
const ID_DIGITS: usize = 64;
/// A shorter beginning of an id is taken for a name. `docker ps` prints twelve digits.
const LEAST_DIGITS: usize = 8;

/// What a part of a cgroup's path has to be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    /// A container, by its id or the beginning of it.
    Id(String),
    /// A pod, by its uid.
    Pod(String),
}

impl Wanted {
    /// The whole id or uid, if `part` of a path is its cgroup.
    fn found_in(&self, part: &str) -> Option<String> {
        // The monitors of containers have cgroups beside them: libpod-conmon-ID.scope.
        if part.contains("conmon") {
            return None;
        }
        match self {
            Self::Id(beginning) => {
                let name = part.strip_suffix(".scope").unwrap_or(part);
                let id = name.rsplit('-').next()?;
                (id.len() == ID_DIGITS && is_hex(id) && id.starts_with(beginning.as_str()))
                    .then(|| id.to_owned())
            }
            Self::Pod(uid) => {
                let name = part.strip_suffix(".slice").unwrap_or(part).replace('_', "-");
                name.ends_with(&format!("pod{uid}")).then(|| uid.clone())
            }
        }
    }
}

/// The paths of the container's cgroup in the hierarchies, as /proc/PID/cgroup has them.
///
/// # Errors
/// No container of this name runs where it can be seen, or several do.
pub(super) fn cgroup_paths(name: &str) -> Result<Vec<String>> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    find(Path::new("/"), home.as_deref(), name, &ask_runtimes)
}

fn find(
    root: &Path,
    home: Option<&Path>,
    name: &str,
    ask: &dyn Fn(&str) -> Vec<String>,
) -> Result<Vec<String>> {
    if name.is_empty() || name.starts_with('-') {
        return Err(Error::usage(
            "invalid-container-name",
            format!("\"{}\" is no name of a container", escape(name, 60)),
        )
        .help("the name or id that docker ps or podman ps prints, or a pod's name or uid"));
    }
    let mut wanted = by_files(root, home, name);
    if name.len() >= LEAST_DIGITS && is_hex(name) {
        wanted.push(Wanted::Id(name.to_owned()));
    }
    if is_uid(name) {
        wanted.push(Wanted::Pod(name.to_owned()));
    }
    let mut running = paths_of(root, &wanted);
    if running.is_empty() {
        let ids = ask(name).into_iter().filter(|id| id.len() == ID_DIGITS && is_hex(id));
        let asked: Vec<Wanted> = ids.map(Wanted::Id).collect();
        running = paths_of(root, &asked);
        wanted.extend(asked);
    }
    let told = escape(name, 100);
    let mut running = running.into_iter();
    match (running.next(), running.next()) {
        (Some((_, paths)), None) => Ok(paths),
        (Some((one, _)), Some((other, _))) => Err(Error::usage(
            "container-ambiguous",
            format!("several containers are called \"{told}\": {one} and {other}"),
        )
        .help("name one by its id or uid; a pod also by NAMESPACE/NAME")),
        (None, _) if !wanted.is_empty() => Err(Error::usage(
            "container-not-running",
            format!("no process of the container \"{told}\" is seen here: has it stopped?"),
        )
        .help("zc must run in the host's PID and cgroup namespaces; --cgroup PATH names a cgroup")),
        (None, _) => Err(Error::usage(
            "no-such-container",
            format!("there is no container and no pod \"{told}\" that is known here"),
        )
        .help(
            "names are in files that mostly root alone may read: as root, or by the id that docker \
             ps, podman ps or crictl ps print; --cgroup PATH names a cgroup",
        )),
    }
}

/// The paths of those that have processes, by id or uid.
fn paths_of(root: &Path, wanted: &[Wanted]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    if wanted.is_empty() {
        return found;
    }
    for pid in numbered(root, "proc") {
        let text = read(root, &format!("proc/{pid}/cgroup")).unwrap_or_default();
        // cgroups(7): `4:cpu,cpuacct:/docker/ID`, and `0::/system.slice/docker-ID.scope/init`.
        for path in text.lines().filter_map(|line| line.splitn(3, ':').nth(2)) {
            if let Some((id, path)) = cut(path, wanted) {
                let paths = found.entry(id).or_default();
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
        }
    }
    found
}

/// The path up to the part that was wanted, and that part's id.
fn cut(path: &str, wanted: &[Wanted]) -> Option<(String, String)> {
    let mut end = 0;
    for part in path.split_inclusive('/') {
        end += part.len();
        let part = part.trim_end_matches('/');
        if let Some(id) = wanted.iter().find_map(|wanted| wanted.found_in(part)) {
            return Some((id, path[..end].trim_end_matches('/').to_owned()));
        }
    }
    None
}

/// The ids that runtimes' files have for a name, as far as this user may read them.
fn by_files(root: &Path, home: Option<&Path>, name: &str) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    for id in entries(&root.join("var/lib/docker/containers")) {
        let config = read(root, &format!("var/lib/docker/containers/{id}/config.v2.json"));
        let config = config.and_then(|text| serde_json::from_str::<Docker>(&text).ok());
        if config.is_some_and(|config| config.name.trim_start_matches('/') == name) {
            wanted.push(Wanted::Id(id));
        }
    }
    let storages = [Some(root.join("var/lib/containers")), home.map(in_home)];
    for storage in storages.into_iter().flatten() {
        // Those of `podman run --rm` have a list of their own.
        for list in ["containers.json", "volatile-containers.json"] {
            let list = storage.join("storage/overlay-containers").join(list);
            let list = std::fs::read_to_string(list).unwrap_or_default();
            let list: Vec<Podman> = serde_json::from_str(&list).unwrap_or_default();
            let named = list.into_iter().filter(|one| one.names.iter().any(|it| it == name));
            wanted.extend(named.map(|one| Wanted::Id(one.id)));
        }
    }
    // NAMESPACE_NAME_UID; none of the three has a `_` in it.
    for folder in entries(&root.join("var/log/pods")) {
        let parts: Vec<&str> = folder.split('_').collect();
        if let [namespace, pod, uid] = parts[..]
            && (pod == name || name.split_once('/') == Some((namespace, pod)))
        {
            wanted.push(Wanted::Pod(uid.to_owned()));
        }
    }
    wanted
}

/// Podman's storage of a user: containers-storage.conf(5), `rootless_storage_path`.
fn in_home(home: &Path) -> PathBuf {
    home.join(".local/share/containers")
}

/// A part of Docker's config.v2.json.
#[derive(Deserialize)]
struct Docker {
    #[serde(rename = "Name")]
    name: String,
}

/// A part of an entry of containers.json of containers-storage.
#[derive(Deserialize)]
struct Podman {
    id: String,
    #[serde(default)]
    names: Vec<String>,
}

/// The names in a folder; empty if it cannot be read.
fn entries(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The ids that the runtimes which are installed have for a name: those of containers that run
/// rootless are known to the user's own Podman alone.
fn ask_runtimes(name: &str) -> Vec<String> {
    let ask = |runtime: &str| {
        let output = Command::new(runtime)
            .args(["container", "inspect", "--format", "{{.Id}}", name])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    ["docker", "podman"].into_iter().filter_map(ask).collect()
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether it can be a pod's uid: a UUID, or the 32 digits of a static pod's.
fn is_uid(text: &str) -> bool {
    text.len() >= 32 && text.split('-').all(|part| !part.is_empty() && is_hex(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::root;

    const WEB: &str = "1111111111111111111111111111111111111111111111111111111111111111";
    const DB: &str = "2222222222222222222222222222222222222222222222222222222222222222";
    const ROOTLESS: &str = "3333333333333333333333333333333333333333333333333333333333333333";
    const UID: &str = "0f3a1c2d-1234-4321-aaaa-0123456789ab";

    fn machine() -> tempfile::TempDir {
        let uid = UID.replace('-', "_");
        let user = "/user.slice/user-1000.slice/user@1000.service/user.slice";
        root(&[
            (
                &format!("var/lib/docker/containers/{WEB}/config.v2.json"),
                &format!("{{\"ID\":\"{WEB}\",\"Name\":\"/web\",\"State\":{{}}}}"),
            ),
            ("var/lib/docker/containers/broken/config.v2.json", "{"),
            (
                "var/lib/containers/storage/overlay-containers/containers.json",
                &format!("[{{\"id\":\"{DB}\",\"names\":[\"db\",\"web2\"]}},{{\"id\":\"x\"}}]"),
            ),
            (
                "home/me/.local/share/containers/storage/overlay-containers/volatile-containers.json",
                &format!("[{{\"id\":\"{ROOTLESS}\",\"names\":[\"mine\"]}}]"),
            ),
            (&format!("var/log/pods/default_front-1_{UID}/front/0.log"), ""),
            ("var/log/pods/other_front-1_ffffffff/front/0.log", ""),
            (
                "proc/10/cgroup",
                &format!("4:cpu,cpuacct:/docker/{WEB}\n1:name=systemd:/docker/{WEB}\n"),
            ),
            ("proc/11/cgroup", &format!("0::/machine.slice/libpod-{DB}.scope/container\n")),
            ("proc/12/cgroup", &format!("0::/machine.slice/libpod-conmon-{DB}.scope\n")),
            ("proc/13/cgroup", &format!("0::{user}/libpod-{ROOTLESS}.scope\n")),
            (
                "proc/14/cgroup",
                &format!(
                    "0::/kubepods.slice/kubepods-burstable.slice/\
                     kubepods-burstable-pod{uid}.slice/cri-containerd-{WEB}.scope\n"
                ),
            ),
            ("proc/15/cgroup", "0::/init.scope\n"),
            ("proc/self/cgroup", "0::/\n"),
        ])
    }

    #[test]
    fn a_container_is_found_by_its_name_its_id_and_a_pod_by_its_name_and_uid() {
        let machine = machine();
        let home = machine.path().join("home/me");
        let of = |name: &str| find(machine.path(), Some(&home), name, &|_| Vec::new());
        let one = |path: &str| Ok(vec![path.to_owned()]);
        let db = format!("/machine.slice/libpod-{DB}.scope");
        assert_eq!(of("db"), one(&db));
        assert_eq!(of("web2"), one(&db));
        assert_eq!(of(&DB[..12]), one(&db));
        let user = "/user.slice/user-1000.slice/user@1000.service/user.slice";
        assert_eq!(of("mine"), one(&format!("{user}/libpod-{ROOTLESS}.scope")));
        let uid = UID.replace('-', "_");
        let pod =
            format!("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid}.slice");
        for name in [UID, "front-1", "default/front-1"] {
            assert_eq!(of(name), one(&pod), "{name}");
        }
        // In every hierarchy, and in whatever another one made of it.
        let web = of("web").unwrap();
        assert!(web.contains(&format!("/docker/{WEB}")), "{web:?}");
    }

    #[test]
    fn who_is_not_found_is_told_why() {
        let machine = machine();
        let of = |name: &str, asked: &[&str]| {
            let asked: Vec<String> = asked.iter().map(|id| (*id).to_owned()).collect();
            find(machine.path(), None, name, &|_| asked.clone())
                .map_err(|error| error.id.into_owned())
        };
        assert_eq!(of("none", &[]), Err("no-such-container".to_owned()));
        assert_eq!(of("other/front-1", &[]), Err("container-not-running".to_owned()));
        assert_eq!(of("", &[]), Err("invalid-container-name".to_owned()));
        assert_eq!(of("--all", &[]), Err("invalid-container-name".to_owned()));
        // Only the runtime knows it.
        assert_eq!(of("mine", &[]), Err("no-such-container".to_owned()));
        assert!(of("mine", &[ROOTLESS]).is_ok());
        assert_eq!(of("mine", &["<no value>"]), Err("no-such-container".to_owned()));
        assert_eq!(of("mine", &[&"4".repeat(64)]), Err("container-not-running".to_owned()));
        assert_eq!(of("mine", &[ROOTLESS, DB]), Err("container-ambiguous".to_owned()));
    }

    #[test]
    fn cgroupfs_and_cri_o_have_names_of_their_own() {
        let id = Wanted::Id(WEB[..8].to_owned());
        for part in [WEB.to_owned(), format!("crio-{WEB}.scope"), format!("docker-{WEB}.scope")] {
            assert_eq!(id.found_in(&part).as_deref(), Some(WEB), "{part}");
        }
        for part in [&WEB[..63], "init.scope", &format!("crio-conmon-{WEB}.scope")] {
            assert_eq!(id.found_in(part), None, "{part}");
        }
        let pod = Wanted::Pod(UID.to_owned());
        assert!(pod.found_in(&format!("pod{UID}")).is_some());
        assert!(pod.found_in("pod0f3a").is_none());
    }
}
