//! The source files of a crate and what they import from one another.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::module::Module;
use super::scan::scan;

/// The modules of a crate that have a file, with their imports.
#[derive(Debug, Default)]
pub struct Sources {
    files: BTreeMap<Module, Imports>,
}

#[derive(Debug, Default)]
struct Imports {
    code: BTreeSet<Module>,
    /// Imports of code under `#[cfg(test)]`.
    tests: BTreeSet<Module>,
}

impl Sources {
    /// Scans all source files below the folder `src`.
    ///
    /// # Errors
    /// A folder or a file cannot be read, or a file is not Rust.
    pub fn read(src: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        let mut folders = vec![src.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = std::fs::read_to_string(&path)?;
                    files.push((path.strip_prefix(src).unwrap_or(&path).to_owned(), text));
                }
            }
        }
        Self::from_texts(&files)
    }

    /// Scans files that are given by their paths below `src` and their texts.
    ///
    /// # Errors
    /// A file is not Rust.
    pub fn from_texts(files: &[(PathBuf, String)]) -> io::Result<Self> {
        let modules: BTreeSet<Module> =
            files.iter().map(|(path, _)| Module::from_path(path)).collect();
        let mut test_modules = BTreeSet::new();
        let mut found: BTreeMap<Module, Imports> = BTreeMap::new();
        for (path, text) in files {
            let module = Module::from_path(path);
            let contents = scan(text, &module, &|module| modules.contains(module))
                .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
            test_modules.extend(contents.test_modules);
            let imports = found.entry(module.clone()).or_default();
            for path in contents.paths {
                let to = file_of(path.to, &modules);
                if to != module {
                    if path.in_tests { &mut imports.tests } else { &mut imports.code }.insert(to);
                }
            }
        }
        for (module, imports) in &mut found {
            if test_modules.iter().any(|tests| tests.contains(module)) {
                imports.tests.append(&mut imports.code);
            }
        }
        Ok(Self { files: found })
    }

    /// The modules that have a file.
    pub fn modules(&self) -> impl Iterator<Item = &Module> {
        self.files.keys()
    }

    /// All imports between files, those of tests too: the importing module, the imported one.
    pub fn imports(&self) -> impl Iterator<Item = (&Module, &Module)> {
        self.files.iter().flat_map(|(from, imports)| {
            imports.code.iter().chain(&imports.tests).map(move |to| (from, to))
        })
    }

    /// The files that import a file in whose module they are, which lists them: the importing
    /// module, the imported one. Tests and the crate's root do not count.
    pub fn upward(&self) -> Vec<(&Module, &Module)> {
        self.files
            .iter()
            .flat_map(|(from, imports)| imports.code.iter().map(move |to| (from, to)))
            .filter(|(from, to)| to.contains(from) && !to.is_root())
            .collect()
    }

    /// The sets of files each of which imports, directly or through others, all others of its set.
    /// Tests and the crate's root do not count.
    pub fn circles(&self) -> Vec<BTreeSet<&Module>> {
        let reached: BTreeMap<&Module, BTreeSet<&Module>> =
            self.files.keys().map(|module| (module, self.reached_from(module))).collect();
        let mut circles = Vec::new();
        for (module, reached_from_it) in &reached {
            let circle: BTreeSet<&Module> = reached_from_it
                .iter()
                .copied()
                .filter(|other| reached[other].contains(module))
                .collect();
            if circle.len() > 1 && circle.first() == Some(module) {
                circles.push(circle);
            }
        }
        circles
    }

    fn reached_from<'a>(&'a self, module: &'a Module) -> BTreeSet<&'a Module> {
        let mut reached = BTreeSet::new();
        let mut left = vec![module];
        while let Some(next) = left.pop() {
            if !next.is_root() && reached.insert(next) {
                left.extend(self.files.get(next).into_iter().flat_map(|imports| &imports.code));
            }
        }
        reached
    }
}

/// The file that a path leads to: that of the innermost module on its way.
fn file_of(mut to: Module, modules: &BTreeSet<Module>) -> Module {
    while !modules.contains(&to) && !to.is_root() {
        to = to.parent();
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Sources {
        let files: Vec<(PathBuf, String)> =
            files.iter().map(|(path, text)| (path.into(), (*text).to_owned())).collect();
        Sources::from_texts(&files).unwrap()
    }

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let sources = sources(files);
        let names = |circle: &BTreeSet<&Module>| {
            circle.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        sources.circles().iter().map(names).collect()
    }

    fn upward(files: &[(&str, &str)]) -> Vec<String> {
        let sources = sources(files);
        sources.upward().iter().map(|(from, to)| format!("{from} -> {to}")).collect()
    }

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use super::b::B;"),
            ("b.rs", "use crate::c::{self};"),
            ("c/mod.rs", "fn f(a: crate::a::A) {}"),
            ("d.rs", "use super::{a, b};"),
        ];
        assert_eq!(circles(&files), ["a b c"]);
        assert!(circles(&files[..3]).is_empty());
    }

    #[test]
    fn a_file_that_imports_the_one_that_lists_it_is_found() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b; use b::B; pub struct A;"),
            ("a/b.rs", "use super::A;"),
        ];
        assert_eq!(upward(&files), ["a::b -> a"]);
        assert_eq!(circles(&files), ["a a::b"]);
        assert!(
            upward(&[("lib.rs", "mod a; pub struct X;"), ("a.rs", "use super::X;")]).is_empty()
        );
    }

    #[test]
    fn siblings_and_children_may_be_imported() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b; mod c; pub use b::B;"),
            ("a/b.rs", "use super::c::C;"),
            ("a/c.rs", "pub struct C;"),
        ];
        assert!(circles(&files).is_empty() && upward(&files).is_empty());
        assert_eq!(sources(&files).imports().count(), 2);
    }

    #[test]
    fn tests_may_import_what_they_test() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b; use b::B; #[cfg(test)] mod tests;"),
            ("a/b.rs", "#[cfg(test)] mod tests { use super::super::A; }"),
            ("a/tests.rs", "use super::*;"),
        ];
        assert!(circles(&files).is_empty() && upward(&files).is_empty());
        assert_eq!(sources(&files).imports().count(), 3);
    }
}
