//! The facts about the program in records: digests of the sources, how the program was built, and where cargo put it.

#[path = "src/sources.rs"]
mod sources;

use std::path::{Path, PathBuf};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/sources.rs");
    for part in [&sources::CPU, &sources::GPU] {
        // Cargo watches a folder with everything in it.
        part.paths.iter().map(|path| root.join(path)).filter(|path| path.exists()).for_each(|path| {
            println!("cargo:rerun-if-changed={}", path.display());
        });
        println!("cargo:rustc-env=WARPFOLD_SOURCES_{}={}", part.name, part.digest(&root).unwrap_or_default());
    }
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    println!("cargo:rustc-env=WARPFOLD_BENCH_BUILD={}, opt-level {}", variable("PROFILE"), variable("OPT_LEVEL"));
    // target/release/build/warpfold-bench-1f/out
    let out = PathBuf::from(variable("OUT_DIR"));
    let target = out.ancestors().nth(4).unwrap_or(&out);
    println!("cargo:rustc-env=WARPFOLD_BENCH_TARGET={}", target.display());
}
