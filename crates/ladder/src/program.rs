//! Plans of the ladder, carried out on a device.

use std::collections::HashMap;

use warpfold::cuda::{Arg, ArrayView, Buffer, Device, Error, Launch, Stream};
use warpfold_kernels::ladder::DType;

use crate::plan::{self, Plan, PlanError, Sizes, Step, Tuning, plan_centroids, plan_probe, plan_read, plan_reduce};

/// What a [`Program`] is to compute. Naming the work rather than handing in a plan is what makes running it safe: the
/// plan is then one that the kernels were written for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work<'a> {
    /// A sum by a rung of family A or B.
    Reduce {
        /// The rung.
        rung: &'a str,
        /// Of the elements.
        dtype: DType,
        /// Elements.
        n: u64,
        /// What the rung leaves open.
        tuning: Tuning,
    },
    /// A centroid update by a rung of family C.
    Centroids {
        /// The rung.
        rung: &'a str,
        /// How much.
        sizes: Sizes,
        /// What the rung leaves open.
        tuning: Tuning,
    },
    /// A read of so many words, and nothing else.
    Read {
        /// Words of 4 bytes.
        n: u64,
    },
    /// Every instruction once.
    Probe,
}

impl Work<'_> {
    /// What to launch.
    ///
    /// # Errors
    /// If there is no such rung, or it is not offered like that.
    pub fn plan(&self) -> Result<Plan, PlanError> {
        match *self {
            Work::Reduce { rung, dtype, n, tuning } => plan_reduce(rung, dtype, n, tuning),
            Work::Centroids { rung, sizes, tuning } => plan_centroids(rung, sizes, tuning),
            Work::Read { n } => plan_read(n, Tuning::default()),
            Work::Probe => Ok(plan_probe()),
        }
    }
}

/// What programs read: any number of them, any number of times.
pub struct Inputs {
    words: Buffer<u32>,
    labels: Option<Labels>,
}

/// Labels that are known to be below a number of clusters.
struct Labels {
    buffer: Buffer<i32>,
    clusters: u32,
}

impl Inputs {
    /// Elements or points, as bits.
    ///
    /// # Errors
    /// If they do not fit.
    pub fn upload(stream: &Stream, words: &[u32]) -> Result<Inputs, Error> {
        Ok(Inputs { words: Buffer::upload(stream, words)?, labels: None })
    }

    /// The first `words` words of an array that is on the device.
    ///
    /// # Errors
    /// If they do not fit, or the array has fewer.
    pub fn copy_of(stream: &Stream, bytes: &Buffer<u8>, words: usize) -> Result<Inputs, Error> {
        let mut copy = Buffer::new(&stream.device(), words)?;
        copy.copy_from_bytes(stream, bytes)?;
        stream.synchronize()?;
        Ok(Inputs { words: copy, labels: None })
    }

    /// Points, as bits, and the cluster of each.
    ///
    /// # Errors
    /// If they do not fit, or a label is not below `clusters`.
    pub fn upload_labelled(stream: &Stream, words: &[u32], labels: &[i32], clusters: u32) -> Result<Inputs, Error> {
        let wrong = labels.iter().position(|&label| !u32::try_from(label).is_ok_and(|l| l < clusters));
        if let Some(point) = wrong {
            return Err(Error::Label { point, label: labels[point], clusters });
        }
        let labels = Labels { buffer: Buffer::upload(stream, labels)?, clusters };
        Ok(Inputs { words: Buffer::upload(stream, words)?, labels: Some(labels) })
    }

    /// The words as elements of 4 bytes, for reductions.
    ///
    /// # Errors
    /// If elements of that dtype do not have 4 bytes.
    pub fn view(&self, dtype: warpfold::DType) -> Result<ArrayView<'_>, warpfold::Error> {
        if dtype.size() != 4 {
            return Err(Error::Length { what: "bytes of an element", found: dtype.size(), expected: 4 }.into());
        }
        let words = &self.words;
        // SAFETY: the buffer has so many words of the device's memory, of which any bits are an element; dropping it,
        // which the view's lifetime puts off, waits for what was queued.
        unsafe { ArrayView::from_raw(words.device_index(), words.address(), dtype, &[words.len()], &[4]) }
    }

    /// The words as f32 points, `[coordinate][point]`.
    ///
    /// # Errors
    /// If they are no whole number of points of so many coordinates.
    pub fn points(&self, coordinates: usize) -> Result<ArrayView<'_>, warpfold::Error> {
        let (words, dtype) = (&self.words, warpfold::DType::F32);
        let n = words.len() / coordinates.max(1);
        if n * coordinates != words.len() {
            return Err(Error::Length { what: "words", found: words.len(), expected: n * coordinates }.into());
        }
        let strides = [4 * n as isize, 4];
        // SAFETY: as in `view`: so many coordinates of n points each are all of the buffer's words.
        unsafe { ArrayView::from_raw(words.device_index(), words.address(), dtype, &[coordinates, n], &strides) }
    }

    /// The labels.
    ///
    /// # Errors
    /// If there are none.
    pub fn labels(&self) -> Result<ArrayView<'_>, warpfold::Error> {
        let none = Error::Length { what: "labels", found: 0, expected: self.words.len() };
        let labels = &self.labels.as_ref().ok_or(none)?.buffer;
        let dtype = warpfold::DType::I32;
        // SAFETY: the buffer has so many of the device's labels; dropping it, which the view's lifetime puts off, waits
        // for what was queued.
        unsafe { ArrayView::from_raw(labels.device_index(), labels.address(), dtype, &[labels.len()], &[4]) }
    }

    /// Another copy of the same, elsewhere in memory.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn duplicate(&self, stream: &Stream) -> Result<Inputs, Error> {
        let mut words = Buffer::new(&stream.device(), self.words.len())?;
        words.copy_from(stream, &self.words)?;
        let labels = match &self.labels {
            None => None,
            Some(labels) => {
                let mut buffer = Buffer::new(&stream.device(), labels.buffer.len())?;
                buffer.copy_from(stream, &labels.buffer)?;
                Some(Labels { buffer, clusters: labels.clusters })
            }
        };
        stream.synchronize()?;
        Ok(Inputs { words, labels })
    }
}

/// A plan with its kernels loaded and its memory allocated, on one stream.
pub struct Program {
    plan: Plan,
    clusters: u32,
    buffers: HashMap<plan::Buffer, Buffer<u32>>,
    steps: Vec<Ready>,
}

enum Ready {
    Zero(plan::Buffer),
    Launch {
        launch: Launch,
        /// Which arguments are the caller's.
        theirs: Vec<(usize, plan::Buffer)>,
    },
}

impl Program {
    /// Loads and allocates what the work needs.
    ///
    /// # Errors
    /// If there is no such plan, no memory, or the driver refuses a kernel.
    pub fn new(device: &Device, work: Work<'_>) -> Result<Program, Error> {
        let plan = work.plan().map_err(|e| Error::Plan { why: e.to_string() })?;
        let clusters = if let Work::Centroids { sizes, .. } = work { sizes.clusters } else { 0 };
        let mut buffers = HashMap::new();
        for &(name, bytes) in &plan.buffers {
            // A rung that overwrites its input gets a copy of its own.
            if !is_theirs(name) || plan.clobbers_input {
                buffers.insert(name, Buffer::<u32>::new(device, bytes as usize / 4)?);
            }
        }
        let mut steps = Vec::new();
        for step in &plan.steps {
            steps.push(match step {
                Step::Zero(name) => Ready::Zero(*name),
                Step::Launch(l) => {
                    let mut theirs = Vec::new();
                    let mut args = Vec::new();
                    for (i, arg) in l.args.iter().enumerate() {
                        args.push(match *arg {
                            plan::Arg::U64(x) => Arg::U64(x),
                            plan::Arg::U32(x) => Arg::U32(x),
                            plan::Arg::Buffer(name) => Arg::Address(match buffers.get(&name) {
                                Some(buffer) => buffer.address(),
                                None => {
                                    theirs.push((i, name));
                                    0
                                }
                            }),
                        });
                    }
                    Ready::Launch { launch: Launch::new(device.kernel(&l.entry)?, l.grid, l.block, &args)?, theirs }
                }
            });
        }
        Ok(Program { plan, clusters, buffers, steps })
    }

    /// What it launches.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Queues filling everything that the program writes with one bits: NaN as a float, -1 as an integer. What is not
    /// written afterwards shows. And, if the rung overwrites its input, queues copying that afresh.
    ///
    /// # Errors
    /// If the driver refuses, or the inputs have another size.
    pub fn reset(&mut self, stream: &Stream, inputs: &Inputs) -> Result<(), Error> {
        self.check(inputs)?;
        for (&name, buffer) in &mut self.buffers {
            match name {
                plan::Buffer::Input => buffer.copy_from(stream, &inputs.words)?,
                _ => buffer.fill(stream, 0xff)?,
            }
        }
        Ok(())
    }

    /// Queues one run. A program that overwrites its input needs [`Program::reset`] before.
    ///
    /// # Errors
    /// If the driver refuses, or the inputs have another size.
    pub fn run(&mut self, stream: &Stream, inputs: &Inputs) -> Result<(), Error> {
        self.check(inputs)?;
        for step in &mut self.steps {
            match step {
                Ready::Zero(name) => match self.buffers.get_mut(name) {
                    Some(buffer) => buffer.fill(stream, 0)?,
                    None => unreachable!("a plan zeroes only what it writes"),
                },
                Ready::Launch { launch, theirs } => {
                    for &(i, name) in &*theirs {
                        launch.set_address(i, inputs.address(name));
                    }
                    // SAFETY: the plan is the planner's own, for a kernel of the same crate, whose grid, block and
                    // numbers go with buffers of the sizes allocated in `new`; `check` has seen that the inputs have
                    // the size that it says and that labels are below the clusters. Input that a kernel writes is the
                    // program's own copy. Dropping a buffer waits for the device; other streams are barred by `&mut
                    // self` from what is written, except one that the caller changes to without synchronising, which
                    // garbles numbers but stays within the buffers.
                    unsafe { launch.queue(stream) }?;
                }
            }
        }
        Ok(())
    }

    /// Waits, and copies a buffer that the program writes to the host, as bits.
    ///
    /// # Errors
    /// If something went wrong in a kernel or on the way.
    ///
    /// # Panics
    /// If the plan does not write such a buffer.
    pub fn read(&self, stream: &Stream, name: plan::Buffer) -> Result<Vec<u32>, Error> {
        self.buffers.get(&name).unwrap_or_else(|| panic!("{} writes no {name:?}", self.plan.rung)).read(stream)
    }

    fn check(&self, inputs: &Inputs) -> Result<(), Error> {
        let expected = |name| self.plan.buffers.iter().find(|b| b.0 == name).map_or(0, |b| b.1 as usize / 4);
        let (found, expected_words) = (inputs.words.len(), expected(plan::Buffer::Input));
        if found != expected_words {
            return Err(Error::Length { what: "input of a kernel", found, expected: expected_words });
        }
        let expected = expected(plan::Buffer::Labels);
        if expected == 0 {
            return Ok(());
        }
        let (found, clusters) = inputs.labels.as_ref().map_or((0, 0), |l| (l.buffer.len(), l.clusters));
        if found != expected || clusters > self.clusters {
            return Err(Error::Length { what: "labels of a kernel, and their clusters", found, expected });
        }
        Ok(())
    }
}

fn is_theirs(name: plan::Buffer) -> bool {
    matches!(name, plan::Buffer::Input | plan::Buffer::Labels)
}

impl Inputs {
    fn address(&self, name: plan::Buffer) -> u64 {
        match (name, &self.labels) {
            (plan::Buffer::Labels, Some(labels)) => labels.buffer.address(),
            _ => self.words.address(),
        }
    }
}
