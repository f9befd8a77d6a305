//! Figures that are computed from a run: medians, bandwidth, speed-ups.

use crate::record::{Device, Run};
use warpfold_kernels::ladder::{Form, Published, Rung, rung};

/// The peak of the GPU that the published figures of family A were measured on (A100-PCIE-40GB), in GB/s.
pub const A100_PEAK_GBS: f64 = 1555.0;

/// Device time per result, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    /// The median.
    pub median_us: f64,
    /// The 10 % quantile.
    pub low_us: f64,
    /// The 90 % quantile.
    pub high_us: f64,
}

impl Run {
    /// The median and the quantiles; `None` without samples.
    pub fn time(&self) -> Option<Time> {
        let mut samples = self.samples_ns.clone();
        samples.sort_unstable();
        let at = |share: f64| {
            let last = samples.len().checked_sub(1)?;
            let place = share * last as f64;
            let (below, above) = (samples[place.floor() as usize] as f64, samples[place.ceil() as usize] as f64);
            Some((below + (above - below) * place.fract()) / 1000.0)
        };
        Some(Time { median_us: at(0.5)?, low_us: at(0.1)?, high_us: at(0.9)? })
    }

    /// The bandwidth: bytes moved, divided by the median time.
    pub fn gbs(&self) -> Option<f64> {
        self.time().map(|t| self.bytes as f64 / t.median_us / 1000.0)
    }

    /// The share of the device's peak in per cent.
    pub fn of_peak(&self, device: &Device) -> Option<f64> {
        Some(100.0 * self.gbs()? / device.peak_gbs?)
    }

    /// The share of the bandwidth of a plain read on the device in per cent.
    pub fn of_read(&self, device: &Device) -> Option<f64> {
        Some(100.0 * self.gbs()? / device.read_gbs?)
    }

    /// The registry's entry; `None` for a yardstick of the runner.
    pub fn entry(&self) -> Option<&'static Rung> {
        // A variant, such as `b4_x8`, has the entry of its rung.
        rung(&self.rung).or_else(|| rung(self.rung.split("_x").next()?))
    }

    /// Whether this is a published form that is known to be wrong.
    pub fn is_as_published(&self) -> bool {
        self.entry().is_some_and(|r| r.form == Form::AsPublished)
    }

    /// Whether this is the library's own kernel.
    pub fn is_production(&self) -> bool {
        self.rung == "production" || self.entry().is_some_and(|r| r.form == Form::Slot)
    }

    /// Whether the verdict is the expected one: sound rungs pass, published forms are caught.
    pub fn is_as_expected(&self) -> bool {
        self.is_as_published() == self.is_caught()
    }

    /// Whether a fault was found, in the memory accesses or in the result.
    pub fn is_caught(&self) -> bool {
        !self.verdict.faults.is_empty() || !self.verdict.passed
    }

    /// The short name, such as `interleaved_modulo`, or else the title.
    pub fn slug(&self) -> &str {
        match self.entry() {
            Some(rung) if !rung.slug().is_empty() => rung.slug(),
            _ => &self.title,
        }
    }

    /// The published figures. The microseconds only if the run has the published workload.
    pub fn published(&self) -> Published {
        let printed = self.entry().map(|r| r.published).unwrap_or_default();
        Published { micros: self.published_us, ..printed }
    }
}
