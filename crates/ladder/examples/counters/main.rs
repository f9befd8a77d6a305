//! What the emulator counts for every rung: `cargo run --example counters [elements]`.

use warpfold_kernels::ladder::{Family, Form, rungs};
use warpfold_ladder::{Ran, Sizes, Tuning, emulate_centroids, emulate_reduce};

fn main() {
    let n = std::env::args().nth(1).map_or(4096, |n| n.parse().expect("a number of elements"));
    println!("rung              faults  barriers  branch  active  shared  conflicts   worst  sectors   atomic");
    println!("                          /block    eff. %  lanes   waves/request       way    /request  passes");
    for rung in rungs().iter().filter(|r| r.form != Form::Slot) {
        match rung.family {
            Family::A | Family::B => {
                let x: Vec<f32> = (0..n).map(|i| (i % 7) as f32 - 2.5).collect();
                row(rung.name, &emulate_reduce(rung.name, &x, Tuning::default()).expect("a plan"));
            }
            Family::C => {
                let sizes = Sizes { points: n as u64, clusters: 16, coords: 1 };
                let points: Vec<f32> = (0..n).map(|i| i as f32).collect();
                let labels: Vec<i32> = (0..n as u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 28) as i32).collect();
                row(
                    rung.name,
                    &emulate_centroids(rung.name, &points, &labels, sizes, Tuning::default()).expect("a plan"),
                );
            }
            Family::Reference => {}
        }
    }
}

fn row<T>(name: &str, ran: &Ran<T>) {
    let t = &ran.report.total;
    println!(
        "{name:<18}{:>6}{:>10.1}{:>8.1}{:>8.1}{:>15.2}{:>12}{:>8}{:>10.2}{:>9}",
        ran.faults.len(),
        ran.report.barriers_per_block(),
        100.0 * t.branch_efficiency(),
        t.mean_active_lanes(),
        t.shared_wavefronts as f64 / t.shared_requests.max(1) as f64,
        t.conflicts.total(),
        t.conflicts.worst(),
        t.sectors_per_request(),
        t.atomic_passes,
    );
    for fault in &ran.faults {
        println!("    {fault}");
    }
}
