//! NVIDIA's assembler, as a judge: does every GPU take the kernels, without spills, stack or calls?

use crate::compile::Entry;
use crate::error::Error;
use std::collections::HashSet;
use std::path::PathBuf;
use std::process::Command;

/// The GPUs that entries are assembled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gpus {
    /// The oldest generation supported, the newest, and the one that the kernels are tuned on.
    All,
    /// The last of these. For the others entries are read and not assembled, which takes a twentieth of the time.
    Tuned,
}

impl Gpus {
    fn names(self) -> [&'static str; 3] {
        match self {
            Gpus::All => ["sm_75", TUNED, "sm_120"],
            Gpus::Tuned => ["compute_75", TUNED, "compute_120"],
        }
    }
}

/// The one that the kernels are tuned on.
const TUNED: &str = "sm_90";
/// What the name of a GPU begins with for which `ptxas` reads and checks PTX, and makes no code.
const READ: &str = "compute_";
/// The same, with instructions of its own.
const HOPPER: &str = "sm_90a";

/// All entries as one module: one header, then nothing but what is shipped.
#[must_use]
pub fn text(entries: &[Entry]) -> String {
    // An entry may declare a shared array before itself.
    let start = |e: &Entry| e.module.find(".extern").or_else(|| e.module.find(".visible")).unwrap_or_default();
    let header = entries.first().map_or("", |e| &e.module[..start(e)]);
    header.to_owned() + &entries.iter().map(|e| &e.module[start(e)..]).collect::<String>()
}

/// Assembles all entries for these GPUs; prints registers, returns faults. An entry that needs the stack is at fault,
/// unless `may` says that it was measured to be faster so.
///
/// # Errors
/// If there is no `ptxas`, or it does not start.
pub fn check(entries: &[Entry], gpus: Gpus, may: impl Fn(&str) -> bool) -> Result<Vec<String>, Error> {
    let mut faults = Vec::new();
    for (entries, gpus) in generations(entries, &gpus.names()) {
        let mut running = Vec::new();
        std::thread::scope(|scope| {
            let threads: Vec<_> = gpus.iter().map(|gpu| scope.spawn(|| assemble(&entries, gpu))).collect();
            running.extend(threads.into_iter().map(|thread| thread.join().expect("no assembler panics")));
        });
        for (gpu, out) in gpus.into_iter().zip(running) {
            judge(&entries, gpu, &out?, &may, &mut faults);
        }
    }
    Ok(faults)
}

/// Entries for all GPUs with these, those that the oldest does not take without it, by their headers, and those that
/// only Hopper takes with it alone.
fn generations(entries: &[Entry], gpus: &[&'static str]) -> Vec<(Vec<Entry>, Vec<&'static str>)> {
    let (hopper, rest): (Vec<Entry>, Vec<Entry>) = entries.iter().cloned().partition(Entry::is_hopper);
    let (newer, rest): (Vec<Entry>, Vec<Entry>) = rest.into_iter().partition(Entry::is_newer);
    let (newest, any): (Vec<Entry>, Vec<Entry>) = rest.into_iter().partition(Entry::is_newest);
    let newer_gpus: Vec<_> = gpus.iter().copied().filter(|gpu| !gpu.ends_with("75")).collect();
    let all = [(any, gpus.to_vec()), (newer, newer_gpus.clone()), (newest, newer_gpus), (hopper, vec![HOPPER])];
    all.into_iter().filter(|(entries, _)| !entries.is_empty()).collect()
}

/// What `ptxas` says of entries for a GPU, and whether it takes them.
fn assemble(entries: &[Entry], gpu: &str) -> Result<(String, bool), Error> {
    let ptxas = find().ok_or(Error::NoPtxas)?;
    let file = std::env::temp_dir().join(format!("warpfold-{}-{gpu}.ptx", std::process::id()));
    std::fs::write(&file, text(entries)).map_err(Error::file(&file))?;
    let out = Command::new(&ptxas).args(["-v", "-arch", gpu, "-o", "/dev/null"]).arg(&file).output();
    let out = out.map_err(Error::program(&ptxas))?;
    std::fs::remove_file(&file).map_err(Error::file(&file))?;
    let said = String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout);
    Ok((said, out.status.success()))
}

/// Prints registers, and adds what is at fault.
fn judge(
    entries: &[Entry],
    gpu: &str,
    (text, is_taken): &(String, bool),
    may: &impl Fn(&str) -> bool,
    faults: &mut Vec<String>,
) {
    if !is_taken {
        let shown: Vec<&str> = text.lines().filter(|l| l.contains("error") || l.contains("fatal")).take(8).collect();
        faults.push(format!("{gpu}: ptxas refuses the kernels:\n  {}", shown.join("\n  ")));
        return;
    }
    if gpu.starts_with(READ) {
        println!("{gpu:>11}: {} entries, not assembled", entries.len());
        return;
    }
    // It waits for each product before the next then.
    faults.extend(text.lines().filter(|l| l.contains("serialized")).map(|l| format!("{gpu}: {l}")));
    let bounded: HashSet<&str> =
        entries.iter().filter(|e| e.module.contains(".minnctapersm")).map(|e| e.name.as_str()).collect();
    let uses = parse(text);
    if uses.len() != entries.len() {
        faults.push(format!("{gpu}: ptxas spoke of {} entries, not {}", uses.len(), entries.len()));
    }
    // How many blocks are to fit was found on one generation; another may need the stack for that, which costs time,
    // not bits.
    let (noted, wrong): (Vec<&Use>, Vec<&Use>) = uses
        .iter()
        .filter(|u| u.memory > 0)
        .partition(|u| may(&u.entry) || !gpu.starts_with(TUNED) && bounded.contains(u.entry.as_str()));
    if let Some(most) = noted.iter().map(|u| u.memory).max() {
        println!(
            "{gpu:>11}: {} entries need the stack to fit as many blocks as asked, at most {most} bytes",
            noted.len()
        );
    }
    faults.extend(wrong.iter().map(|u| format!("{gpu}: {} needs {} bytes of stack and spills", u.entry, u.memory)));
    let most = uses.iter().max_by_key(|u| u.registers);
    let most = most.map_or(String::new(), |u| format!("most registers: {} ({})", u.registers, u.entry));
    println!("{gpu:>11}: {} entries, {most}", uses.len());
}

/// What each entry takes on the generation that the kernels are tuned on.
///
/// # Errors
/// If there is no `ptxas`, or it does not start.
pub fn uses(entries: &[Entry]) -> Result<Vec<Use>, Error> {
    let mut found = Vec::new();
    for (entries, gpus) in generations(entries, &[TUNED]) {
        for gpu in gpus {
            found.extend(parse(&assemble(&entries, gpu)?.0));
        }
    }
    Ok(found)
}

/// The machine code of an entry for a GPU, by its compute capability: `90`.
///
/// # Errors
/// If there is no `ptxas`, or it does not start, or refuses.
pub fn image(entry: &Entry, gpu: &str) -> Result<Vec<u8>, Error> {
    let ptxas = find().ok_or(Error::NoPtxas)?;
    let base = std::env::temp_dir().join(format!("warpfold-{}-{}-{gpu}", std::process::id(), entry.name));
    let [text, code] = ["ptx", "cubin"].map(|extension| base.with_extension(extension));
    std::fs::write(&text, &entry.module).map_err(Error::file(&text))?;
    let status = Command::new(&ptxas).args(["-arch", &format!("sm_{gpu}"), "-o"]).args([&code, &text]).status();
    status.map_err(Error::program(&ptxas))?;
    // Where it refuses, there is none.
    let image = std::fs::read(&code).map_err(Error::file(&code));
    for file in [text, code] {
        let _ = std::fs::remove_file(file);
    }
    image
}

/// What one entry takes on one GPU.
#[derive(Debug, Default, PartialEq)]
pub struct Use {
    /// Its name.
    pub entry: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of stack frame and spills.
    pub memory: u32,
}

fn parse(text: &str) -> Vec<Use> {
    let mut uses: Vec<Use> = Vec::new();
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let entry = rest.split('\'').next().unwrap_or_default().to_owned();
            uses.push(Use { entry, ..Use::default() });
        } else if let Some(entry) = uses.last_mut() {
            if line.contains("bytes stack frame") {
                entry.memory = line.split_whitespace().filter_map(|w| w.parse::<u32>().ok()).sum();
            } else if let Some((_, rest)) = line.split_once("Used ") {
                entry.registers = rest.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or_default();
            }
        }
    }
    uses
}

fn find() -> Option<PathBuf> {
    let named = std::env::var_os("PTXAS").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|p| p.join("ptxas"));
    named.into_iter().chain(on_path).chain(in_site_packages()).find(|p| p.is_file())
}

/// Where `pip install nvidia-cuda-nvcc` puts it: in an environment, for the user, or for all.
fn in_site_packages() -> Vec<PathBuf> {
    let environment = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let user = std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".local"));
    let prefixes = environment.into_iter().chain(user).chain(["/usr/local".into(), "/usr".into()]);
    let mut found = Vec::new();
    for lib in prefixes.map(|p| p.join("lib")) {
        let pythons = std::fs::read_dir(&lib).into_iter().flatten().flatten().map(|d| d.path());
        for python in pythons.filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("python3"))) {
            for packages in ["site-packages", "dist-packages"] {
                for package in ["cu13", "cuda_nvcc"] {
                    found.push(python.join(packages).join("nvidia").join(package).join("bin/ptxas"));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stack_and_spills_are_seen() {
        let text = "ptxas info    : Compiling entry function 'k' for 'sm_90'\n\
                    ptxas info    : Function properties for k\n    \
                    128 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n\
                    ptxas info    : Used 255 registers, used 1 barriers\n";
        assert_eq!(parse(text), [Use { entry: "k".into(), registers: 255, memory: 140 }]);
    }
}
