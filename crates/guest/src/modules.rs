//! The modules of a kernel: which files have to be loaded, and in which order, by its modules.dep
//! (depmod(8), modules.dep(5)). What is built into the kernel has no file.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use zc_run::{Error, Result, escape, in_words};

use crate::image::shown;

/// The modules below `lib/modules/RELEASE`.
#[derive(Debug)]
pub(crate) struct Modules {
    folder: PathBuf,
    /// By name: the file, and the names of those that it needs.
    files: HashMap<String, (PathBuf, Vec<String>)>,
}

impl Modules {
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): there is no modules.dep that can be read.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let path = folder.join("modules.dep");
        let text = fs::read_to_string(&path).map_err(|error| {
            let name = shown(&path);
            let (base, release) = (folder.ancestors().nth(3), folder.file_name());
            let words = [base.map(Path::as_os_str), release].map(Option::unwrap_or_default);
            let [base, release] = words.map(|word| escape(&word.to_string_lossy(), 300));
            Error::input("no-modules-dep", format!("cannot read \"{name}\": {}", in_words(&error)))
                .help(format!("depmod -b {base} {release} makes it"))
        })?;
        Ok(Self { folder: folder.to_owned(), files: text.lines().filter_map(line).collect() })
    }

    /// The files of the modules with these names and of all that they need, each after what it
    /// needs. Names without a file are left out: what is built in has none.
    pub(crate) fn in_order<'a>(&self, wanted: impl IntoIterator<Item = &'a str>) -> Vec<PathBuf> {
        let (mut order, mut seen) = (Vec::new(), HashSet::new());
        for name in wanted {
            self.visit(name, &mut seen, &mut order);
        }
        order
    }

    fn visit<'a>(&'a self, name: &str, seen: &mut HashSet<&'a str>, order: &mut Vec<PathBuf>) {
        let Some((name, (file, needed))) = self.files.get_key_value(name) else { return };
        if !seen.insert(name) {
            return;
        }
        for each in needed.iter().rev() {
            self.visit(each, seen, order);
        }
        order.push(self.folder.join(file));
    }
}

/// `kernel/fs/9p/9p.ko.xz: kernel/net/9p/9pnet.ko.xz ...`
fn line(line: &str) -> Option<(String, (PathBuf, Vec<String>))> {
    let (file, needed) = line.split_once(':')?;
    let needed = needed.split_whitespace().map(|file| name(Path::new(file))).collect();
    Some((name(Path::new(file)), (PathBuf::from(file), needed)))
}

/// The name of a module by its file: `virtio_pci` of `virtio-pci.ko.zst`. Both signs are one
/// (modprobe(8)).
pub(crate) fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.split(".ko").next().unwrap_or_default().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEP: &str = "\
kernel/fs/9p/9p.ko: kernel/fs/netfs/netfs.ko kernel/net/9p/9pnet.ko
kernel/fs/netfs/netfs.ko:
kernel/net/9p/9pnet.ko: kernel/fs/netfs/netfs.ko
kernel/net/9p/9pnet_virtio.ko.zst: kernel/net/9p/9pnet.ko kernel/fs/netfs/netfs.ko kernel/virtio/virtio-ring.ko
kernel/virtio/virtio-ring.ko: kernel/virtio/virtio.ko
kernel/virtio/virtio.ko:
";

    fn modules(text: &str) -> (tempfile::TempDir, Result<Modules>) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("modules.dep"), text).unwrap();
        let modules = Modules::open(folder.path());
        (folder, modules)
    }

    #[test]
    fn each_module_comes_once_and_after_all_that_it_needs() {
        let (_folder, modules) = modules(DEP);
        let order = modules.unwrap().in_order(["9pnet_virtio", "9p", "overlay", "virtio_ring"]);
        let names: Vec<String> = order.iter().map(|file| name(file)).collect();
        let place = |wanted: &str| names.iter().position(|name| name == wanted).unwrap();
        assert_eq!(names.len(), 6, "{names:?}");
        for (first, second) in [
            ("virtio", "virtio_ring"),
            ("virtio_ring", "9pnet_virtio"),
            ("netfs", "9pnet"),
            ("9pnet", "9pnet_virtio"),
            ("9pnet", "9p"),
        ] {
            assert!(place(first) < place(second), "{names:?}");
        }
    }

    #[test]
    fn modules_that_need_each_other_do_not_hang_it() {
        let (_folder, modules) = modules("a.ko: b.ko\nb.ko: a.ko\n");
        assert_eq!(modules.unwrap().in_order(["a"]).len(), 2);
    }

    #[test]
    fn a_missing_modules_dep_is_an_error_with_the_command_that_makes_it() {
        let folder = tempfile::tempdir().unwrap();
        let modules = folder.path().join("lib/modules/6.1");
        let error = Modules::open(&modules).unwrap_err();
        assert_eq!(error.id, "no-modules-dep");
        let command = format!("depmod -b {} 6.1 ", folder.path().display());
        assert!(error.help.unwrap().starts_with(&command));
    }
}
