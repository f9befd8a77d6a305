//! Reading any file ends with an array or an error: no panic, and no allocation of a size that the file states.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Cursor, Write};

use proptest::prelude::*;
use proptest::sample::Index;
use zip::CompressionMethod::{Deflated, Stored};

use super::*;

/// An allocator that records the largest allocation of each thread.
struct Watched;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is one of the system's allocator; recording sizes allocates nothing.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(layout.size())));
        // SAFETY: the caller fulfils the same contract as the system's allocator demands.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller fulfils the same contract as the system's allocator demands.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// More than a header of the greatest length and a buffer to copy with.
const ENOUGH: usize = 4 << 20;

/// A .npy file of 32 bits per element.
fn npy(version: u8, shape: &str, data: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut file = npy::MAGIC.to_vec();
    file.extend([version, 0]);
    let field = if version == 1 { 2 } else { 4 };
    file.extend(&(text.len() as u32).to_le_bytes()[..field]);
    file.extend(text.as_bytes());
    file.extend(data);
    file
}

/// An archive of such members.
fn npz(members: &[&[u8]], method: zip::CompressionMethod) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (i, bytes) in members.iter().enumerate() {
        zip.start_file(format!("{i}.npy"), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Reads bytes as a file and as a stream, which must agree, and sees that nothing large is allocated.
fn read(bytes: &[u8], member: Option<&str>) -> Result<Source, Failure> {
    let member = member.map(OsStr::new);
    LARGEST.set(0);
    let spooled = spool(&[], &mut &*bytes, u64::MAX).map_err(|e| copy_failure(e, "x"));
    let file = in_mapping(spooled.unwrap(), "x", member, None, false);
    let stream = streamed(bytes, "x", member, None);
    assert!(LARGEST.get() < ENOUGH, "{} bytes at once", LARGEST.get());
    match (&file, &stream) {
        (Ok(file), Ok(stream)) => {
            assert_eq!(file.header, stream.header);
            assert_eq!(file.mapping.bytes(), stream.mapping.bytes());
            assert_eq!(Some(file.mapping.bytes().len()), file.header.bytes());
            // Too many axes are an error of the library.
            let _ = file.array();
        }
        (Err(_), Err(_)) => {}
        _ => panic!("as a file: {:?}, as a stream: {:?}", file.as_ref().err(), stream.as_ref().err()),
    }
    file
}

fn is_truncated<T>(result: Result<T, Failure>) -> bool {
    matches!(result, Err(Failure::Input { why: InputError::Truncated { .. }, .. }))
}

#[test]
fn every_version_is_read_and_no_cut_one() {
    for version in [1, 2, 3] {
        let whole = npy(version, "(2, 3)", &[1; 24]);
        assert!(read(&whole, None).is_ok_and(|source| source.header.shape == [2, 3]));
        for len in 1..whole.len() {
            assert!(is_truncated(read(&whole[..len], None)), "version {version}, {len} bytes");
        }
    }
}

#[test]
fn a_header_that_promises_more_is_not_believed() {
    for version in [1, 2, 3] {
        for shape in ["(1000000000000,)", "(2305843009213693951,)", "(1000000, 1000000, 2)"] {
            let file = npy(version, shape, &[0; 64]);
            assert!(is_truncated(read(&file, None)), "{shape}");
            for method in [Stored, Deflated] {
                assert!(is_truncated(read(&npz(&[&file], method), None)), "{shape}");
            }
        }
        assert!(read(&npy(version, "(4294967296, 4294967296)", &[0; 64]), None).is_err());
        // A length of the header beyond the file, and beyond reason.
        for len in [1000u32, 1 << 20, u32::MAX] {
            let mut file = npy(version, "(2,)", &[0; 8]);
            file[8..if version == 1 { 10 } else { 12 }]
                .copy_from_slice(&len.to_le_bytes()[..if version == 1 { 2 } else { 4 }]);
            assert!(read(&file, None).is_err(), "version {version}, {len}");
        }
    }
}

/// A reader that counts.
struct Counted<R>(R, usize);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.read(to)?;
        self.1 += n;
        Ok(n)
    }
}

#[test]
fn a_stream_is_read_no_further_than_its_header_says() {
    let start = npy(1, "(100,)", &[]);
    let mut endless = Counted(start.as_slice().chain(std::io::repeat(0)), 0);
    assert!(spool_npy(&mut endless, "x", true).is_ok());
    assert_eq!(endless.1, start.len() + 401);
    // An archive inside an archive cannot be read, so that it is not unpacked.
    let mut endless = Counted(b"PK\x03\x04".as_slice().chain(std::io::repeat(0)), 0);
    assert!(spool_npy(&mut endless, "x", false).is_err());
    assert_eq!(endless.1, npy::PREFIX);
}

#[test]
fn an_archive_that_is_cut_is_refused() {
    for method in [Stored, Deflated] {
        let whole = npz(&[&npy(1, "(2,)", &[1; 8])], method);
        assert!(read(&whole, None).is_ok());
        for len in 1..whole.len() {
            assert!(read(&whole[..len], None).is_err(), "{method:?}, {len} of {} bytes", whole.len());
        }
    }
}

fn damage() -> impl Strategy<Value = Vec<(Index, u8)>> {
    prop::collection::vec((any::<Index>(), prop_oneof![any::<u8>(), Just(0xff), Just(0)]), 1..5)
}

fn damaged(mut file: Vec<u8>, damage: Vec<(Index, u8)>) -> Vec<u8> {
    for (at, byte) in damage {
        let at = at.index(file.len());
        file[at] = byte;
    }
    file
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_is_an_answer(version in 1u8..4, data in 0usize..40, damage in damage()) {
        let _ = read(&damaged(npy(version, "(2, 3)", &vec![1; data]), damage), None);
    }

    #[test]
    fn any_text_in_a_header_is_an_answer(version in 1u8..4, shape in "[(), 0-9L'{}:-]{0,30}", data in 0usize..40) {
        let _ = read(&npy(version, &shape, &vec![1; data]), None);
    }

    #[test]
    fn a_damaged_archive_is_an_answer(
        deflated in any::<bool>(),
        two in any::<bool>(),
        damage in damage(),
        named in any::<bool>(),
    ) {
        let x = npy(1, "(2, 3)", &[1; 24]);
        let members = [&x[..], &x[..]];
        let whole = npz(&members[..1 + two as usize], if deflated { Deflated } else { Stored });
        let _ = read(&damaged(whole, damage), named.then_some("0"));
    }
}
