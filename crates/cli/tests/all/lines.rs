//! Texts for people fit their terminals, and show no control characters.

use crate::support::Dir;

#[test]
fn plans_of_many_axes_fit_a_terminal() {
    let dir = Dir::new();
    let shape = vec!["2"; 16].join(",");
    let axes = (0..16).step_by(2).map(|axis| axis.to_string()).collect::<Vec<_>>().join(",");
    for device in ["cpu", "cuda"] {
        let line = format!("explain sum --shape {shape} --dtype f32 --axis {axes} --device {device}");
        let plan = dir.run(&line);
        assert!(plan.ok().lines().all(|line| line.chars().count() <= 100), "{}", plan.out);
        assert!(plan.out.starts_with("sum of f32 [2, 2, ") && plan.out.contains("  reduced  2 step "), "{}", plan.out);
        assert_eq!(plan.out.matches(" step ").count(), 16, "{}", plan.out);
    }
    assert!(dir.run("devices").ok().lines().all(|line| line.chars().count() <= 100));
}
