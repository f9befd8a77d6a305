//! The emulator's answer to every instruction, against what the instruction means.

use warpfold_kernels::probe::{BLOCK, GRID, TOTALS, WORDS};
use warpfold_ladder::{emulate_probe, probe_input};

#[test]
fn every_instruction_does_what_it_says() {
    let ran = emulate_probe();
    assert!(ran.faults.is_empty(), "{}", ran.faults[0]);
    let (threads, totals) = ran.result.split_at((GRID * BLOCK) as usize * WORDS);
    let x = probe_input();
    for (thread, w) in threads.chunks(WORDS).enumerate() {
        let (block, tid) = (thread / BLOCK as usize, thread % BLOCK as usize);
        let (lane, first) = (tid % 32, tid / 32 * 32);
        assert_eq!(w[0] as usize, tid | block << 8 | lane << 16 | (tid / 32) << 24);
        assert_eq!(&w[1..3], [BLOCK | GRID << 16, 5]);
        assert_eq!(w[3], x[tid ^ 5]);
        assert_eq!(w[4], if lane + 3 < 32 { x[tid + 3] } else { x[tid] });
        assert_eq!(w[5], if lane >= 3 { x[tid - 3] } else { x[tid] });
        let long = f64::from(x[tid ^ 1]).to_bits();
        assert_eq!(w[6], (long as u32 ^ (long >> 32) as u32).wrapping_add(x[first + 7]));
        assert_eq!(w[7], (0..32).fold(0, |bits, l| bits | x[first + l] >> 31 << l));
        assert_eq!(w[8], 1);
        assert_eq!(w[9], if lane < 16 { (x[tid ^ 1] as f32).to_bits() } else { 0 });
        let other = x[63 - tid];
        assert_eq!(&w[10..12], [(other & 0xff) << 16 | other & 0xffff, other]);
        assert_eq!(
            w[14],
            x[4 * tid] ^ x[4 * tid + 1].rotate_left(1) ^ x[4 * tid + 2].rotate_left(2) ^ x[4 * tid + 3].rotate_left(3)
        );
        assert_eq!(w[16], x[2 * tid] ^ x[2 * tid + 1]);
        assert_eq!(w[17], x[tid / 4] >> (tid % 4 * 8) & 0xff);
        assert_eq!(w[18], x[tid / 2] >> (tid % 2 * 16) & 0xffff);
        assert_eq!(&w[19..22], [x[tid].rotate_left(7), !x[tid], u32::MAX]);
        assert_eq!(&w[28..30], [1, BLOCK ^ (BLOCK as f32 / 2.0).to_bits()]);
        assert_eq!(w[31], 1);
        let share = (tid as f64 / (tid + 7) as f64).to_bits();
        assert_eq!(w[32], (tid as f32 / (tid + 7) as f32).to_bits() ^ share as u32 ^ (share >> 32) as u32);
        let squares = x[tid].to_le_bytes().map(|byte| u32::from(byte) * u32::from(byte));
        assert_eq!(w[33], squares.iter().sum::<u32>() + tid as u32);
    }
    let sum: u64 = x[..BLOCK as usize].iter().map(|&x| u64::from(x)).sum();
    let (all, halves) = (GRID * BLOCK, |n: u64| [n as u32, (n >> 32) as u32]);
    assert_eq!(totals.len(), TOTALS);
    assert_eq!(totals[..3], [all, (-3 * all as i32) as u32, (all as f32 / 4.0).to_bits()]);
    assert_eq!(totals[4..6], halves(u64::from(GRID) * sum));
    assert_eq!(totals[6..8], halves(u64::from(GRID) * sum));
}
