//! The modules that a file declares, and the paths to modules that it uses.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, UseTree};

use super::module::Module;

/// Contents of one file.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The paths in its code. They may lead beyond a module, to an item.
    pub(super) paths: Vec<Path>,
    /// The modules that it declares under `#[cfg(test)]`: `mod NAME;`.
    pub(super) test_modules: Vec<Module>,
}

/// A path, resolved from the crate's root.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) to: Module,
    /// Whether it is in code under `#[cfg(test)]`.
    pub(super) in_tests: bool,
}

/// Scans the text of `module`. `is_module` tells whether a path leads to a file.
///
/// # Errors
/// The text is not Rust.
pub(super) fn scan(
    text: &str,
    module: &Module,
    is_module: &dyn Fn(&Module) -> bool,
) -> syn::Result<Contents> {
    let mut scanner = Scanner {
        is_module,
        module: module.clone(),
        in_tests: false,
        contents: Contents::default(),
    };
    scanner.visit_file(&syn::parse_file(text)?);
    Ok(scanner.contents)
}

struct Scanner<'a> {
    is_module: &'a dyn Fn(&Module) -> bool,
    /// The module of the code that is visited, which may be an inner one.
    module: Module,
    in_tests: bool,
    contents: Contents,
}

/// Visits these with `in_tests` set if they are under `#[cfg(test)]`.
macro_rules! under_attributes {
    ($($visit:ident: $Node:ident,)+) => {
        $(fn $visit(&mut self, node: &'ast syn::$Node) {
            self.under(&node.attrs, |scanner| visit::$visit(scanner, node));
        })+
    };
}

impl<'ast> Visit<'ast> for Scanner<'_> {
    under_attributes! {
        visit_field: Field,
        visit_impl_item_const: ImplItemConst,
        visit_impl_item_fn: ImplItemFn,
        visit_item_const: ItemConst,
        visit_item_enum: ItemEnum,
        visit_item_fn: ItemFn,
        visit_item_impl: ItemImpl,
        visit_item_static: ItemStatic,
        visit_item_struct: ItemStruct,
        visit_item_trait: ItemTrait,
        visit_item_type: ItemType,
        visit_local: Local,
    }

    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        let inner = self.module.child(&node.ident.to_string());
        self.under(&node.attrs, |scanner| {
            if node.content.is_none() {
                scanner.contents.test_modules.extend(scanner.in_tests.then_some(inner));
                return;
            }
            let outer = std::mem::replace(&mut scanner.module, inner);
            visit::visit_item_mod(scanner, node);
            scanner.module = outer;
        });
    }

    fn visit_item_use(&mut self, node: &'ast syn::ItemUse) {
        // With colons in front it is a path from the root of all crates.
        if node.leading_colon.is_none() {
            self.under(&node.attrs, |scanner| scanner.tree(&node.tree, &mut Vec::new()));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() && path.segments.len() > 1 {
            let names = path.segments.iter().map(|segment| segment.ident.to_string());
            self.add(&names.collect::<Vec<_>>());
        }
        visit::visit_path(self, path);
    }

    /// The tokens of a macro need not be Rust: every path in them counts.
    fn visit_macro(&mut self, node: &'ast syn::Macro) {
        visit::visit_macro(self, node);
        self.tokens(node.tokens.clone());
    }
}

impl Scanner<'_> {
    fn under(&mut self, attributes: &[Attribute], visit: impl FnOnce(&mut Self)) {
        let outer = self.in_tests;
        self.in_tests |= attributes.iter().any(is_cfg_test);
        visit(self);
        self.in_tests = outer;
    }

    /// Adds the paths of the tree of a `use` behind `names`.
    fn tree(&mut self, tree: &UseTree, names: &mut Vec<String>) {
        let (name, rest) = match tree {
            UseTree::Path(path) => (Some(&path.ident), Some(&*path.tree)),
            UseTree::Name(name) => (Some(&name.ident), None),
            UseTree::Rename(rename) => (Some(&rename.ident), None),
            UseTree::Glob(_) => (None, None),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|item| self.tree(item, names));
            }
        };
        let outer = names.len();
        names.extend(name.map(ToString::to_string));
        match rest {
            Some(rest) => self.tree(rest, names),
            None => self.add(names),
        }
        names.truncate(outer);
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let mut names: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.add(&std::mem::take(&mut names));
                    }
                    names.push(ident.to_string());
                    colons = 0;
                }
                other => {
                    self.add(&std::mem::take(&mut names));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.add(&names);
    }

    /// Adds a path if it leads into this crate.
    fn add(&mut self, names: &[String]) {
        let mut names = names.iter().map(String::as_str).peekable();
        let mut to = match names.peek().copied() {
            Some("crate") => {
                names.next();
                Module::default()
            }
            Some("self" | "super") => self.module.clone(),
            Some(name) if (self.is_module)(&self.module.child(name)) => self.module.clone(),
            _ => return,
        };
        for name in names {
            to = match name {
                "self" => to,
                "super" => to.parent(),
                name => to.child(name),
            };
        }
        self.contents.paths.push(Path { to, in_tests: self.in_tests });
    }
}

/// Whether an attribute says that its item is compiled for tests alone.
fn is_cfg_test(attribute: &Attribute) -> bool {
    let has = |words: TokenStream, word: &str| {
        words.into_iter().any(|token| matches!(token, TokenTree::Ident(ident) if ident == word))
    };
    attribute.path().is_ident("cfg")
        && attribute
            .meta
            .require_list()
            .is_ok_and(|list| has(list.tokens.clone(), "test") && !has(list.tokens.clone(), "not"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let module = Module::default().child("a").child("b");
        let is_module = |module: &Module| module.to_string() == "a::b::child";
        let contents = scan(text, &module, &is_module).unwrap();
        let paths = contents.paths.iter();
        paths
            .map(|path| format!("{}{}", path.to, if path.in_tests { " in tests" } else { "" }))
            .collect()
    }

    #[test]
    fn trees_of_use_are_taken_apart() {
        assert_eq!(paths("use crate::x::Y;"), ["x::Y"]);
        assert_eq!(
            paths("pub(crate) use super::x::{self, Y as Z, w::{V, U}};"),
            ["a::x", "a::x::Y", "a::x::w::V", "a::x::w::U"]
        );
        assert_eq!(paths("use super::super::x::*;"), ["x"]);
        assert_eq!(paths("use child::X;\nuse self::y::Z;"), ["a::b::child::X", "a::b::y::Z"]);
        assert!(paths("use std::fmt;\nuse ::child::X;\nuse zc_run::{Error, Result};").is_empty());
    }

    #[test]
    fn paths_in_code_count() {
        assert_eq!(
            paths("fn f(x: crate::x::Y) { super::z::g(child::h()) }"),
            ["x::Y", "a::z::g", "a::b::child::h"]
        );
        assert!(paths("fn f() { other::child::g(); child.h() }").is_empty());
        assert_eq!(
            paths("fn f() { any![x: super::z, (crate::x::Y, other::z::W)] }"),
            ["a::z", "x::Y"]
        );
    }

    #[test]
    fn super_in_an_inner_module_is_the_module_around_it() {
        assert_eq!(
            paths("mod inner { use super::X; use super::super::Y; } use super::Z;"),
            ["a::b::X", "a::Y", "a::Z"]
        );
    }

    #[test]
    fn code_under_cfg_test_is_marked() {
        for item in [
            "mod tests { use super::X; fn f() {} }",
            "use super::b::{X};",
            "#[allow(dead_code)] fn f(x: [u8; 2]) { super::b::X }",
            "const X: u8 = { super::b::X };",
        ] {
            let found = paths(&format!("#[cfg(test)]\n{item}\nuse super::after::Y;"));
            assert_eq!(found, ["a::b::X in tests", "a::after::Y"], "{item}");
        }
        let found = paths("struct S { #[cfg(test)] x: super::X, y: super::Y }");
        assert_eq!(found, ["a::X in tests", "a::Y"]);
        assert_eq!(paths("#[cfg(not(test))] use super::X;"), ["a::X"]);
    }

    #[test]
    fn modules_that_are_declared_for_tests_are_found() {
        let module = Module::default().child("a");
        let contents = scan("mod b; #[cfg(test)] mod c; mod d;", &module, &|_| false).unwrap();
        assert_eq!(contents.test_modules, [module.child("c")]);
    }
}
