//! The modules of crates: what each defines, what it re-exports, what it imports.
//!
//! An import is a `use`, or a path with `::` in code or in a macro, outside of tests. A re-export is no import itself.
//! The import of a re-exported name is one of the file that defines the name.

mod reader;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// A path of names. The first may be `crate`, `self` or `super`.
type Names = Vec<String>;

/// A module, in a file of its own or not.
#[derive(Default)]
struct Module {
    parent: Option<usize>,
    file: usize,
    children: HashMap<String, usize>,
    /// What it defines.
    items: HashSet<String>,
    /// The modules that define the macros of its crate, if it is the crate's root.
    macros: HashMap<String, usize>,
    /// The names that its `use`s bring into scope, and what they stand for.
    aliases: HashMap<String, Names>,
    /// The modules whose names its `use`s bring into scope.
    globs: Vec<Names>,
    /// What it imports, and in which line.
    imports: Vec<(Names, usize)>,
}

/// An import between two files, by their numbers.
pub struct Import {
    pub from: usize,
    pub to: usize,
    pub line: usize,
    /// As it is written.
    pub path: String,
    /// The path to import instead, if it takes a name from the own crate's root that the root does not define.
    pub climb: Option<String>,
}

/// All modules of some crates.
#[derive(Default)]
pub struct Modules {
    modules: Vec<Module>,
    files: Vec<PathBuf>,
    /// The roots of libraries, by name.
    libraries: HashMap<String, usize>,
}

impl Modules {
    /// A file, by its number.
    pub fn file(&self, file: usize) -> &Path {
        &self.files[file]
    }

    /// All imports of a file from another one.
    pub fn imports(&self) -> Vec<Import> {
        let mut found = Vec::new();
        for (at, module) in self.modules.iter().enumerate() {
            for (path, line) in &module.imports {
                let Some(to) = self.resolve(at, path, 0) else { continue };
                let (from, to) = (module.file, self.modules[to].file);
                if from != to {
                    let climb = self.climb(at, path);
                    found.push(Import { from, to, line: *line, path: path.join("::"), climb });
                }
            }
        }
        found
    }

    fn root(&self, mut module: usize) -> usize {
        while let Some(parent) = self.modules[module].parent {
            module = parent;
        }
        module
    }

    /// The source of a name that a path takes from the own crate's root, if the root does not define the name itself.
    /// A macro's `$crate` is no climb, because the other crates that use the macro see the root's names only.
    fn climb(&self, from: usize, path: &[String]) -> Option<String> {
        let mut at = from;
        let mut rest = path;
        while let Some((first, after)) = rest.split_first() {
            at = match (first.as_str(), self.modules[at].parent) {
                ("crate", _) => self.root(from),
                ("self", _) => at,
                ("super", Some(parent)) => parent,
                _ => break,
            };
            rest = after;
        }
        let (name, after) = rest.split_first()?;
        let module = &self.modules[at];
        let climbed = module.parent.is_none() && module.file != self.modules[from].file;
        let defines = |name| {
            module.children.contains_key(name) || module.items.contains(name) || module.macros.contains_key(name)
        };
        if !climbed || defines(name) {
            return None;
        }
        let source = match module.aliases.get(name) {
            Some(source) => source.join("::"),
            None => format!("<a glob>::{name}"),
        };
        let start = if module.children.contains_key(source.split("::").next()?) { "crate::" } else { "" };
        Some(after.iter().fold(format!("{start}{source}"), |path, name| format!("{path}::{name}")))
    }

    /// The module that a path names, or that defines what the path names.
    fn resolve(&self, from: usize, path: &[String], depth: usize) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" | "$crate" => self.step(self.root(from), rest, depth),
            "self" => self.step(from, rest, depth),
            "super" => self.step(self.modules[from].parent?, rest, depth),
            name => match self.libraries.get(name) {
                Some(&library) => self.step(library, rest, depth),
                None => self.step(from, path, depth),
            },
        }
    }

    /// The module that a path names from a module on, or that defines what the path names.
    fn step(&self, at: usize, path: &[String], depth: usize) -> Option<usize> {
        /// No re-export is re-exported more often.
        const DEEPEST: usize = 16;
        let Some((name, rest)) = path.split_first() else { return Some(at) };
        if depth > DEEPEST {
            return None;
        }
        let module = &self.modules[at];
        if name == "super" {
            return self.step(module.parent?, rest, depth);
        }
        // A module and an item may have the same name. The module is meant if the path goes on.
        let child = || module.children.get(name).and_then(|&child| self.step(child, rest, depth));
        let item = || module.items.contains(name).then_some(at).or_else(|| module.macros.get(name).copied());
        let alias = || {
            let target: Names = module.aliases.get(name)?.iter().chain(rest).cloned().collect();
            // `pub(crate) use some_macro` names what the module itself defines.
            (target != path).then(|| self.resolve(at, &target, depth + 1)).flatten()
        };
        let glob = || {
            let targets = module.globs.iter().map(|glob| glob.iter().chain(path).cloned().collect::<Names>());
            targets.filter(|target| target != path).find_map(|target| self.resolve(at, &target, depth + 1))
        };
        if rest.is_empty() {
            item().or_else(alias).or_else(child).or_else(glob)
        } else if module.children.contains_key(name) {
            child()
        } else {
            alias().or_else(item).or_else(glob)
        }
    }
}
