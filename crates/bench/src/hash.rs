//! The hash that data, labels and offsets are made of.

/// The golden ratio in 32 bits: the distance between seeds.
pub const STEP: u32 = 0x9e37_79b9;

/// Mixes 32 bits so that each output bit depends on all of them: the finaliser of MurmurHash3.
pub fn mix(mut h: u32) -> u32 {
    h ^= h >> 16;
    h = h.wrapping_mul(0x85eb_ca6b);
    h ^= h >> 13;
    h = h.wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

/// The hash of an index under a seed.
#[inline(always)]
pub fn hash(index: u32, seed: u32) -> u32 {
    mix(index.wrapping_add(seed.wrapping_mul(STEP)))
}
