//! A case on the CPU, and on a device, which may be one that is emulated.

use super::array::Placed;
use super::case::{Case, Channels, Losses, What, Windows};
use super::given::{Given, IGNORED};
use crate::golden::text;
use warpfold::cuda::{self, ArrayView, Buffer, Device, Stream, rows as gpu};
use warpfold::rows::{self as cpu, LossReduction};
use warpfold::{Array, ArrayRef, Error, pool, select};

/// What stands for the results of a case, or for there being none.
pub fn said(results: &Result<Vec<Array>, Error>) -> String {
    match results {
        Ok(arrays) => {
            let texts: Vec<String> = arrays.iter().map(|array| text(array.values.as_bytes())).collect();
            texts.join(" ")
        }
        Err(why) => format!("error: {}", why.to_string().chars().take(80).collect::<String>()),
    }
}

/// An array of the host, if it is there.
fn of(array: &Option<Placed>) -> Option<ArrayRef<'_>> {
    array.as_ref().map(Placed::host)
}

/// The results of a case on the CPU, of which those that are not asked for are left out.
pub fn on_cpu(case: &Case, given: &Given) -> Result<Vec<Array>, Error> {
    let (x, axes) = (given.x.host(), case.axes.unwrap_or_default());
    let second = || of(&given.second).expect("a second array");
    let softmax = |scale: f64| cpu::Softmax { scale, mask: of(&given.mask), threads: None };
    let pairs = || cpu::Pairs { axes: case.axes, gradient: of(&given.scales), threads: None };
    let norm = |norm: &super::case::Norm| cpu::Norm {
        weight: of(&given.weight),
        bias: of(&given.bias),
        weight_offset: norm.offset,
        epsilon: norm.epsilon,
        ..cpu::Norm::default()
    };
    let one = match case.what {
        What::Softmax { log: false, scale, .. } => cpu::softmax(x, axes, &softmax(scale)),
        What::Softmax { scale, .. } => cpu::log_softmax(x, axes, &softmax(scale)),
        What::SoftmaxBackward { log: false, scale } => cpu::softmax_backward(x, second(), axes, &softmax(scale)),
        What::SoftmaxBackward { scale, .. } => cpu::log_softmax_backward(x, second(), axes, &softmax(scale)),
        What::Norm(of) if of.layer => cpu::layer_norm(x, axes, &norm(&of)),
        What::Norm(of) => cpu::rms_norm(x, axes, &norm(&of)),
        What::NormBackward(of) => {
            let op = if of.layer { cpu::layer_norm_backward } else { cpu::rms_norm_backward };
            let got = op(x, second(), axes, &norm(&of))?;
            return Ok(gradients(got));
        }
        What::CrossEntropy { of: losses, .. } => {
            let (ignore, reduction) = (IGNORED, LossReduction::None);
            let (weights, gradient) = (of(&given.weight), of(&given.scales));
            let options = cpu::CrossEntropy { ignore, weights, reduction, gradient, ..cpu::CrossEntropy::default() };
            let targets = of(&given.targets).expect("targets");
            let got = cpu::cross_entropy_gradient(x, targets, axes[0], &options)?;
            let gradient = Some(got.gradient).filter(|_| losses != Losses::Alone);
            return Ok([Some(got.loss), Some(got.logsumexp), gradient].into_iter().flatten().collect());
        }
        What::Loss(loss, by) => cpu::loss(loss, x, second(), by, &pairs()),
        What::LossBackward(loss, by) => cpu::loss_backward(loss, x, second(), by, &pairs()),
        What::Dot => cpu::dot(x, second(), &pairs()),
        What::DotBackward => cpu::dot_backward(x, second(), &pairs()),
        What::Cosine(epsilon) => cpu::cosine_similarity(x, second(), epsilon, &pairs()),
        What::AvgPool(of) => pool::avg_pool(x, &of.pool),
        What::AvgPoolBackward(of) => pool::avg_pool_backward(x, lengths(of), &of.pool),
        What::MaxPool(of, indices) => {
            let got = pool::max_pool(x, &of.pool, indices)?;
            return Ok([Some(got.values), got.indices].into_iter().flatten().collect());
        }
        What::MaxPoolBackward(of) => pool::max_pool_backward(x, second(), lengths(of), &of.pool),
        What::TopK { k, largest } => {
            let got = select::top_k(x, k.min(case.row()), axes[0], largest, None)?;
            return Ok(vec![got.values, got.indices]);
        }
        What::Channels(Channels { groups: Some(groups), backward, .. }) => {
            let options = cpu::Norm { weight: of(&given.weight), bias: of(&given.bias), ..cpu::Norm::default() };
            if backward {
                return cpu::group_norm_backward(x, second(), groups, &options).map(gradients);
            }
            cpu::group_norm(x, groups, &options)
        }
        What::Channels(Channels { backward, .. }) => {
            let (weight, bias) = (of(&given.weight), of(&given.bias));
            let statistics = of(&given.mean).zip(of(&given.variance));
            let options = cpu::BatchNorm { weight, bias, statistics, ..cpu::BatchNorm::default() };
            if backward {
                return cpu::batch_norm_backward(x, second(), 1, &options).map(gradients);
            }
            let got = cpu::batch_norm(x, 1, &options)?;
            return Ok(vec![got.y, got.mean, got.variance]);
        }
    };
    Ok(vec![one?])
}

/// Those of a norm, as far as they are.
fn gradients(got: cpu::NormGradients) -> Vec<Array> {
    [Some(got.x), got.weight, got.bias].into_iter().flatten().collect()
}

/// The lengths of the axes that windows are on.
fn lengths(of: &Windows) -> &[usize] {
    &of.shape[of.shape.len() - of.pool.kernel_size.len()..]
}

/// An array of a case, and its bytes on a device.
type There<'a> = Option<(&'a Placed, Buffer<u8>)>;

/// What a case has on a device.
struct OnDevice<'a> {
    stream: &'a Stream,
    device: Device,
    /// The kernels of what has run, in order.
    kernels: &'a mut Vec<String>,
}

/// The results of a case on a device, as the CPU has them, and by which kernels.
pub fn on_device(case: &Case, given: &Given, stream: &Stream) -> (Result<Vec<Array>, Error>, Vec<String>) {
    let mut kernels = Vec::new();
    let mut on = OnDevice { stream, device: stream.device(), kernels: &mut kernels };
    let results = on.run(case, given);
    (results, kernels)
}

impl OnDevice<'_> {
    fn run(&mut self, case: &Case, given: &Given) -> Result<Vec<Array>, Error> {
        let Given { x, second, mask, weight, bias, targets, scales, mean, variance } = given;
        let there = |array: &'_ Placed| array.upload(self.stream);
        let x_there = there(x)?;
        let all =
            [second, mask, weight, bias, targets, scales, mean, variance].map(|array| -> Result<There<'_>, Error> {
                array.as_ref().map(|array| Ok((array, there(array)?))).transpose()
            });
        let mut views = [None; 8];
        let mut kept = Vec::new();
        for array in all {
            kept.push(array?);
        }
        for (view, array) in views.iter_mut().zip(&kept) {
            *view = array.as_ref().map(|(array, bytes)| array.view(bytes)).transpose()?;
        }
        let (x, [second, mask, weight, bias, targets, scales, mean, variance]) = (x.view(&x_there)?, views);
        let (axes, device) = (case.axes.unwrap_or_default(), &self.device.clone());
        let arrays = gpu::RowArrays { mask, weight, bias, gradient: second, targets, scales, noted: None };
        let norm = |&super::case::Norm { offset: weight_offset, epsilon, .. }: &_| gpu::Norm {
            weight,
            bias,
            weight_offset,
            epsilon,
            noted: None,
        };
        let (pairs, other) = (gpu::Pairs { axes: case.axes, gradient: scales }, || second.expect("a second array"));
        match case.what {
            What::Softmax { log, scale, .. } => {
                let op = if log { gpu::RowMap::log_softmax } else { gpu::RowMap::softmax };
                self.row(&op(device, &x, axes, &gpu::Softmax { scale, mask })?, x, &arrays)
            }
            What::SoftmaxBackward { log, scale } => {
                let op = if log { gpu::RowMap::log_softmax_backward } else { gpu::RowMap::softmax_backward };
                self.row(&op(device, &x, &other(), axes, &gpu::Softmax { scale, mask })?, x, &arrays)
            }
            What::Norm(of) => {
                let op = if of.layer { gpu::RowMap::layer_norm } else { gpu::RowMap::rms_norm };
                self.row(&op(device, &x, axes, &norm(&of))?, x, &arrays)
            }
            What::NormBackward(of) => {
                let op = if of.layer { gpu::RowMap::layer_norm_backward } else { gpu::RowMap::rms_norm_backward };
                self.gradients(&op(device, &x, &other(), axes, &norm(&of))?, x, &arrays)
            }
            What::CrossEntropy { of, .. } => self.losses(case, of, x, axes, arrays),
            What::Loss(loss, by) => {
                let pairs = gpu::Pairs { gradient: None, ..pairs };
                self.pair(&gpu::Zipped::loss(device, (loss, by), [&x, &other()], &pairs)?, [x, other()], None)
            }
            What::LossBackward(loss, by) => {
                let zipped = gpu::Zipped::loss_backward(device, (loss, by), [&x, &other()], &pairs)?;
                self.pair(&zipped, [x, other()], scales)
            }
            What::Dot => self.pair(&gpu::Zipped::dot(device, [&x, &other()], &pairs)?, [x, other()], None),
            What::DotBackward => {
                self.pair(&gpu::Zipped::dot_backward(device, [&x, &other()], &pairs)?, [x, other()], scales)
            }
            What::Cosine(epsilon) => {
                let zipped = gpu::Zipped::cosine_similarity(device, [&x, &other()], epsilon, &pairs)?;
                self.pair(&zipped, [x, other()], None)
            }
            What::AvgPool(of) => self.windows(&cuda::pool::Pooled::avg_pool(device, &x, &of.pool)?, x, None, false),
            What::AvgPoolBackward(of) => {
                let pooled = cuda::pool::Pooled::avg_pool_backward(device, &x, lengths(of), &of.pool)?;
                self.windows(&pooled, x, None, false)
            }
            What::MaxPool(of, indices) => {
                self.windows(&cuda::pool::Pooled::max_pool(device, &x, &of.pool, indices)?, x, None, indices)
            }
            What::MaxPoolBackward(of) => {
                let pooled = cuda::pool::Pooled::max_pool_backward(device, &x, &other(), lengths(of), &of.pool)?;
                self.windows(&pooled, x, second, false)
            }
            What::TopK { k, largest } => {
                let selection = cuda::select::Selection::top_k(device, &x, k.min(case.row()), axes[0], largest)?;
                self.notes(selection.kernels());
                let mut out = selection.output()?;
                selection.run(self.stream, x, &mut out)?;
                self.downloaded([Some(out.values), Some(out.indices)])
            }
            What::Channels(Channels { groups: Some(groups), backward, .. }) => {
                let options = gpu::Norm { weight, bias, ..gpu::Norm::default() };
                if backward {
                    self.notes(gpu::ChannelMap::group_norm(device, &x, Some(&other()), groups, &options)?.kernels());
                    let got = gpu::group_norm_backward(x, other(), groups, &options, self.stream)?;
                    return self.downloaded([Some(got.x), got.weight, got.bias]);
                }
                self.notes(gpu::ChannelMap::group_norm(device, &x, None, groups, &options)?.kernels());
                self.downloaded([Some(gpu::group_norm(x, groups, &options, self.stream)?)])
            }
            What::Channels(Channels { backward, .. }) => {
                let statistics = mean.zip(variance);
                let options = gpu::BatchNorm { weight, bias, statistics, ..gpu::BatchNorm::default() };
                if backward {
                    self.notes(gpu::ChannelMap::batch_norm(device, &x, Some(&other()), 1, &options)?.kernels());
                    let got = gpu::batch_norm_backward(x, other(), 1, &options, self.stream)?;
                    return self.downloaded([Some(got.x), got.weight, got.bias]);
                }
                self.notes(gpu::ChannelMap::batch_norm(device, &x, None, 1, &options)?.kernels());
                let got = gpu::batch_norm(x, 1, &options, self.stream)?;
                self.downloaded([Some(got.y), Some(got.mean), Some(got.variance)])
            }
        }
    }

    fn notes(&mut self, kernels: Vec<&str>) {
        self.kernels.extend(kernels.into_iter().map(str::to_owned));
    }

    fn downloaded(&self, results: impl IntoIterator<Item = Option<cuda::Array>>) -> Result<Vec<Array>, Error> {
        results.into_iter().flatten().map(|array| array.download(self.stream)).collect()
    }

    fn row(&mut self, map: &gpu::RowMap, x: ArrayView<'_>, arrays: &gpu::RowArrays<'_>) -> Result<Vec<Array>, Error> {
        self.notes(map.kernels());
        let mut out = map.output()?;
        map.run(self.stream, x, arrays, &mut out)?;
        self.downloaded([Some(out)])
    }

    fn gradients(
        &mut self,
        map: &gpu::RowMap,
        x: ArrayView<'_>,
        arrays: &gpu::RowArrays<'_>,
    ) -> Result<Vec<Array>, Error> {
        self.notes(map.kernels());
        let like = |factor: Option<ArrayView<'_>>| {
            factor.map(|factor| cuda::Array::new(&self.device, factor.dtype(), factor.shape())).transpose()
        };
        let mut out = gpu::NormGradients { x: map.output()?, weight: like(arrays.weight)?, bias: like(arrays.bias)? };
        map.run_gradients(self.stream, x, arrays, &mut out)?;
        self.downloaded([Some(out.x), out.weight, out.bias])
    }

    /// Losses of rows, rounded to the dtype of the logits, as the CPU has them.
    fn losses(
        &mut self,
        case: &Case,
        of: Losses,
        x: ArrayView<'_>,
        axes: &[isize],
        arrays: gpu::RowArrays<'_>,
    ) -> Result<Vec<Array>, Error> {
        let targets = arrays.targets.expect("targets");
        let options = gpu::CrossEntropy {
            ignore: IGNORED,
            weights: arrays.weight,
            scales: arrays.scales,
            gradient: of != Losses::Alone,
            noted: None,
        };
        let mut once = |options: &gpu::CrossEntropy<'_>| {
            let map = gpu::RowMap::cross_entropy(&self.device, &x, &targets, axes, options)?;
            self.kernels.extend(map.kernels().into_iter().map(str::to_owned));
            gpu::cross_entropy(x, targets, axes[0], options, self.stream)
        };
        let mut got = once(&options)?;
        if of == Losses::Noted {
            let noted = got.noted.expect("the first call notes");
            got = once(&gpu::CrossEntropy { noted: Some(noted.view()), ..options })?;
        }
        let mut results = self.downloaded([Some(got.losses), Some(got.logsumexp), got.gradient])?;
        for array in &mut results[..2] {
            array.values = array.values.clone().cast(case.dtype);
        }
        Ok(results)
    }

    fn pair(
        &mut self,
        zipped: &gpu::Zipped,
        [x, y]: [ArrayView<'_>; 2],
        gradient: Option<ArrayView<'_>>,
    ) -> Result<Vec<Array>, Error> {
        self.notes(zipped.kernels());
        let mut out = zipped.output()?;
        zipped.run(self.stream, x, y, gradient, &mut out)?;
        self.downloaded([Some(out)])
    }

    fn windows(
        &mut self,
        pooled: &cuda::pool::Pooled,
        x: ArrayView<'_>,
        places: Option<ArrayView<'_>>,
        indices: bool,
    ) -> Result<Vec<Array>, Error> {
        self.notes(pooled.kernels());
        let indices = indices.then(|| pooled.output_of_indices()).transpose()?;
        let mut out = cuda::pool::MaxPool { values: pooled.output()?, indices };
        pooled.run(self.stream, x, places, &mut out)?;
        self.downloaded([Some(out.values), out.indices])
    }
}
