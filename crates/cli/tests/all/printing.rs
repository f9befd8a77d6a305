//! Output for people and for programs.

use serde_json::{Value, json};

use crate::support::{Dir, count_up, f32s, f64s, i64s, npy};

#[test]
fn a_scalar_stands_alone_in_its_shortest_form() {
    let dir = Dir::new();
    for (x, text, bits) in [
        (0.1f32, "0.1", "0x3dcccccd"),
        (-0.0, "-0", "0x80000000"),
        (1.0, "1", "0x3f800000"),
        (f32::NAN, "nan", "0x7fc00000"),
        (f32::INFINITY, "inf", "0x7f800000"),
        (1e-30, "1e-30", "0x0da24260"),
    ] {
        dir.write("x.npy", &npy(1, "'<f4'", false, "(1,)", &f32s(&[x])));
        assert_eq!(dir.run("reduce max x.npy").ok(), format!("{text}\n"));
        assert_eq!(dir.run("reduce max x.npy --bits").ok(), format!("{bits}\n"));
    }
    assert_eq!(dir.run("reduce any x.npy").ok(), "true\n");
    assert_eq!(dir.run("reduce any x.npy --bits").ok(), "0x01\n");
    assert_eq!(dir.run("reduce argmin x.npy --bits").ok(), "0x0000000000000000\n");
}

#[test]
fn minmax_prints_the_least_and_the_greatest() {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[2, 3]));
    assert_eq!(dir.run("reduce minmax x.npy").ok(), "0 5\n");
    assert_eq!(dir.run("reduce minmax x.npy --bits").ok(), "0x00000000 0x40a00000\n");
    assert_eq!(dir.run("reduce minmax x.npy --axis 1").ok(), "[[0. 2.]\n [3. 5.]]\n");
    assert_eq!(dir.run("reduce minmax x.npy --keepdims").ok(), "[[[0. 5.]]]\n");
}

#[test]
fn arg_ops_count_in_row_major_order_over_the_reduced_axes() {
    let dir = Dir::new();
    let mut x = vec![0.0f32; 24];
    x[12 + 2 * 4 + 3] = 9.0;
    dir.write("x.npy", &npy(1, "'<f4'", false, "(2, 3, 4)", &f32s(&x)));
    assert_eq!(dir.run("reduce argmax x.npy").ok(), "23\n");
    assert_eq!(dir.run("reduce argmax x.npy --axis 0,2").ok(), "[0 0 7]\n");
    assert_eq!(dir.run("reduce argmax x.npy --axis 1,2").ok(), "[ 0 11]\n");
}

#[test]
fn arrays_are_laid_out_as_numpy_does() {
    let dir = Dir::new();
    let show = |shape: &[usize]| {
        let x: Vec<i64> = (0..shape.iter().product::<usize>() as i64).collect();
        dir.write("x.npy", &npy(1, "'<i8'", false, &crate::support::tuple(shape), &i64s(&x)));
        dir.args(["reduce", "sum", "x.npy", "--axis", ""]).ok().to_string()
    };
    assert_eq!(show(&[3]), "[0 1 2]\n");
    assert_eq!(show(&[2, 2]), "[[0 1]\n [2 3]]\n");
    assert_eq!(show(&[2, 1, 2]), "[[[0 1]]\n\n [[2 3]]]\n");
    assert_eq!(show(&[1001]), "[   0    1    2 ...  998  999 1000]\n");
    let short = "[[   0    1    2 ...   37   38   39]\n [  40   41   42 ...   77   78   79]\n \
                 [  80   81   82 ...  117  118  119]\n ...\n [1080 1081 1082 ... 1117 1118 1119]\n \
                 [1120 1121 1122 ... 1157 1158 1159]\n [1160 1161 1162 ... 1197 1198 1199]]\n";
    assert_eq!(show(&[30, 40]), short);
    let wrapped = "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n \
                   24 25 26 27 28 29]\n";
    assert_eq!(show(&[30]), wrapped);
}

#[test]
fn floats_are_aligned_at_the_point_and_keep_their_digits() {
    let dir = Dir::new();
    let show = |x: &[f64], more: &[&str]| {
        dir.write("x.npy", &npy(1, "'<f8'", false, &format!("({},)", x.len()), &f64s(x)));
        dir.args(["reduce", "sum", "x.npy", "--axis="].iter().chain(more)).ok().to_string()
    };
    assert_eq!(show(&[1.0, 10.25, -3.5], &[]), "[ 1.   10.25 -3.5 ]\n");
    assert_eq!(show(&[0.1, f64::NAN, f64::NEG_INFINITY], &[]), "[ 0.1  nan -inf]\n");
    assert_eq!(show(&[1.0 / 3.0, 1e300], &[]), "[0.3333333333333333              1e300]\n");
    assert_eq!(show(&[1.0, 2.0], &["--bits"]), "[0x3ff0000000000000 0x4000000000000000]\n");
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn json_says_everything() {
    let dir = Dir::new();
    dir.write("x.npy", &count_up(&[2, 3]));
    let sum = parsed(dir.run("reduce sum x.npy --json").ok());
    let expected = json!({"op": "sum", "input": {"dtype": "f32", "shape": [2, 3]}, "axes": [0, 1], "dtype": "f32",
        "shape": [], "value": 15});
    assert_eq!(sum, expected);
    let kept = parsed(dir.run("reduce mean x.npy --axis -1 --keepdims --json --bits").ok());
    let expected = json!({"op": "mean", "input": {"dtype": "f32", "shape": [2, 3]}, "axes": [1], "dtype": "f32",
        "shape": [2, 1], "values": [[1], [4]], "bits": [["0x3f800000"], ["0x40800000"]]});
    assert_eq!(kept, expected);
    let stored = parsed(dir.run("reduce any x.npy --axis 0 --json -o o.npy").ok());
    assert_eq!(stored["output"], "o.npy");
    assert_eq!(stored["shape"], json!([3]));
    dir.write("odd.npy", &npy(1, "'<f8'", false, "(3,)", &f64s(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY])));
    let odd = parsed(dir.args(["reduce", "sum", "odd.npy", "--axis", "", "--json"]).ok());
    assert_eq!(odd["values"], json!(["nan", "inf", "-inf"]));
}

#[test]
fn describe_agrees_with_reduce() {
    let dir = Dir::new();
    let x: Vec<f32> = (0..60).map(|i| ((i * 37) % 61) as f32 / 7.0 - 3.0).collect();
    dir.write("x.npy", &npy(1, "'<f4'", false, "(3, 4, 5)", &f32s(&x)));
    for axes in ["", "--axis 1", "--axis 0,2 --keepdims"] {
        let described = parsed(dir.run(&format!("describe x.npy {axes} --json")).ok());
        for op in ["min", "argmin", "max", "argmax", "mean", "std", "sum", "norm"] {
            let reduced = parsed(dir.run(&format!("reduce {op} x.npy {axes} --json")).ok());
            let value = reduced.get("value").or(reduced.get("values")).unwrap();
            assert_eq!(&described["stats"][op], value, "{op} {axes}");
            assert_eq!(described["shape"], reduced["shape"]);
        }
    }
    let text = dir.run("describe x.npy").ok().to_string();
    assert!(
        text.starts_with("dtype      f32\nshape      (3,4,5)\ncount      60\nnan_count  0\nmin        -3\n"),
        "{text}"
    );
    let text = dir.run("describe x.npy --axis 0,1").ok().to_string();
    assert!(text.contains("axes       (0,1)\ncount      12\nnan_count\n[0 0 0 0 0]\n"), "{text}");
}

#[test]
fn devices_and_explain_say_what_there_is_and_what_would_be_done() {
    let dir = Dir::new();
    assert!(dir.run("devices").ok().starts_with("cpu  "));
    assert_eq!(parsed(dir.run("devices --json").ok())[0]["device"], "cpu");
    let plan = dir.run("explain sum --shape 3,4,5 --dtype f32 --axis 1");
    assert!(plan.ok().starts_with("sum of f32 [3, 4, 5] over axes [1]\n"), "{plan:?}");
    let huge = dir.run("explain mean --shape 1000000,1000000 --dtype float64 --axis 0 --order fortran");
    assert!(huge.ok().contains("1000000 outputs of 1000000"), "{huge:?}");
    dir.write("x.npy", &count_up(&[2, 3]));
    let both = dir.run("reduce sum x.npy --explain --time");
    assert_eq!(both.ok(), "15\n");
    assert!(both.err.contains("sum of f32 [2, 3]") && both.err.contains("GB/s"), "{both:?}");
}

#[test]
fn a_gpu_plan_is_explained_without_a_gpu() {
    let dir = Dir::new();
    let plan = dir.run("explain sum --shape 1000,1000 --dtype f32 --axis 1 --device cuda");
    let text = plan.ok();
    assert!(text.starts_with("sum of f32 [1000, 1000] over axes [1]\n"), "{text}");
    for words in ["1000 outputs of 1000", "kernel", "multiprocessors", "workspace", "read and written", "predicted"] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    let json = parsed(dir.run("explain sum --shape 1000,1000 --dtype f32 --axis 1 --device cuda --json").ok());
    let launch = &json["launches"][0];
    assert_eq!((&json["outputs"], &json["bytes"]), (&1000.into(), &4_004_000.into()));
    assert!(text.contains(&format!(
        "{}, {} block(s) of {}",
        launch["kernel"].as_str().unwrap(),
        launch["grid"],
        launch["block"]
    )));
    let ptx = dir.run("explain sum --shape 1000,1000 --dtype f32 --axis 1 --device cuda --ptx");
    assert!(ptx.ok().contains(&format!(".entry {}", launch["kernel"].as_str().unwrap())));
    assert!(parsed(dir.run("explain sum --shape 4 --dtype f32 --device cpu --json").ok())["route"].is_string());
    dir.run("explain sum --shape 4 --dtype f32 --device cpu --ptx").refused(&["--device cuda"]);
    assert!(dir.run("explain sum --shape 4 --dtype f32 --device auto").ok().contains("device   cpu"));
    dir.run("explain sum --shape 4 --dtype f32 --device gpu").refused(&["no device `gpu`", "cuda:1"]);
}
