//! Writes `docs/ladder.md`; with `--check`, fails if it is not what would be written. `cargo xtask docs` runs this.

mod generate;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let page = generate::page()?;
    let path = generate::root().join("docs/ladder.md");
    if std::env::args().any(|word| word == "--check") {
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        if committed == page {
            return Ok(());
        }
        let differs = committed.lines().zip(page.lines()).position(|(a, b)| a != b);
        let line = differs.unwrap_or(committed.lines().count().min(page.lines().count())) + 1;
        return Err(
            format!("docs/ladder.md is not what it is generated from (line {line}): run `cargo xtask docs`").into()
        );
    }
    std::fs::create_dir_all(path.parent().expect("a folder"))?;
    std::fs::write(path, page)?;
    Ok(())
}
