//! Launch structs: the one parameter of each kernel, which host and device share.
//!
//! `params!` declares them, and whatever they are made of. A launch struct begins with its device addresses, a struct
//! of named fields of its own called `at`. A planner fills in everything else, and whoever queues the launch names the
//! addresses: nothing is passed by position.
//!
//! A launch copies a struct as 64-bit words, so there must be no padding in it. The compiler checks that for each
//! kernel of the tables ([`checked`]).

/// Plain data: numbers side by side in the order of declaration.
///
/// # Safety
/// The type is a number of 32 or 64 bits of which every bit pattern is a value, or `repr(C)` and made of such; `BYTES`
/// is the sum of the bytes of these numbers. If it equals the type's size, there is no padding.
pub unsafe trait Plain: Copy + Send + Sync + 'static {
    /// Bytes of all numbers.
    const BYTES: usize;
}

macro_rules! numbers {
    ($($t:ty)*) => {$(
        // SAFETY: a number of 32 or 64 bits, all of whose bit patterns are values.
        unsafe impl Plain for $t {
            const BYTES: usize = size_of::<$t>();
        }
    )*};
}
numbers!(u32 u64 i64 f64);

// SAFETY: an array has its elements side by side and nothing else.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {
    const BYTES: usize = N * T::BYTES;
}

/// A launch struct.
///
/// # Safety
/// The first field is a `Self::At`, and no other field is a device address.
pub unsafe trait Params: Plain {
    /// All device addresses.
    type At: Plain;
}

/// Declares structs of plain data: `repr(C)`, `Clone`, `Copy`, `Debug`, `PartialEq` and [`Plain`].
///
/// `struct Name at Addresses { … }` declares a launch struct ([`Params`]): its first field is `at: Addresses`. Type
/// parameters stand in square brackets, and after a semicolon the number of axes: `struct Rows[R; const K]` declares
/// `Rows<const K: usize, R>`.
macro_rules! params {
    ($(
        $(#[$doc:meta])*
        pub struct $name:ident $([$($g:ident $(= $default:ty)?),* $(; const $k:ident)?])? $(at $at:ty)? {
            $($(#[$field_doc:meta])* pub $field:ident: $of:ty,)*
        }
    )*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name $(<$(const $k: usize,)? $($g $(= $default)?),*>)? {
            $(
                /// The device addresses.
                pub at: $at,
            )?
            $($(#[$field_doc])* pub $field: $of,)*
        }
        // SAFETY: `repr(C)`, and every field is plain data, as `BYTES` would not compile otherwise.
        unsafe impl $(<$(const $k: usize,)? $($g: $crate::params::Plain),*>)? $crate::params::Plain
            for $name $(<$($k,)? $($g),*>)?
        {
            const BYTES: usize =
                0 $(+ <$at as $crate::params::Plain>::BYTES)? $(+ <$of as $crate::params::Plain>::BYTES)*;
        }
        $crate::params::params!(@launch $name [$($($g)* $(; $k)?)?] $($at)?);
    )*};
    (@launch $name:ident [$($g:ident)* $(; $k:ident)?]) => {};
    (@launch $name:ident [] $at:ty) => {
        // SAFETY: `at` is declared first, here and nowhere else.
        unsafe impl $crate::params::Params for $name {
            type At = $at;
        }
    };
    (@launch $name:ident [; $k:ident] $at:ty) => {
        // SAFETY: as above.
        unsafe impl<const $k: usize> $crate::params::Params for $name<$k> {
            type At = $at;
        }
    };
    (@launch $name:ident [$($g:ident)+] $at:ty) => {
        // SAFETY: `at` is declared first, here and nowhere else.
        unsafe impl<$($g: $crate::params::Plain),+> $crate::params::Params for $name<$($g),+> {
            type At = $at;
        }
    };
}
pub(crate) use params;

/// Refuses a launch struct with padding or of another alignment than that of 64-bit words, when it is compiled.
pub const fn checked<P: Params>() {
    assert!(P::BYTES == size_of::<P>() && size_of::<P>().is_multiple_of(8) && align_of::<P>() == 8);
    assert!(<P::At as Plain>::BYTES == size_of::<P::At>() && size_of::<P::At>().is_multiple_of(8));
    assert!(align_of::<P::At>() == 8);
}

/// The words of a launch struct.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn words<P: Params>(params: &P) -> Vec<u64> {
    const { checked::<P>() };
    // SAFETY: `checked` has seen that the struct consists of whole words without padding, aligned as they are.
    unsafe { core::slice::from_raw_parts((&raw const *params).cast::<u64>(), size_of::<P>() / 8) }.to_vec()
}

/// The words of a launch struct's addresses: the first ones of the struct.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn address_words<A: Plain>(at: &A) -> &[u64] {
    const { assert!(A::BYTES == size_of::<A>() && size_of::<A>().is_multiple_of(8) && align_of::<A>() == 8) };
    // SAFETY: whole words without padding, aligned as they are, as was just seen; the slice borrows the struct.
    unsafe { core::slice::from_raw_parts((&raw const *at).cast::<u64>(), size_of::<A>() / 8) }
}

/// The launch struct of these words; `None` if it has another number of words.
#[cfg(not(target_arch = "nvptx64"))]
#[must_use]
pub fn of_words<P: Params>(given: &[u64]) -> Option<P> {
    const { checked::<P>() };
    // SAFETY: as many bytes as the struct has, aligned as it is; every bit pattern of plain data is a value.
    (given.len() * 8 == size_of::<P>()).then(|| unsafe { given.as_ptr().cast::<P>().read() })
}

#[cfg(test)]
mod tests {
    use super::{Plain, address_words, of_words, words};

    params! {
        /// Two arrays.
        pub struct PairAt {
            /// One.
            pub left: u64,
            /// And the other.
            pub right: [u64; 2],
        }

        /// Something to launch.
        pub struct Pair at PairAt {
            /// A number.
            pub n: u64,
            /// Two of 32 bits.
            pub few: [u32; 2],
        }

        /// Padding after the first number.
        pub struct Padded {
            /// 32 bits.
            pub a: u32,
            /// And 64.
            pub b: u64,
        }
    }

    #[test]
    fn words_are_the_fields_in_their_order_and_come_back() {
        let pair = Pair { at: PairAt { left: 1, right: [2, 3] }, n: 4, few: [5, 6] };
        assert_eq!(words(&pair), [1, 2, 3, 4, 6 << 32 | 5]);
        assert_eq!(address_words(&pair.at), [1, 2, 3]);
        assert_eq!(of_words(&words(&pair)), Some(pair));
        assert_eq!(of_words::<Pair>(&[0; 4]), None);
    }

    #[test]
    fn padding_is_seen() {
        assert_eq!((Padded::BYTES, size_of::<Padded>()), (12, 16));
        assert_eq!(Pair::BYTES, size_of::<Pair>());
    }
}
