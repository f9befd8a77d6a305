//! The emulator against a GPU's results: every file in `golden/`.

use std::path::Path;
use warpfold_ladder::run::golden::Golden;

#[test]
fn the_emulator_gives_the_bits_that_gpus_gave() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let files: Vec<_> = std::fs::read_dir(&folder)
        .map(|entries| entries.map(|e| e.expect("a readable folder").path()).collect())
        .unwrap_or_default();
    let files = files.iter().filter(|path| path.extension().is_some_and(|e| e == "json"));
    let mut checked = 0;
    for path in files {
        let text = std::fs::read_to_string(path).expect("a readable file");
        let golden: Golden = serde_json::from_str(&text).expect("a golden file");
        assert!(golden.sums.len() > 100, "{}: too few sums", path.display());
        let differences = golden.differences();
        assert!(differences.is_empty(), "{} ({}):\n{}", path.display(), golden.device, differences.join("\n"));
        checked += 1;
    }
    if checked == 0 {
        println!("skipped: no golden file yet; `WARPFOLD_GOLDEN=FILE` on a machine with a GPU writes one");
    }
}
