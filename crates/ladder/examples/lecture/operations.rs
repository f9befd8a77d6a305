//! A reduction is an operation and its identity.

/// Folds `data` from left to right, starting with the identity.
pub fn reduce<T: Copy>(data: &[T], identity: T, op: impl Fn(T, T) -> T) -> T {
    data.iter().fold(identity, |acc, &x| op(acc, x))
}

pub fn print() -> String {
    let data = [3.0f32, 1.0, 4.0, 1.0, 5.0];
    let results = [
        // -0.0 and not 0.0: the sum of no elements but -0.0 must stay -0.0.
        ("sum", reduce(&data, -0.0, |a, b| a + b)),
        ("product", reduce(&data, 1.0, |a, b| a * b)),
        ("max", reduce(&data, f32::NEG_INFINITY, f32::max)),
        ("min", reduce(&data, f32::INFINITY, f32::min)),
    ];
    let lines = results.map(|(name, value)| format!("{name:<8} {value}\n"));
    format!("data     {data:?}\n{}", lines.concat())
}
