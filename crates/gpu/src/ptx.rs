//! What the text of a compiled kernel says.

use std::collections::HashMap;

/// The bytes of each parameter of the one entry of a module: `.param .u64 name`, or `.param .align 8 .b8 name[64]` for
/// a struct.
#[must_use]
pub fn parameters(text: &str) -> Vec<usize> {
    let head = text.split(".entry").nth(1).and_then(|rest| rest.split('{').next()).unwrap_or_default();
    let bits = HashMap::from([("8", 1), ("16", 2), ("32", 4), ("64", 8)]);
    let one = |word: &str| bits.get(word.strip_prefix('.')?.get(1..)?).copied();
    let many = |p: &str| p.split_once('[')?.1.split_once(']')?.0.trim().parse::<usize>().ok();
    head.split(".param")
        .skip(1)
        .filter_map(|p| Some(p.split_whitespace().find_map(one)? * many(p).unwrap_or(1)))
        .collect()
}

/// The bytes of a module's large shared array, if it has one; 0, if each launch says how many.
#[must_use]
pub fn room(text: &str) -> Option<u32> {
    text.split_once(".extern .shared .align 16 .b8 room_")?.1.split_once('[')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{parameters, room};

    #[test]
    fn the_large_shared_array_of_a_module_is_found() {
        let of = |entry: &str| room(&warpfold_kernels::ptx(entry).expect(entry));
        assert_eq!(of("sort_starts"), None);
        assert!(of("split_nodes_f32") > Some(48 << 10));
        assert_eq!(of("rowlonger_rms_norm_bf16"), Some(0));
    }

    #[test]
    fn parameters_of_every_kernel_are_found() {
        let of = |entry: &str| parameters(&warpfold_kernels::ptx(entry).expect(entry));
        assert_eq!(of("a0_f32"), [8, 8, 8]);
        assert_eq!(of("c1"), [8, 8, 8, 8, 8, 4, 4]);
        assert_eq!(of("read_u32"), [8, 8, 8, 4]);
        for entry in warpfold_kernels::entries() {
            let text = warpfold_kernels::ptx(entry).expect(entry);
            let head = &text[text.find(".entry").expect(entry)..text.find('{').expect(entry)];
            assert_eq!(of(entry).len(), head.matches(".param").count(), "{entry}");
        }
    }

    #[test]
    fn a_struct_is_one_parameter_of_all_its_bytes() {
        let text = ".version 7.4\n.visible .entry sum_f32(\n\t.param .align 8 .b8 sum_f32_param_0[208]\n)\n{\n \
            ld.param.u64 %rd1, [x];";
        assert_eq!(parameters(text), [208]);
        let text = ".visible .entry two(.param .align 4 .b8 a[12], .param .u64 .ptr .align 1 b)\n{";
        assert_eq!(parameters(text), [12, 8]);
    }
}
