//! The modules of the crates: what each defines, what it re-exports, what it imports.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use syn::{Item, UseTree, Visibility};

use crate::Error;

/// A module, whether it has a file of its own or not.
#[derive(Default)]
struct Module {
    parent: Option<usize>,
    file: usize,
    children: HashMap<String, usize>,
    items: HashSet<String>,
    /// Names that it lends to others, and what they name.
    exports: Vec<(String, Vec<String>)>,
    /// Modules all of whose names it lends.
    globs: Vec<Vec<String>>,
    /// What it imports.
    imports: Vec<Vec<String>>,
}

/// All modules of some crates.
pub struct Modules {
    modules: Vec<Module>,
    files: Vec<PathBuf>,
    crates: HashMap<String, usize>,
}

impl Modules {
    /// Reads crates, given their names and root files.
    pub fn read(crates: impl Iterator<Item = (String, PathBuf)>) -> Result<Self, Error> {
        let mut all = Self { modules: Vec::new(), files: Vec::new(), crates: HashMap::new() };
        for (name, file) in crates {
            let root = all.read_file(None, file)?;
            all.crates.insert(name, root);
        }
        Ok(all)
    }

    /// A file, by its number.
    pub fn file(&self, file: usize) -> &Path {
        &self.files[file]
    }

    /// Pairs of files, the first of which imports something of the second.
    pub fn imports(&self) -> BTreeSet<(usize, usize)> {
        let mut pairs = BTreeSet::new();
        for (at, module) in self.modules.iter().enumerate() {
            let found = module.imports.iter().filter_map(|path| self.resolve(at, path, 0));
            pairs.extend(found.map(|to| (module.file, self.modules[to].file)).filter(|(from, to)| from != to));
        }
        pairs
    }

    fn read_file(&mut self, parent: Option<usize>, file: PathBuf) -> Result<usize, Error> {
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let parsed = syn::parse_file(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        self.files.push(file.clone());
        let number = self.files.len() - 1;
        let is_root = file.file_name().is_some_and(|name| name == "lib.rs" || name == "mod.rs");
        let folder = if is_root { file.parent().map(Path::to_owned).unwrap_or_default() } else { file.with_extension("") };
        self.read_items(parent, number, &folder, parsed.items)
    }

    fn read_items(
        &mut self,
        parent: Option<usize>,
        file: usize,
        folder: &Path,
        items: Vec<Item>,
    ) -> Result<usize, Error> {
        let at = self.modules.len();
        self.modules.push(Module { parent, file, ..Module::default() });
        for item in items {
            let (name, attributes) = match &item {
                Item::Const(item) => (item.ident.to_string(), &item.attrs),
                Item::Enum(item) => (item.ident.to_string(), &item.attrs),
                Item::Fn(item) => (item.sig.ident.to_string(), &item.attrs),
                Item::Macro(item) => (item.ident.as_ref().map(ToString::to_string).unwrap_or_default(), &item.attrs),
                Item::Mod(item) => (item.ident.to_string(), &item.attrs),
                Item::Static(item) => (item.ident.to_string(), &item.attrs),
                Item::Struct(item) => (item.ident.to_string(), &item.attrs),
                Item::Trait(item) => (item.ident.to_string(), &item.attrs),
                Item::Type(item) => (item.ident.to_string(), &item.attrs),
                Item::Union(item) => (item.ident.to_string(), &item.attrs),
                Item::Use(item) => (String::new(), &item.attrs),
                _ => continue,
            };
            let of_tests = attributes.iter().any(|attribute| {
                attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
            });
            if of_tests {
                continue;
            }
            match item {
                Item::Mod(module) => {
                    let child = match module.content {
                        Some((_, items)) => self.read_items(Some(at), file, &folder.join(&name), items)?,
                        None => {
                            let own = folder.join(format!("{name}.rs"));
                            let nested = folder.join(&name).join("mod.rs");
                            self.read_file(Some(at), if own.exists() { own } else { nested })?
                        }
                    };
                    self.modules[at].children.insert(name, child);
                }
                Item::Use(import) => {
                    let lends = !matches!(import.vis, Visibility::Inherited);
                    self.read_use(at, lends, &mut Vec::new(), &import.tree);
                }
                _ => {
                    self.modules[at].items.insert(name);
                }
            }
        }
        Ok(at)
    }

    fn read_use(&mut self, at: usize, lends: bool, path: &mut Vec<String>, tree: &UseTree) {
        let module = &mut self.modules[at];
        let (last, known_as) = match tree {
            UseTree::Path(step) => {
                path.push(step.ident.to_string());
                self.read_use(at, lends, path, &step.tree);
                path.pop();
                return;
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.read_use(at, lends, path, tree));
                return;
            }
            UseTree::Glob(_) if lends => return module.globs.push(path.clone()),
            UseTree::Glob(_) => return module.imports.push(path.clone()),
            UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
            UseTree::Rename(name) => (name.ident.to_string(), name.rename.to_string()),
        };
        let mut whole = path.clone();
        whole.extend((last != "self").then_some(last));
        if lends {
            module.exports.push((known_as, whole));
        } else {
            module.imports.push(whole);
        }
    }

    /// The module that defines what a path names, or that it names.
    fn resolve(&self, from: usize, path: &[String], depth: usize) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        let mut root = from;
        while let Some(parent) = self.modules[root].parent {
            root = parent;
        }
        let start = match first.as_str() {
            "crate" => root,
            "self" => from,
            "super" => self.modules[from].parent?,
            name => match self.crates.get(name) {
                Some(&found) => found,
                None => return self.step(from, path, depth),
            },
        };
        self.step(start, rest, depth)
    }

    /// Goes on from a module.
    fn step(&self, at: usize, path: &[String], depth: usize) -> Option<usize> {
        let Some((name, rest)) = path.split_first() else { return Some(at) };
        if depth > 16 {
            return None;
        }
        let module = &self.modules[at];
        if name == "super" {
            return self.step(module.parent?, rest, depth);
        }
        if let Some(&child) = module.children.get(name) {
            return self.step(child, rest, depth);
        }
        if let Some((_, target)) = module.exports.iter().find(|(known_as, _)| known_as == name) {
            let target: Vec<String> = target.iter().chain(rest).cloned().collect();
            return self.resolve(at, &target, depth + 1);
        }
        if module.items.contains(name) {
            return Some(at);
        }
        module.globs.iter().find_map(|glob| {
            let target: Vec<String> = glob.iter().chain(path).cloned().collect();
            self.resolve(at, &target, depth + 1)
        })
    }
}
