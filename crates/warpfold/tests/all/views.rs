//! Views, which any code may implement: one that says one dtype and gives another is an error, whatever reads it.

use std::marker::PhantomData;

use warpfold::{ArrayRef, DType, Error, Order, Reducer, Value, View, over};

/// Elements of the type `T`, says the type. The array says what they are.
struct Said<'a, T>(ArrayRef<'a>, PhantomData<T>);

impl<T: Value> View for Said<'_, T> {
    type Elem = T;
    fn view(&self) -> Result<ArrayRef<'_>, Error> {
        Ok(self.0)
    }
}

fn said<T>(array: ArrayRef<'_>) -> Said<'_, T> {
    Said(array, PhantomData)
}

/// The sum of elements as integers.
#[derive(Clone)]
struct Total<T>(PhantomData<T>);

impl<T: Value + Into<u64>> Reducer for Total<T> {
    type Item = T;
    type Acc = u64;
    type Output = u64;
    fn lift(&self, x: T, _index: u64) -> u64 {
        x.into()
    }
    fn combine(&self, a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }
    fn finish(&self, sum: u64, _count: u64) -> u64 {
        sum
    }
}

#[test]
fn a_view_of_another_dtype_is_an_error() {
    let (bytes, words) = ([1u8; 100], [1u64; 100]);
    let wrong = |elem, found| Error::ViewDType { elem, found };
    // Read as what they are said to be, these would be 700 bytes after the last one.
    let wide = said::<u64>(ArrayRef::flat(&bytes));
    assert_eq!(over(&wide).with(Total(PhantomData)), Err(wrong(DType::U64, DType::U8)));
    assert_eq!(over(&wide).mask(&[true; 100]).with(Total(PhantomData)), Err(wrong(DType::U64, DType::U8)));
    assert_eq!(over(&wide).sum(), Err(wrong(DType::U64, DType::U8)));
    assert_eq!(over(&wide).segments(&[0, 100]).min(), Err(wrong(DType::U64, DType::U8)));
    assert_eq!(warpfold::max(&wide), Err(wrong(DType::U64, DType::U8)));
    let truths = said::<bool>(ArrayRef::flat(&bytes));
    assert_eq!(over(&truths).with(Total(PhantomData)), Err(wrong(DType::Bool, DType::U8)));
    let floats = said::<f64>(ArrayRef::flat(&words));
    assert_eq!(warpfold::softmax(&floats, &[0]), Err(wrong(DType::F64, DType::U64)));
    let mask = said::<bool>(ArrayRef::flat(&bytes));
    assert_eq!(over(&words).mask(&mask).with(Total(PhantomData)), Err(wrong(DType::Bool, DType::U8)));
    let error = over(&wide).sum().unwrap_err().to_string();
    assert_eq!(error, "a view of u64 gave an array of u8: `view` must give elements of the type `Elem`");
}

#[test]
fn a_custom_reducer_takes_no_bytes_in_the_other_order() {
    let x = [0x0100u16, 0x0200, 0x0300];
    let swapped = said::<u16>(ArrayRef::flat(&x).with_bytes_swapped(true));
    assert_eq!(over(&swapped).with(Total(PhantomData)), Err(Error::CustomByteOrder));
    assert_eq!(over(&swapped).sum().unwrap().item(), Some(6));
}

#[test]
fn a_bool_of_any_byte_is_true_to_a_custom_reducer() {
    let bytes: Vec<u8> = (0..10_000u32).map(|i| (i % 5 * 61) as u8).collect();
    let (is_true, keep) = (|x: &&u8| **x != 0, [true, false, true, true]);
    let array = |shape: &[usize]| ArrayRef::from_bytes(&bytes, DType::Bool, shape, Order::C, false).unwrap();
    let total = |array| over(&said::<bool>(array)).with(Total(PhantomData)).unwrap().item().unwrap();
    assert_eq!(total(array(&[10_000])), bytes.iter().filter(is_true).count() as u64);
    assert_eq!(total(array(&[2500, 4]).permuted(&[1, 0])), bytes.iter().filter(is_true).count() as u64);
    let kept = bytes.iter().enumerate().filter(|(i, _)| keep[i % 4]).filter(|(_, x)| is_true(x)).count();
    let masked = over(&said::<bool>(array(&[2500, 4]))).mask(&keep).with(Total(PhantomData)).unwrap();
    assert_eq!(masked.item(), Some(kept as u64));
    assert_eq!(array(&[10_000]).as_slice::<bool>(), None);
    assert_eq!(ArrayRef::flat(&keep).as_slice::<bool>(), Some(&keep[..]));
}
