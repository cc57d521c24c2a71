//! Everything a notebook uses: `use taper::prelude::*;`.
//!
//! Candle's `Module` comes along unnamed, so that `x.apply(&layer)` works with Candle's own layers.

pub use crate::compose;
pub use crate::data::transforms::{
    CenterCrop, ColorJitter, Compose, Normalize, RandomHorizontalFlip, Resize, ToTensor, Transform,
};
pub use crate::data::{
    Batch, DataLoader, DataModule, Dataset, Digits, ImageFolder, Leaves, Shapes,
    SyntheticRegression, TensorDataset,
};
pub use crate::device::{
    DeviceExt, GpuInfo, NvidiaSmi, Stopwatch, Timing, Timings, benchmark, cpu, device, gpu,
    gpu_info, num_gpus, nvidia_smi, synchronize, try_all_gpus, try_gpu,
};
pub use crate::display::{LiveDisplay, MimeBundle, clear_output, display, display_live};
pub use crate::error::Result;
pub use crate::nn::{
    Flatten, Layer, LazyLinear, Linear, Mode, Parameter, Parameters, ReLU, Sequential, Sigmoid,
    Tanh,
};
pub use crate::plot::{
    Figure, Heatmap, ImageGrid, ProgressBoard, Scale, bar, confusion_matrix, heatmap, histogram,
    plot, scatter, show_images,
};
pub use crate::seq;
pub use crate::show::Show;
pub use crate::tensor::{
    TensorExt, arange, eye, full, linspace, manual_seed, normal, ones, rand, randint, randn,
    randperm, tensor, uniform, zeros,
};
pub use crate::{Progress, SummaryWriter, check_interrupt, interrupted, progress};
pub use candle_core::{D, DType, Device, Error, IndexOp, Module as _, Shape, Tensor, Var};
