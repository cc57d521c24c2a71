//! [`Show`] for devices.

use super::Show;
use crate::device::{DeviceExt, GpuInfo, NvidiaSmi};
use candle_core::Device;

impl Show for Device {
    fn show_text(&self) -> String {
        self.label()
    }
}

impl Show for GpuInfo {
    fn show_text(&self) -> String {
        self.to_string()
    }
}

impl Show for NvidiaSmi {
    fn show_text(&self) -> String {
        self.to_string()
    }
}
