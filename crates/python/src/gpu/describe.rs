//! `describe` of an array on a GPU: queued on the current stream of the library that has the array. The results are
//! arrays of that library. In memory that PyTorch or CuPy makes room for, nothing waits; other libraries get memory of
//! Warpfold's own, after a wait.

use std::sync::Arc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use warpfold::DType;
use warpfold::cuda::{self, Array, Section, Survey};

use super::cache;
use super::keys::Together;
use crate::dlpack::{Exported, Owner};
use crate::input::exported;
use crate::pool;

impl<'py> Together<'py, 1> {
    /// The statistics: as the function of Python that calls this.
    pub fn describe(&self, axes: Option<Vec<isize>>, keepdims: bool, skip_nan: bool) -> PyResult<Bound<'py, PyTuple>> {
        let (array, py) = (&self.arrays[0], self.py());
        let survey = cache::survey(array, &cuda::Options { axes, keepdims, skip_nan, ..cuda::Options::default() })?;
        let all = match survey.constant() {
            Some(found) => {
                let all = PyDict::new(py);
                for (name, values) in found.stats.clone() {
                    all.set_item(name, self.uploaded(&warpfold::Array { shape: found.shape.clone(), values })?)?;
                }
                all
            }
            None => self.queued(&survey)?,
        };
        (survey.count(), all, self.dtype().name(), PyTuple::new(py, &array.shape)?).into_pyobject(py)
    }

    /// The statistics that kernels find.
    fn queued(&self, survey: &Survey) -> PyResult<Bound<'py, PyDict>> {
        let (array, py) = (&self.arrays[0], self.py());
        let (stream, view, (sections, bytes)) = (self.stream()?, array.view()?, survey.sections());
        // CuPy has no arrays of bf16 to read sections as.
        let has_dtype = array.torch || array.dtype != DType::BF16;
        let room = if has_dtype { array.room(&[bytes], DType::U8)? } else { None };
        let all = PyDict::new(py);
        if let Some((room, address)) = room {
            // SAFETY: the library has made room for all sections, which nobody else knows yet. The memory is aligned
            // for any element, and freed in the order of the stream.
            let queued = pool::detached(py, || unsafe { survey.run_at(&stream, view, address) });
            // Where one launch failed, others are queued.
            array.keep(&stream)?;
            queued?;
            let gpu = py.import(intern!(py, "warpfold._gpu"))?;
            let outputs: usize = survey.shape().iter().product();
            for Section { name, dtype, offset } in sections {
                let end = offset + outputs * dtype.size();
                let shape = PyTuple::new(py, survey.shape())?;
                let part = gpu.call_method1(intern!(py, "section"), (&room, offset, end, dtype.name(), shape))?;
                all.set_item(name, part)?;
            }
        } else {
            let room = pool::detached(py, || {
                let room = Array::new(&stream.device(), DType::U8, &[bytes])?;
                // SAFETY: as above; the room is let go after the stream has been waited for.
                let queued = unsafe { survey.run_at(&stream, view, room.address()) };
                // The library reads the results on streams that are not known here.
                stream.synchronize()?;
                queued.map(|()| room)
            })?;
            let (address, keeper) = (room.address(), Arc::new(room));
            for Section { name, dtype, offset } in sections {
                let (keeper, address) = (keeper.clone(), address + offset as u64);
                let owner = Owner::Gpu { keeper, index: array.device, address };
                let part = Exported::new(owner, dtype, survey.shape().to_vec());
                all.set_item(name, exported(&array.of, part)?)?;
            }
        }
        // Of all that is not zero, with NaNs and without.
        if let (Some(with), Some(without)) = (all.get_item("nan_count")?, all.get_item("numbers")?) {
            all.set_item("nan_count", with.sub(without)?)?;
            all.del_item("numbers")?;
        }
        Ok(all)
    }
}
