//! What holds for a call: a function that looks before tasks, and ends the work by a panic; work on one thread alone.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use warpfold_array::{ArrayRef, Op, Options};
use warpfold_cpu::keys::Axes;
use warpfold_cpu::parallel::{alone, for_each, watched};
use warpfold_cpu::{Bins, Distinct, Groups, KMeans, Points, bincount, centroid_update, histogram, reduce, unique};

const N: usize = 1 << 20;

/// Work by name.
type Work = (&'static str, Box<dyn Fn() + Sync>);

/// Each kind of work, of several tasks.
fn works() -> Vec<Work> {
    let x: &'static [f32] = (0..N).map(|i| (i * 7919 % N) as f32).collect::<Vec<_>>().leak();
    let labels: &'static [i32] = (0..N).map(|i| (i * 31 % 1000) as i32).collect::<Vec<_>>().leak();
    let flat = ArrayRef::flat(x);
    let of = ArrayRef::flat(labels);
    let rows = ArrayRef::from_slice(x, &[N / 16, 16]).expect("as many elements");
    let row_labels = ArrayRef::flat(&labels[..N / 16]);
    let points = move || Points::new(rows, Axes::PointsFirst).expect("points");
    vec![
        ("reduce", Box::new(move || drop(reduce(Op::Var, flat, &Options::default()).unwrap()))),
        ("unique", Box::new(move || drop(unique(flat, Distinct::default()).unwrap()))),
        ("unique, all", Box::new(move || drop(unique(flat, Distinct { first: true, inverse: true }).unwrap()))),
        ("unique integers", Box::new(move || drop(unique(of, Distinct::default()).unwrap()))),
        ("bincount", Box::new(move || drop(bincount(of, None, 0).unwrap()))),
        ("bincount, weights", Box::new(move || drop(bincount(of, Some(flat), 0).unwrap()))),
        (
            "histogram",
            Box::new(move || drop(histogram(flat, &Bins::Uniform { bins: 9, range: Some((0.0, 9.0)) }, None).unwrap())),
        ),
        ("groups", Box::new(move || drop(Groups::new(row_labels, None).unwrap().first(rows).unwrap()))),
        ("update", Box::new(move || drop(centroid_update(&points(), row_labels, 1000).unwrap()))),
        ("k-means", Box::new(move || drop(KMeans { iterations: 2, ..KMeans::new(9) }.fit(&points()).unwrap()))),
    ]
}

#[test]
fn a_watch_that_panics_ends_any_work() {
    for (name, work) in works() {
        let seen = AtomicUsize::new(0);
        let count = |_: u64| {
            seen.fetch_add(1, Ordering::Relaxed);
        };
        watched(&count, &work);
        let all = seen.swap(0, Ordering::Relaxed);
        assert!(all >= 4, "{name} looked {all} times");
        for after in [1, all / 2] {
            let end = |_: u64| match seen.fetch_add(1, Ordering::Relaxed) + 1 {
                n if n == after => resume_unwind(Box::new("ended")),
                // On a busy machine the thread that panics may be held up before the others hear of it.
                n if n > after => thread::sleep(Duration::from_millis(1)),
                _ => {}
            };
            let said = catch_unwind(AssertUnwindSafe(|| watched(&end, &work))).expect_err(name);
            assert_eq!(said.downcast_ref(), Some(&"ended"), "{name}");
            // Tasks of other threads that had begun may end, and so all tasks that they have themselves: up to half of
            // all. Nothing begins after that.
            let looked = seen.swap(0, Ordering::Relaxed);
            assert!(looked <= after + rayon::current_num_threads() * 2 + all / 2, "{name}: {looked} of {all}, {after}");
        }
    }
}

#[test]
fn no_tasks_are_no_work() {
    let never = |_: usize| panic!("there is no task");
    for_each(0, &never);
    alone(|| for_each(0, &never));
    for_each(2, &|_| for_each(0, &never));
}

#[test]
fn work_alone_stays_on_its_thread() {
    let here: ThreadId = thread::current().id();
    for (name, work) in works() {
        let elsewhere = Mutex::new(0);
        let look = |_: u64| *elsewhere.lock().unwrap() += (thread::current().id() != here) as usize;
        watched(&look, || alone(&work));
        assert_eq!(*elsewhere.lock().unwrap(), 0, "{name}");
    }
}

#[test]
fn what_holds_ends_with_the_call() {
    let seen = AtomicUsize::new(0);
    let count = |_: u64| {
        seen.fetch_add(1, Ordering::Relaxed);
    };
    // Tasks of tasks look, too.
    watched(&count, || for_each(3, &|_| for_each(5, &|_| ())));
    assert_eq!(seen.load(Ordering::Relaxed), 18);
    for_each(8, &|_| ());
    let _ = catch_unwind(AssertUnwindSafe(|| watched(&count, || panic!("within"))));
    for_each(8, &|_| ());
    assert_eq!(seen.load(Ordering::Relaxed), 18);
}
