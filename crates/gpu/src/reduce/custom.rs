//! A user's reducers, by kernels that the user's crate has compiled.

use crate::device::Device;
use crate::elements::{Elements, ElementsView};
use crate::launch::Ready;
use crate::plan::{self, GpuPlan};
use crate::ptx::parameters;
use crate::reduce::work::Work;
use crate::stream::Stream;
use std::marker::PhantomData;
use warpfold_array::{CudaError, ElementLayout, ElementProblem, Error};
use warpfold_kernels::Archive;
use warpfold_kernels::custom::{Exported, Node, Sizes, Words};
use warpfold_kernels::reduce::call::CallAt;

/// A user's reducer and its kernels, for one GPU.
///
/// The kernels are what `cargo warpfold-ptx` made of the crate that calls `warpfold_kernels::export_reducer!`;
/// docs/custom-reducers.md goes through it step by step. Results have the bits of `warpfold::reduce_elements`.
pub struct Custom<R> {
    device: Device,
    reducer: R,
    /// The bytes of the file of kernels; none, if the device has them.
    archive: Option<Vec<u8>>,
}

impl<R: Exported> Custom<R> {
    /// Looks for the reducer's kernels in the bytes of the file. They are loaded when they are needed.
    ///
    /// # Safety
    /// The bytes are what `cargo warpfold-ptx` made of this reducer's crate: kernels read and write by addresses, and
    /// nothing keeps others within their arrays. A change of sizes since then is found, as an error.
    ///
    /// # Errors
    /// If it holds no kernels, or those of another reducer, or of an earlier version of this one with other elements,
    /// nodes or results.
    pub unsafe fn new(device: &Device, reducer: R, kernels: &[u8]) -> Result<Custom<R>, CudaError> {
        check::<R>(kernels)?;
        Ok(Custom { device: device.clone(), reducer, archive: Some(kernels.to_vec()) })
    }

    /// Takes the kernels that the device itself has for the reducer, as an emulator does.
    ///
    /// # Safety
    /// What the device knows by the names of this reducer's kernels are these kernels.
    pub unsafe fn of_device(device: &Device, reducer: R) -> Custom<R> {
        Custom { device: device.clone(), reducer, archive: None }
    }

    /// Reduces elements over some axes (`None`: all). The work is queued, and the result stays on the device:
    /// [`Elements::download`] waits for it.
    ///
    /// # Errors
    /// Bad axes; nothing to reduce and no identity; what the driver says.
    pub fn reduce(
        &self,
        stream: &Stream,
        input: ElementsView<'_, R::Item>,
        axes: Option<&[isize]>,
    ) -> Result<Elements<R::Output>, Error> {
        let reduction = self.prepare(input, axes)?;
        let mut out = reduction.output()?;
        reduction.run(stream, input, &mut out)?;
        Ok(out)
    }

    /// Reduces elements whose first words are in one array, and whose other words are in another of the same shape, as
    /// `warpfold::zip` does on the host: an element is made when both parts have been read, so nothing is copied. The
    /// kernels are those of any elements, whatever the layouts.
    ///
    /// # Errors
    /// As [`Custom::reduce`]; arrays of different shapes.
    pub fn reduce_pairs<A: Words, B: Words>(
        &self,
        stream: &Stream,
        first: ElementsView<'_, A>,
        second: ElementsView<'_, B>,
        axes: Option<&[isize]>,
    ) -> Result<Elements<R::Output>, Error> {
        let reduction = self.prepare_pairs(first, second, axes)?;
        let mut out = reduction.output()?;
        reduction.run_pairs(stream, first, second, &mut out)?;
        Ok(out)
    }

    /// Plans a reduction of elements like these, and loads its kernels. The driver compiles a kernel when it is first
    /// used, as [`crate::Reduction::new`] says.
    ///
    /// # Errors
    /// As [`Custom::reduce`].
    pub fn prepare(
        &self,
        input: ElementsView<'_, R::Item>,
        axes: Option<&[isize]>,
    ) -> Result<CustomReduction<R>, Error> {
        let layout = *input.layout();
        self.planned(layout, None, &layout.reduce(axes)?)
    }

    /// The same of elements in two arrays like these.
    ///
    /// # Errors
    /// As [`Custom::reduce_pairs`].
    pub fn prepare_pairs<A: Words, B: Words>(
        &self,
        first: ElementsView<'_, A>,
        second: ElementsView<'_, B>,
        axes: Option<&[isize]>,
    ) -> Result<CustomReduction<R>, Error> {
        const {
            let words = <R::Item as Node>::WORDS;
            assert!(A::WORDS + B::WORDS == words, "the words of both arrays' elements are those of the reducer's");
        };
        let layouts = [*first.layout(), *second.layout()];
        self.planned(layouts[0], Some(layouts[1]), &layouts[0].reduce_pairs(&layouts[1], axes)?)
    }

    fn planned(
        &self,
        layout: ElementLayout,
        second: Option<ElementLayout>,
        reduced: &ElementProblem,
    ) -> Result<CustomReduction<R>, Error> {
        let problem = &reduced.problem;
        let work = match (problem.outputs, problem.count) {
            (0, _) => Work::Nothing,
            (n, 0) => {
                let value = || self.reducer.finish_empty().ok_or_else(|| layout.empty(&reduced.axes));
                Work::Constant((0..n).map(|_| value()).collect::<Result<_, _>>()?)
            }
            _ => {
                let first = second.map(|_| (layout.size / 4) as u32);
                let plan = GpuPlan::custom(self.reducer, first, problem, &self.device.limits());
                let launches = plan.launches.iter().map(|launch| self.load(launch)).collect::<Result<_, _>>()?;
                Work::Launches { launches, unaligned: None, workspace: plan.workspace }
            }
        };
        let out = problem.out_offset * size_of::<R::Output>() as isize;
        let offsets = [problem.x_offset, problem.mask_offset, out];
        let (device, shape) = (self.device.clone(), reduced.shape.clone());
        Ok(CustomReduction { device, inputs: (layout, second), shape, work, offsets, kind: PhantomData })
    }

    fn load(&self, launch: &plan::Launch<CallAt>) -> Result<Ready<CallAt>, CudaError> {
        let kernel = match &self.archive {
            None => self.device.kernel(&launch.entry)?,
            Some(bytes) => {
                let archive = Archive::new(bytes).ok_or(CudaError::NoArchive { len: bytes.len() })?;
                let text = archive.ptx(&launch.entry).ok_or_else(|| missing::<R>(&archive, &launch.entry))?;
                self.device.kernel_of(&launch.entry, text)?
            }
        };
        Ready::new(kernel, launch)
    }
}

/// A reduction of elements of one shape and layout, planned and loaded. A run costs the host the driver's calls and no
/// more.
pub struct CustomReduction<R: Exported> {
    device: Device,
    /// Of the elements, and of their second parts, if these are in another array.
    inputs: (ElementLayout, Option<ElementLayout>),
    shape: Vec<usize>,
    work: Work<Vec<R::Output>>,
    /// From the addresses of both arrays and of the output to where kernels start, in bytes.
    offsets: [isize; 3],
    kind: PhantomData<R>,
}

impl<R: Exported> CustomReduction<R> {
    /// The shape of the result.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The kernels that a run launches, in order.
    pub fn kernels(&self) -> Vec<&str> {
        self.work.kernels()
    }

    /// Room for a result.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn output(&self) -> Result<Elements<R::Output>, Error> {
        Elements::new(&self.device, &self.shape)
    }

    /// Queues one run. The result is in `out` when the stream gets there; `out` must not be in use by another stream.
    ///
    /// # Errors
    /// If the elements, the output or the stream are not like those that the reduction was prepared for, or the driver
    /// refuses.
    pub fn run(
        &self,
        stream: &Stream,
        input: ElementsView<'_, R::Item>,
        out: &mut Elements<R::Output>,
    ) -> Result<(), Error> {
        input.is_on(stream, "array")?;
        self.queue(stream, (*input.layout(), input.address()), None, out)
    }

    /// The same of elements in two arrays.
    ///
    /// # Errors
    /// As [`CustomReduction::run`].
    pub fn run_pairs<A: Words, B: Words>(
        &self,
        stream: &Stream,
        first: ElementsView<'_, A>,
        second: ElementsView<'_, B>,
        out: &mut Elements<R::Output>,
    ) -> Result<(), Error> {
        first.is_on(stream, "array")?;
        second.is_on(stream, "second array")?;
        let second = Some((*second.layout(), second.address()));
        self.queue(stream, (*first.layout(), first.address()), second, out)
    }

    /// Queues a run of arrays of these layouts at these addresses.
    fn queue(
        &self,
        stream: &Stream,
        (layout, input): (ElementLayout, u64),
        second: Option<(ElementLayout, u64)>,
        out: &mut Elements<R::Output>,
    ) -> Result<(), Error> {
        stream.is_one_of(&self.device)?;
        out.view().is_on(stream, "output")?;
        let differs = |what, found: &dyn std::fmt::Debug, expected: &dyn std::fmt::Debug| CudaError::Layout {
            what,
            found: format!("{found:?}"),
            expected: format!("{expected:?}"),
        };
        let of = |l: &ElementLayout| (l.size, l.shape().to_vec(), l.strides().to_vec());
        if layout != self.inputs.0 {
            return Err(differs("array", &of(&layout), &of(&self.inputs.0)).into());
        }
        let found = second.map(|(layout, _)| layout);
        if found != self.inputs.1 {
            return Err(differs("second array", &found.as_ref().map(of), &self.inputs.1.as_ref().map(of)).into());
        }
        if out.shape() != self.shape {
            return Err(differs("output", &out.shape(), &self.shape).into());
        }
        match &self.work {
            Work::Nothing => Ok(()),
            Work::Constant(values) => {
                *out = Elements::upload(stream, values, &self.shape)?;
                Ok(())
            }
            Work::Launches { launches, workspace, .. } => {
                let mut scratch = stream.scratch();
                let workspace = scratch.workspace(stream, *workspace)?;
                let [x, y, result] = self.offsets;
                let at = CallAt {
                    input: input.wrapping_add_signed(x as i64),
                    mask: second.map_or(0, |(_, address)| address.wrapping_add_signed(y as i64)),
                    output: out.address().wrapping_add_signed(result as i64),
                    workspace,
                };
                for launch in launches {
                    // SAFETY: the plan is for elements of this layout and an output of this shape, which stay until the
                    // device is done with them, as `ElementsView::from_raw` and `Buffer`'s drop promise. The kernels
                    // are this reducer's, by the promise of `Custom::new`, which has compared the sizes of elements,
                    // nodes and results. The workspace is as large as the plan asks for, its counters are zero, and the
                    // stream's lock is held.
                    unsafe { launch.queue(stream, at) }?;
                }
                Ok(())
            }
        }
    }
}

/// Whether these are the kernels of this reducer.
fn check<R: Exported>(kernels: &[u8]) -> Result<(), CudaError> {
    let archive = Archive::new(kernels).ok_or(CudaError::NoArchive { len: kernels.len() })?;
    let entry = format!("words_{}", R::NAME);
    let text = archive.ptx(&entry).ok_or_else(|| missing::<R>(&archive, &entry))?;
    let (found, expected) = (parameters(&text), Sizes::of::<R>().bytes());
    let whats = ["elements", "nodes", "results", "a reducer (and a word)", "a choice of kernels (INDEXED)"];
    for (i, (what, expected)) in whats.into_iter().zip(expected).enumerate() {
        let found = found.get(i).copied().unwrap_or_default();
        if found != expected {
            return Err(CudaError::OldKernels { name: R::NAME, what, found, expected });
        }
    }
    Ok(())
}

fn missing<R: Exported>(archive: &Archive<'_>, entry: &str) -> CudaError {
    let found = archive.entries().map(str::to_owned).collect();
    CudaError::NoReducer { name: R::NAME, entry: entry.to_owned(), found }
}

#[cfg(test)]
mod tests {
    use super::{CudaError, check};
    use mat2::{KERNELS, Mat2, Mat2Product};
    use warpfold_core::Reducer;

    warpfold_kernels::words! {
        struct Other;
    }
    impl Reducer for Other {
        type Item = Mat2;
        type Acc = Mat2;
        type Output = f32;
        const INDEXED: bool = false;
        fn lift(&self, item: Mat2, _index: u64) -> Mat2 {
            item
        }
        fn combine(&self, left: Mat2, _right: Mat2) -> Mat2 {
            left
        }
        fn finish(&self, acc: Mat2, _count: u64) -> f32 {
            acc.a
        }
    }
    // The name of another reducer's kernels.
    warpfold_kernels::export_reducer!(mat2: Other);

    #[test]
    fn kernels_of_another_source_are_refused_in_words() {
        assert_eq!(check::<Mat2Product>(KERNELS), Ok(()));
        assert_eq!(check::<Mat2Product>(b"%PDF"), Err(CudaError::NoArchive { len: 4 }));
        let said = check::<Other>(KERNELS).expect_err("other results").to_string();
        assert!(said.contains("results of 16 bytes, here they have 4") && said.contains("warpfold-ptx"), "{said}");
        let empty = check::<Mat2Product>(b"warpfold-ptx 1 0\n");
        assert!(matches!(empty, Err(CudaError::NoReducer { name: "mat2", ref entry, .. }) if entry == "words_mat2"));
    }
}
