//! Points in streams.

use warpfold_array::CudaError;

use crate::device::Device;
use crate::runtime::Handle;

/// A point in a stream, with the time at which the device reached it.
#[derive(Debug)]
pub struct Event {
    device: Device,
    raw: Handle,
}

impl Event {
    /// An event that marks nothing yet.
    ///
    /// # Errors
    /// If the driver makes none.
    pub fn new(device: &Device) -> Result<Event, CudaError> {
        Ok(Event { raw: device.0.create_event()?, device: device.clone() })
    }

    /// Waits until the device has reached the point marked; at once if none was.
    ///
    /// # Errors
    /// What went wrong before it.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: the event lives as long as `self`.
        unsafe { self.device.0.synchronize_event(self.raw) }
    }

    /// Nanoseconds between two recorded events, by the device's own clock. Waits for both.
    ///
    /// # Errors
    /// If one was not recorded or is of another device, or what went wrong before it.
    pub fn nanoseconds_since(&self, earlier: &Event) -> Result<u64, CudaError> {
        let (found, expected) = (earlier.device.index(), self.device.index());
        if found != expected {
            return Err(CudaError::OtherDevice { what: "event", found, expected });
        }
        self.synchronize()?;
        // SAFETY: both events are of this device and live as long as the borrows.
        unsafe { self.device.0.nanoseconds(earlier.raw, self.raw) }
    }

    /// The device that it is of.
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// What the runtime knows it by.
    pub(crate) fn raw(&self) -> Handle {
        self.raw
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed only here.
        unsafe { self.device.0.destroy_event(self.raw) };
    }
}
