use proptest::prelude::*;

use super::*;

fn file(version: u8, text: &str) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    file.extend([version, 0]);
    match version {
        1 => file.extend((text.len() as u16).to_le_bytes()),
        _ => file.extend((text.len() as u32).to_le_bytes()),
    }
    file.extend(text.as_bytes());
    file
}

#[test]
fn a_written_header_reads_back() {
    for dtype in DType::ALL {
        for shape in [vec![], vec![7], vec![0], vec![3, 4], vec![1 << 40, 0, 5], vec![2; 16]] {
            let bytes = header(dtype, &shape);
            assert_eq!(bytes.len() % 64, 0);
            assert_eq!(bytes.last(), Some(&b'\n'));
            let offset = bytes.len();
            assert_eq!(parse(&bytes), Ok(Header { dtype, swapped: false, shape, order: Order::C, offset }));
        }
    }
}

#[test]
fn a_header_is_the_one_that_numpy_writes() {
    let text = |shape: &[usize]| {
        let header = header(DType::F32, shape);
        String::from_utf8(header[10..].to_vec()).unwrap().trim_end().to_string()
    };
    assert_eq!(text(&[]), "{'descr': '<f4', 'fortran_order': False, 'shape': (), }");
    assert_eq!(text(&[3]), "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }");
    assert_eq!(text(&[3, 4]), "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }");
}

#[test]
fn spellings_that_numpy_reads_are_read() {
    let cases = [
        "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 3), }   \n",
        "{\"shape\":(2,3),\"fortran_order\":True,\"descr\":\">f8\"}",
        "{ 'fortran_order' : True , 'descr' : '>f8' , 'shape' : ( 2L , 3L ) } ",
    ];
    for (text, version) in cases.into_iter().flat_map(|text| [1, 2, 3].map(|version| (text, version))) {
        let header = parse(&file(version, text)).unwrap();
        assert_eq!((header.dtype, header.swapped, header.order), (DType::F64, true, Order::Fortran), "{text}");
        assert_eq!(header.shape, [2, 3]);
    }
}

#[test]
fn other_headers_are_refused() {
    let cases = [
        "",
        "{",
        "{}",
        "[]",
        "{'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3.5,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } trailing",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [3], }",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (3,), }",
        "__import__('os')",
    ];
    for text in cases {
        assert!(matches!(parse(&file(1, text)), Err(InputError::Header(_))), "{text}: {:?}", parse(&file(1, text)));
    }
}

#[test]
fn dtypes_without_reductions_are_refused_by_name() {
    for (descr, what) in [
        ("'|O'", "Python objects"),
        ("'<c8'", "complex"),
        ("'<U5'", "strings"),
        ("'|S3'", "strings"),
        ("'<M8[ns]'", "dates or durations"),
        ("'|V2'", "structured or void"),
        ("[('a', '<f4'), ('b', '<i4')]", "structured"),
        ("'<f16'", "a float of a size that only some machines have"),
        ("'wörter'", "unknown"),
    ] {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (3,), }}");
        match parse(&file(3, &text)) {
            Err(InputError::DType { what: found, .. }) => assert_eq!(found, what),
            other => panic!("{descr}: {other:?}"),
        }
    }
}

#[test]
fn sizes_do_not_wrap() {
    assert_eq!(byte_len(&[1 << 32, 1 << 32], DType::U8), None);
    assert_eq!(byte_len(&[1 << 62], DType::F64), None);
    assert_eq!(byte_len(&[usize::MAX, 0], DType::F64), Some(0));
    assert_eq!(byte_len(&[], DType::F64), Some(8));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_an_answer_not_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), version in 0u8..5) {
        let mut file = MAGIC.to_vec();
        file.push(version);
        file.extend(bytes);
        let _ = parse(&file);
    }

    #[test]
    fn a_damaged_header_is_an_answer_not_a_panic(
        shape in prop::collection::vec(0usize..1 << 40, 0..6),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let whole = header(DType::F32, &shape);
        let cut = cut.index(whole.len()).max(MAGIC.len());
        prop_assert!(parse(&whole[..cut]).is_err(), "a header cut short was taken for a whole one");
        let mut file = whole;
        for (at, byte) in damage {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if file.starts_with(MAGIC)
            && let Ok(header) = parse(&file)
        {
            let _ = header.bytes();
        }
    }
}
