//! The ladder in the emulator: a table, or with `--json F`, `--csv F`, `--markdown F`, `--svg F`, `--html F` a file.
//! `cargo run -p warpfold-ladder --example emulate -- [elements] [--html page.html]…`

mod record;

use warpfold_ladder::render;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (n, files) = match words.first().map(|w| w.parse()) {
        Some(Ok(n)) => (n, &words[1..]),
        _ => (1 << 14, &words[..]),
    };
    let record = record::emulated(n);
    if files.is_empty() {
        print!("{}", render::table(&record));
    }
    for pair in files.chunks(2) {
        let [form, path] = pair else { return Err("each form needs a file name".into()) };
        let text = match &form[..] {
            "--json" => serde_json::to_string_pretty(&record)? + "\n",
            "--csv" => render::csv(&record),
            "--markdown" => render::markdown(&record),
            "--svg" => render::svg(&record),
            "--html" => render::html(&record),
            other => return Err(format!("unknown form {other}").into()),
        };
        std::fs::write(path, text)?;
    }
    Ok(())
}
