//! Imports between files: none in a circle, and none through the re-exports of the own crate's `lib.rs`.

use std::collections::BTreeMap;
use std::path::Path;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use super::finding::{Finding, Rule};
use super::floors::Member;
use super::modules::Modules;
use crate::error::Error;

/// Reads the modules of all crates and looks at their imports.
pub fn check(root: &Path, members: &[Member]) -> Result<Vec<Finding>, Error> {
    let mut modules = Modules::default();
    for target in members.iter().flat_map(|member| &member.roots) {
        modules.read(target.library.as_deref(), &target.file)?;
    }
    let name = |file: usize| {
        let path = modules.file(file);
        path.strip_prefix(root).unwrap_or(path).display().to_string()
    };
    let mut found = Vec::new();
    // One import for each pair of files, to show.
    let mut edges = BTreeMap::new();
    for import in modules.imports() {
        if let Some(source) = &import.climb {
            let text = format!("{}:{}: `{}` is `{source}`", name(import.from), import.line, import.path);
            found.push(Finding { rule: Rule::Climbs, text });
        }
        edges.entry((import.from, import.to)).or_insert(import);
    }
    let graph: DiGraphMap<usize, ()> = edges.keys().map(|&(from, to)| (from, to, ())).collect();
    for (number, mut circle) in tarjan_scc(&graph).into_iter().filter(|files| files.len() > 1).enumerate() {
        circle.sort_by_key(|&file| name(file));
        for &file in &circle {
            let others = circle.iter().filter_map(|&other| edges.get(&(file, other)));
            let others = others.map(|import| format!("{} (line {}: {})", name(import.to), import.line, import.path));
            let others: Vec<String> = others.collect();
            let text = format!("circle {}: {} imports {}", number + 1, name(file), others.join(", "));
            found.push(Finding { rule: Rule::Circles, text });
        }
    }
    Ok(found)
}
