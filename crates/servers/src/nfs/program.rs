//! Programs of NFS that are installed, or are not, and what this kernel has of it.

use std::fs;
use std::path::PathBuf;

/// The first program of this name in the folders of PATH, or in those of programs for the
/// administrator, which a user's PATH may lack.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(usual)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Whether this kernel has a file system: it is there, or in a module that the kernel loads when it
/// is mounted.
pub(super) fn has_file_system(name: &str) -> bool {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    if read("/proc/filesystems").lines().any(|line| line.trim_start_matches("nodev").trim() == name)
    {
        return true;
    }
    let release = read("/proc/sys/kernel/osrelease");
    let modules = read(&format!("/lib/modules/{}/modules.dep", release.trim()));
    is_module(&modules, name)
}

/// Whether a list of modules (modules.dep(5)) has one of this name, compressed or not.
fn is_module(list: &str, name: &str) -> bool {
    list.lines().filter_map(|line| line.split(':').next()?.rsplit('/').next()).any(|file| {
        let rest = file.strip_prefix(name).and_then(|rest| rest.strip_prefix(".ko"));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_found_by_its_whole_name() {
        let list =
            "kernel/fs/nfsd/nfsd.ko: kernel/net/sunrpc/sunrpc.ko\nkernel/fs/nfs/nfs.ko.xz:\n";
        assert!(is_module(list, "nfsd") && is_module(list, "nfs"));
        assert!(!is_module(list, "sunrpc"), "it is what another needs, and has no line of its own");
        assert!(!is_module(list, "nf") && !is_module("", "nfs"));
        assert!(has_file_system("tmpfs"));
        assert!(!has_file_system("no-such-file-system"));
    }
}
