//! A kernel that can be booted: its image, and the modules and the configuration that belong to it,
//! from what a user names: an image, a source tree, or a folder that a package was unpacked into.

use std::fs;
use std::path::{Path, PathBuf};

use zc_run::{Error, Result, escape};

use crate::image::{self, shown};

/// Where folders have an image.
const IN_SOURCES: &str = "arch/x86/boot/bzImage";
/// Folders below which modules are, as `MODULES/RELEASE`: distributions have one or the other.
const MODULES: [&str; 2] = ["lib/modules", "usr/lib/modules"];

/// A kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// What was named.
    pub given: PathBuf,
    /// The bzImage.
    pub image: PathBuf,
    /// Its release, as `uname -r` prints it: `6.1.0-50-amd64`.
    pub release: String,
    /// Its whole version: release, builder, number and date.
    pub version: String,
    /// The folder `lib/modules` with a folder of this release; `None` if none was found: then all
    /// that is needed has to be built in.
    pub modules: Option<PathBuf>,
    /// Its .config.
    pub config: Option<PathBuf>,
}

impl Kernel {
    /// The kernel that an image or a folder has.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): there is none, there are several, it is for another
    /// architecture, or its modules are of another release.
    pub fn find(given: &Path) -> Result<Self> {
        // The guest has the folder by its whole name.
        let place = given.canonicalize().map_err(|error| {
            let message = format!(
                "the kernel \"{}\" cannot be opened: {}",
                shown(given),
                zc_run::in_words(&error)
            );
            Error::input("no-such-file", message).help("check the name and the current folder")
        })?;
        let is_folder = place.is_dir();
        let image = if is_folder { only_image(&place)? } else { place.clone() };
        let version = image::version(&image)?;
        let release = version.split_whitespace().next().unwrap_or_default().to_owned();
        let roots = if is_folder { vec![place] } else { around(&image) };
        let modules = roots.iter().find_map(|root| modules_of(root, &release));
        if modules.is_none()
            && let Some(others) = releases(&roots[0])
        {
            let name = shown(given);
            let message = format!(
                "the kernel \"{name}\" is Linux {}, and the modules beside it are of {others}",
                escape(&release, 100)
            );
            return Err(Error::input("modules-do-not-match", message).help(
                "of a source tree: make modules_install INSTALL_MOD_PATH=. puts those of the last \
                 build there",
            ));
        }
        let config = config(&image, &release, &roots, modules.as_deref());
        Ok(Self { given: given.to_owned(), image, release, version, modules, config })
    }

    /// The folder of its own modules.
    pub(crate) fn own_modules(&self) -> Option<PathBuf> {
        self.modules.as_ref().map(|modules| modules.join(&self.release))
    }
}

/// The image of a folder.
fn only_image(folder: &Path) -> Result<PathBuf> {
    let sources = folder.join(IN_SOURCES);
    if sources.is_file() {
        return Ok(sources);
    }
    let mut found: Vec<PathBuf> = entries(&folder.join("boot"))
        .into_iter()
        .filter(|path| file_name(path).starts_with("vmlinuz"))
        .collect();
    if found.is_empty() {
        // As Fedora, Arch and NixOS pack them.
        let below = MODULES.iter().flat_map(|modules| entries(&folder.join(modules)));
        found =
            below.map(|release| release.join("vmlinuz")).filter(|path| path.is_file()).collect();
        found.dedup_by_key(|path| path.canonicalize().ok());
    }
    let name = shown(folder);
    match found.as_slice() {
        [image] => Ok(image.clone()),
        [] => Err(Error::input("no-kernel-in-folder", format!("there is no kernel in \"{name}\""))
            .help(format!("a source tree has one after make bzImage ({IN_SOURCES}), an unpacked package boot/vmlinuz-*"))),
        several => {
            let names: Vec<String> = several.iter().map(|path| escape(&file_name(path), 100)).collect();
            Err(Error::input("several-kernels-in-folder", format!("there are several kernels in \"{name}\": {}", names.join(", ")))
                .help("name the file of one"))
        }
    }
}

/// The folders that may have what belongs to an image: the one that it is in first.
fn around(image: &Path) -> Vec<PathBuf> {
    let depth = if image.ends_with(IN_SOURCES) { 3 } else { 0 };
    let folders = image.ancestors().skip(1 + depth).take(2);
    folders.map(Path::to_owned).collect()
}

fn modules_of(root: &Path, release: &str) -> Option<PathBuf> {
    let folders = MODULES.iter().map(|modules| root.join(modules));
    folders.into_iter().find(|modules| !release.is_empty() && modules.join(release).is_dir())
}

/// The releases whose modules a folder has, in words.
fn releases(root: &Path) -> Option<String> {
    let folders = MODULES.iter().flat_map(|modules| entries(&root.join(modules)));
    let names: Vec<String> = folders
        .filter(|path| path.join("kernel").is_dir())
        .map(|path| escape(&file_name(&path), 100))
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn config(
    image: &Path,
    release: &str,
    roots: &[PathBuf],
    modules: Option<&Path>,
) -> Option<PathBuf> {
    let beside = image.with_file_name(format!("config-{release}"));
    let of_tree =
        roots.iter().map(|root| root.join(".config")).filter(|_| image.ends_with(IN_SOURCES));
    let of_modules = modules.map(|modules| modules.join(release).join("config"));
    [beside].into_iter().chain(of_tree).chain(of_modules).find(|path| path.is_file())
}

/// What is in a folder, sorted; nothing if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::bzimage;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn with(files: &[&str]) -> Self {
            let folder = Self(tempfile::tempdir().unwrap());
            files.iter().for_each(|file| folder.write(file));
            folder
        }

        fn write(&self, file: &str) {
            let path = self.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let name = file_name(&path);
            let image = ["vmlinuz", "bzImage"].iter().any(|begin| name.starts_with(begin));
            let release = name.strip_prefix("vmlinuz-").unwrap_or("6.1.2");
            let text = if image { bzimage(&format!("{release} (a@b) #1")) } else { Vec::new() };
            fs::write(path, text).unwrap();
        }

        fn path(&self) -> PathBuf {
            self.0.path().canonicalize().unwrap()
        }

        fn find(&self, name: &str) -> Result<Kernel> {
            Kernel::find(&self.path().join(name))
        }
    }

    #[test]
    fn an_unpacked_package_has_its_image_modules_and_configuration() {
        let folder = Folder::with(&[
            "boot/vmlinuz-6.1.0-50",
            "boot/config-6.1.0-50",
            "usr/lib/modules/6.1.0-50/kernel/x.ko",
        ]);
        let kernel = folder.find("").unwrap();
        assert_eq!(kernel.release, "6.1.0-50");
        assert_eq!(kernel.version, "6.1.0-50 (a@b) #1");
        assert_eq!(kernel.modules, Some(folder.path().join("usr/lib/modules")));
        assert_eq!(kernel.config, Some(folder.path().join("boot/config-6.1.0-50")));
        assert_eq!(folder.find("boot/vmlinuz-6.1.0-50").unwrap().modules, kernel.modules);
    }

    #[test]
    fn a_source_tree_has_them_where_make_puts_them() {
        let files = ["arch/x86/boot/bzImage", ".config", "lib/modules/6.1.2/kernel/x.ko"];
        let folder = Folder::with(&files);
        for name in ["", "arch/x86/boot/bzImage"] {
            let kernel = folder.find(name).unwrap();
            assert_eq!(kernel.config, Some(folder.path().join(".config")), "{name}");
            assert_eq!(kernel.modules, Some(folder.path().join("lib/modules")), "{name}");
        }
    }

    #[test]
    fn an_image_alone_has_no_modules() {
        let folder = Folder::with(&["a/bzImage", "lib/modules/6.9/kernel/x.ko"]);
        let kernel = folder.find("a/bzImage").unwrap();
        assert_eq!((kernel.modules, kernel.config), (None, None));
    }

    #[test]
    fn modules_of_another_release_are_named() {
        let folder = Folder::with(&["boot/vmlinuz-6.2", "lib/modules/6.1.9/kernel/x.ko"]);
        let error = folder.find("").unwrap_err();
        assert_eq!(error.id, "modules-do-not-match");
        assert!(error.message.contains("Linux 6.2") && error.message.contains("6.1.9"), "{error}");
    }

    #[test]
    fn what_has_no_kernel_or_several_is_refused() {
        let folder = Folder::with(&["boot/vmlinuz-6.1", "boot/vmlinuz-6.2", "x/y"]);
        assert_eq!(folder.find("").unwrap_err().id, "several-kernels-in-folder");
        assert_eq!(folder.find("x").unwrap_err().id, "no-kernel-in-folder");
        assert_eq!(folder.find("z").unwrap_err().id, "no-such-file");
        assert_eq!(folder.find("x/y").unwrap_err().id, "not-a-kernel");
    }
}
