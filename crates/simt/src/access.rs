//! Accesses to memory as inline PTX, by the size of what is read or written. What a macro names is in scope where it is
//! called.

/// Reads a `T` by the instruction `$op` at the address register `$a`.
macro_rules! read {
    ($op:literal, $t:ty, $a:expr, $class:ident) => {{
        let address = $a;
        // SAFETY: `T` is `Pod` of the size matched; the address is in bounds by the promise of `Global::from_raw`, or
        // is of the block's own shared array, which the emulator has checked.
        unsafe {
            match size_of::<$t>() {
                1 => {
                    let v: u16;
                    asm!(concat!($op, ".u8 {v}, [{a}];"), v = out(reg16) v, a = in($class) address);
                    transmute_copy(&v)
                }
                2 => {
                    let v: u16;
                    asm!(concat!($op, ".b16 {v}, [{a}];"), v = out(reg16) v, a = in($class) address);
                    transmute_copy(&v)
                }
                4 => {
                    let v: u32;
                    asm!(concat!($op, ".b32 {v}, [{a}];"), v = out(reg32) v, a = in($class) address);
                    transmute_copy(&v)
                }
                8 => {
                    let v: u64;
                    asm!(concat!($op, ".b64 {v}, [{a}];"), v = out(reg64) v, a = in($class) address);
                    transmute_copy(&v)
                }
                _ => {
                    let (x, y, z, w): (u32, u32, u32, u32);
                    asm!(concat!($op, ".v4.b32 {{{x}, {y}, {z}, {w}}}, [{a}];"), x = out(reg32) x, y = out(reg32) y,
                        z = out(reg32) z, w = out(reg32) w, a = in($class) address);
                    transmute_copy(&[x, y, z, w])
                }
            }
        }
    }};
}
pub(crate) use read;

/// Writes a `T` by the instruction `$op` at the address register `$a`.
macro_rules! write {
    ($op:literal, $v:expr, $t:ty, $a:expr, $class:ident) => {{
        let (address, value) = ($a, $v);
        let mut words = MaybeUninit::<[u32; 4]>::zeroed();
        // SAFETY: as for `read!`; a `T` has at most the 16 bytes of `words`, all of which are initialised.
        unsafe {
            words.as_mut_ptr().cast::<$t>().write(value);
            let [x, y, z, w] = words.assume_init();
            match size_of::<$t>() {
                1 => asm!(concat!($op, ".u8 [{a}], {v};"), v = in(reg16) x as u16, a = in($class) address),
                2 => asm!(concat!($op, ".b16 [{a}], {v};"), v = in(reg16) x as u16, a = in($class) address),
                4 => asm!(concat!($op, ".b32 [{a}], {v};"), v = in(reg32) x, a = in($class) address),
                8 => {
                    let v = x as u64 | (y as u64) << 32;
                    asm!(concat!($op, ".b64 [{a}], {v};"), v = in(reg64) v, a = in($class) address)
                }
                _ => asm!(concat!($op, ".v4.b32 [{a}], {{{x}, {y}, {z}, {w}}};"), x = in(reg32) x, y = in(reg32) y,
                    z = in(reg32) z, w = in(reg32) w, a = in($class) address),
            }
        }
    }};
}
pub(crate) use write;

/// Sets bits atomically with the instruction prefix `$op`.
macro_rules! or {
    ($op:literal, $v:expr, $a:expr, $class:ident) => {{
        let r: u32;
        // SAFETY: as for `read!`.
        unsafe {
            asm!(concat!($op, ".or.b32 {r}, [{a}], {v};"), r = out(reg32) r, v = in(reg32) $v, a = in($class) $a)
        };
        r
    }};
}
pub(crate) use or;

/// Adds atomically with the instruction prefix `$op`.
macro_rules! add {
    ($op:literal, $v:expr, $t:ty, $a:expr, $class:ident) => {{
        let (address, value) = ($a, $v);
        // SAFETY: as for `read!`; `KIND` names the type that `T` is.
        unsafe {
            match <$t as Atom>::KIND {
                AtomKind::U32 => {
                    let v: u32 = transmute_copy(&value);
                    let r: u32;
                    asm!(concat!($op, ".add.u32 {r}, [{a}], {v};"),
                        r = out(reg32) r, v = in(reg32) v, a = in($class) address);
                    transmute_copy(&r)
                }
                AtomKind::F32 => {
                    let v: u32 = transmute_copy(&value);
                    let r: u32;
                    asm!(concat!($op, ".add.f32 {r}, [{a}], {v};"),
                        r = out(reg32) r, v = in(reg32) v, a = in($class) address);
                    transmute_copy(&r)
                }
                AtomKind::U64 => {
                    let v: u64 = transmute_copy(&value);
                    let r: u64;
                    asm!(concat!($op, ".add.u64 {r}, [{a}], {v};"),
                        r = out(reg64) r, v = in(reg64) v, a = in($class) address);
                    transmute_copy(&r)
                }
            }
        }
    }};
}
pub(crate) use add;
