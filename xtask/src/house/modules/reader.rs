//! Reads the sources of a crate, file by file.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, Item, Lit, Meta, MetaNameValue, Token, UseTree, Visibility};

use super::{Module, Modules, Names};
use crate::error::Error;

impl Modules {
    /// Reads a crate, given the root file. Only a library has a name.
    pub fn read(&mut self, library: Option<&str>, file: &Path) -> Result<(), Error> {
        let root = self.read_file(None, file.to_owned())?;
        self.libraries.extend(library.map(|name| (name.to_owned(), root)));
        Ok(())
    }

    fn read_file(&mut self, parent: Option<usize>, file: PathBuf) -> Result<usize, Error> {
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let parsed = syn::parse_file(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        let owns_folder = parent.is_none() || file.file_name().is_some_and(|name| name == "mod.rs");
        let folder =
            if owns_folder { file.parent().map(Path::to_owned).unwrap_or_default() } else { file.with_extension("") };
        self.files.push(file);
        self.read_module(parent, self.files.len() - 1, &folder, parsed.items)
    }

    /// Reads the items of a module, whose children have their files in a folder.
    fn read_module(
        &mut self,
        parent: Option<usize>,
        file: usize,
        folder: &Path,
        items: Vec<Item>,
    ) -> Result<usize, Error> {
        let at = self.modules.len();
        self.modules.push(Module { parent, file, ..Module::default() });
        for item in items {
            let (name, attributes) = signature(&item);
            if attributes.iter().any(of_tests) {
                continue;
            }
            let exported = attributes.iter().any(|attribute| attribute.path().is_ident("macro_export"));
            let elsewhere = attributes.iter().find_map(path);
            match item {
                Item::Mod(module) => {
                    let child = match module.content {
                        Some((_, items)) => self.read_module(Some(at), file, &folder.join(&name), items)?,
                        None => {
                            let own = folder.join(format!("{name}.rs"));
                            let nested = folder.join(&name).join("mod.rs");
                            let usual = if own.exists() { own } else { nested };
                            let file = elsewhere.map_or(usual, |path| self.files[file].with_file_name(path));
                            self.read_file(Some(at), file)?
                        }
                    };
                    self.modules[at].children.insert(name, child);
                }
                Item::Use(import) => {
                    let lends = !matches!(import.vis, Visibility::Inherited);
                    let module = &mut self.modules[at];
                    for Imported { known_as, path, line } in flatten(&import.tree) {
                        if !lends {
                            module.imports.push((path.clone(), line));
                        }
                        match known_as {
                            Some(name) => drop(module.aliases.insert(name, path)),
                            None => module.globs.push(path),
                        }
                    }
                }
                _ => {
                    if exported {
                        let root = self.root(at);
                        self.modules[root].macros.insert(name.clone(), at);
                    }
                    let module = &mut self.modules[at];
                    module.items.insert(name);
                    Paths { found: &mut module.imports }.visit_item(&item);
                }
            }
        }
        Ok(at)
    }
}

/// An item's name, if it has one, and its attributes.
fn signature(item: &Item) -> (String, &[Attribute]) {
    let (name, attributes) = match item {
        Item::Const(item) => (item.ident.to_string(), &item.attrs),
        Item::Enum(item) => (item.ident.to_string(), &item.attrs),
        Item::Fn(item) => (item.sig.ident.to_string(), &item.attrs),
        Item::Impl(item) => (String::new(), &item.attrs),
        Item::Macro(item) => (item.ident.as_ref().map(ToString::to_string).unwrap_or_default(), &item.attrs),
        Item::Mod(item) => (item.ident.to_string(), &item.attrs),
        Item::Static(item) => (item.ident.to_string(), &item.attrs),
        Item::Struct(item) => (item.ident.to_string(), &item.attrs),
        Item::Trait(item) => (item.ident.to_string(), &item.attrs),
        Item::Type(item) => (item.ident.to_string(), &item.attrs),
        Item::Union(item) => (item.ident.to_string(), &item.attrs),
        Item::Use(item) => (String::new(), &item.attrs),
        _ => return (String::new(), &[]),
    };
    (name, attributes)
}

/// Where the attribute `path` says that a module's file is, from the folder of the file that has the attribute.
fn path(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(MetaNameValue { path, value: Expr::Lit(ExprLit { lit: Lit::Str(file), .. }), .. }) => {
            path.is_ident("path").then(|| file.value())
        }
        _ => None,
    }
}

/// Whether an attribute is `cfg(test)`, or a `cfg(all(..))` with `test` or `doctest`.
fn of_tests(attribute: &Attribute) -> bool {
    fn needs_test(condition: &Meta) -> bool {
        match condition {
            Meta::Path(path) => path.is_ident("test") || path.is_ident("doctest"),
            Meta::List(list) if list.path.is_ident("all") => {
                let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
                parts.is_ok_and(|parts| parts.iter().any(needs_test))
            }
            _ => false,
        }
    }
    attribute.path().is_ident("cfg") && attribute.parse_args::<Meta>().is_ok_and(|condition| needs_test(&condition))
}

/// One name of a `use`, or one glob.
struct Imported {
    /// The name in scope. A glob has none.
    known_as: Option<String>,
    path: Names,
    line: usize,
}

/// The names that a `use` imports.
fn flatten(tree: &UseTree) -> Vec<Imported> {
    fn add(tree: &UseTree, path: &mut Names, found: &mut Vec<Imported>) {
        let (last, known_as) = match tree {
            UseTree::Path(step) => {
                path.push(step.ident.to_string());
                add(&step.tree, path, found);
                path.pop();
                return;
            }
            UseTree::Group(group) => return group.items.iter().for_each(|tree| add(tree, path, found)),
            UseTree::Glob(glob) => {
                let line = glob.star_token.spans[0].start().line;
                return found.push(Imported { known_as: None, path: path.clone(), line });
            }
            UseTree::Name(name) => (&name.ident, &name.ident),
            UseTree::Rename(name) => (&name.ident, &name.rename),
        };
        let line = last.span().start().line;
        let mut whole = path.clone();
        let mut known_as = known_as.to_string();
        if last == "self" {
            // `use a::b::{self}` brings `b` into scope.
            if known_as == "self" {
                known_as = path.last().cloned().unwrap_or_default();
            }
        } else {
            whole.push(last.to_string());
        }
        found.push(Imported { known_as: Some(known_as), path: whole, line });
    }
    let mut found = Vec::new();
    add(tree, &mut Vec::new(), &mut found);
    found
}

/// Collects the paths in an item that have more than one name.
struct Paths<'a> {
    found: &'a mut Vec<(Names, usize)>,
}

impl Paths<'_> {
    /// The paths among a macro's tokens, which may be anything.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let mut path: Names = Vec::new();
        let (mut line, mut colons, mut dollar) = (0, 0, false);
        for token in tokens {
            match &token {
                TokenTree::Ident(name) if colons == 2 && !path.is_empty() => path.push(name.to_string()),
                TokenTree::Punct(mark) if mark.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                _ => {
                    self.add(std::mem::take(&mut path), line);
                    match &token {
                        TokenTree::Ident(name) => {
                            line = name.span().start().line;
                            path.push(if dollar { format!("${name}") } else { name.to_string() });
                        }
                        TokenTree::Group(group) if group.delimiter() != Delimiter::None || colons != 2 => {
                            self.read_tokens(group.stream());
                        }
                        _ => {}
                    }
                }
            }
            colons = 0;
            dollar = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == '$');
        }
        self.add(path, line);
    }

    fn add(&mut self, path: Names, line: usize) {
        if path.len() > 1 {
            self.found.push((path, line));
        }
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !signature(item).1.iter().any(of_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        for Imported { path, line, .. } in flatten(&import.tree) {
            self.found.push((path, line));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let Some(first) = path.segments.first() {
            let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.add(names, first.ident.span().start().line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.read_tokens(call.tokens.clone());
    }

    // `pub(in crate::a)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}
