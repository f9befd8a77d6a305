//! The first and the last of each group, on a GPU.

use super::check_values;
use super::groups::{Groups, take_said};
use crate::array::Array;
use crate::device::Device;
use crate::origin::Origin;
use crate::segments::rows;
use crate::stream::Stream;
use crate::view::ArrayView;
use std::sync::Arc;
use warpfold_array::ArrayRef;
use warpfold_array::KeyError;
use warpfold_array::{CudaError, Error, Op};
use warpfold_array::{Scalar, Values};
use warpfold_cpu::keys::filled;
use warpfold_kernels::group::ends::EndsAt;

/// Which element of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one with the least index.
    First,
    /// The one with the greatest.
    Last,
}

impl Groups {
    /// Queues picking the first element of each group, or row of `values`, as [`warpfold_cpu::keys::Groups::first`].
    /// `fill` is given for groups without elements; without it they are an error of the download.
    ///
    /// # Errors
    /// Another number of values than labels, rows whose axes are not one, or what the driver says.
    pub fn first(&self, values: ArrayView<'_>, fill: Option<Scalar>, stream: &Stream) -> Result<Array, Error> {
        self.pick(End::First, values, fill, stream)
    }

    /// Queues picking the last element of each group, or row of `values`, as [`Groups::first`].
    ///
    /// # Errors
    /// As [`Groups::first`].
    pub fn last(&self, values: ArrayView<'_>, fill: Option<Scalar>, stream: &Stream) -> Result<Array, Error> {
        self.pick(End::Last, values, fill, stream)
    }

    fn pick(&self, end: End, values: ArrayView<'_>, fill: Option<Scalar>, stream: &Stream) -> Result<Array, Error> {
        check_values(self.labels(), &values)?;
        values.is_on(stream, "array")?;
        self.offsets().is_on(stream, "groups")?;
        let Some(rows) = rows::steps(&values) else {
            let why = "rows whose axes do not follow one another: copy them into C order".into();
            return Err(CudaError::Keys { why }.into());
        };
        let (dtype, last) = (values.dtype(), end == End::Last);
        let shape: Vec<usize> = [self.len()].into_iter().chain(values.shape()[1..].iter().copied()).collect();
        let mut out = Array::new(&self.device, dtype, &shape)?;
        let fill = fill.map(|fill| {
            let mut word = [0; 8];
            let filled = filled(Values::F64(Vec::new()).cast(dtype), &[0], 1, fill);
            word[..dtype.size()].copy_from_slice(filled.as_bytes());
            u64::from_le_bytes(word)
        });
        take_said(&self.said, stream, &mut out, Op::Max, (self.len(), self.dtype()), self.labels())?;
        if !out.is_empty() {
            let launch = self.device.ready(&rows.ends(self.len(), last, fill, self.device.multiprocessors()))?;
            let at = EndsAt {
                input: values.address(),
                positions: self.positions().address(),
                offsets: self.offsets().address(),
                output: out.address(),
                status: out.status_address(),
            };
            // SAFETY: as many rows as labels, all of which positions are below; the result has room, and a word for its
            // status. All stays until the device is done with it.
            unsafe { launch.queue(stream, at) }?;
        }
        let groups = Some((self.len(), self.dtype()));
        let origin = Origin {
            groups,
            name: if last { "last" } else { "first" },
            ..Origin::of_parts(Op::Max, dtype, values.shape(), "group")
        };
        out.set_origin(Some(Arc::new(origin)));
        Ok(out)
    }
}

/// The first or the last element of each group of host arrays, picked on a GPU, as
/// [`warpfold_cpu::keys::Groups::first`].
///
/// # Errors
/// As [`Groups::new`] and [`Groups::first`].
pub fn ends_host(
    end: End,
    labels: ArrayRef<'_>,
    values: ArrayRef<'_>,
    groups: Option<usize>,
    fill: Option<Scalar>,
    device: &Device,
) -> Result<warpfold_array::Array, Error> {
    let stream = Stream::new(device)?;
    let [by, x] = [Array::upload(&stream, labels)?, Array::upload(&stream, values)?];
    let ordered = Groups::new(by.view(), groups, &stream)?;
    match ordered.pick(end, x.view(), fill, &stream)?.download(&stream) {
        // The CPU says which.
        Err(Error::Key(KeyError::SomeEmpty { .. })) => {
            let groups = warpfold_cpu::keys::Groups::new(labels, Some(ordered.len()))?;
            match end {
                End::First => groups.first(values),
                End::Last => groups.last(values),
            }
        }
        said => said,
    }
}
