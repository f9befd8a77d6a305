//! How many blocks of an entry a multiprocessor has at a time: the registers of its threads are bound so that they fit.

/// Lines of `name blocks`, with how many blocks of an entry a multiprocessor has at a time.
const BLOCKS: &str = include_str!("../ptx/blocks.txt");

/// How many blocks of the entry a multiprocessor has room for at a time, if that is known.
pub fn blocks(entry: &str) -> Option<u64> {
    let of = |line: &str| line.strip_prefix(entry)?.strip_prefix(' ')?.split(' ').next()?.parse().ok();
    BLOCKS.lines().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::blocks;

    #[test]
    fn entries_have_the_blocks_of_their_line() {
        assert!(blocks("columns_sum_f32").is_some_and(|blocks| (1..=8).contains(&blocks)));
        assert_eq!(blocks("columns_sum"), None);
        assert_eq!(blocks("no_entry"), None);
    }
}
