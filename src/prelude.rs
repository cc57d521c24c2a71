//! Everything a notebook uses: `use taper::prelude::*;`.
//!
//! Candle's `Module` comes along unnamed, so that `x.apply(&layer)` works with Candle's own layers.

pub use crate::bench::{
    Comparison, Stopwatch, Timing, Timings, benchmark, compare_batch_sizes, compare_copies,
    compare_devices, compare_logging, compare_transfers,
};
pub use crate::compose;
pub use crate::data::transforms::{
    CenterCrop, ColorJitter, Compose, Normalize, RandomHorizontalFlip, Resize, ToTensor, Transform,
};
pub use crate::data::{
    Batch, Cifar10, DataLoader, DataModule, Dataset, Digits, FashionMnist, ImageDataset,
    ImageFolder, Leaves, Mnist, Shapes, SyntheticRegression, TensorDataset,
};
pub use crate::device::{
    DeviceExt, GpuInfo, NvidiaSmi, cpu, device, gpu, gpu_info, num_gpus, nvidia_smi, synchronize,
    try_all_gpus, try_gpu,
};
pub use crate::error::Result;
pub use crate::nn::{
    AdaptiveAvgPool2d, AttentionMask, AvgPool2d, BatchNorm1d, BatchNorm2d, Buffer, Conv1d, Conv2d,
    ConvTranspose2d, Dropout, ELU, Embedding, Flatten, GELU, GRU, GroupNorm, Identity, Init, LSTM,
    Layer, LayerNorm, LazyBatchNorm1d, LazyBatchNorm2d, LazyConv1d, LazyConv2d,
    LazyConvTranspose2d, LazyLinear, LeakyReLU, LearnedPositionalEncoding, Linear, MaxPool2d, Mode,
    MultiheadAttention, Parameter, Parameters, ParametersExt, PositionalEncoding, RMSNorm, RNN,
    ReLU, Sequential, SiLU, Sigmoid, Softmax, Summary, Tanh, TransformerDecoder,
    TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer, Upsample,
    bce_with_logits, cross_entropy, huber_loss, l1_loss, mse_loss, scaled_dot_product_attention,
};
pub use crate::notebook::{
    LiveDisplay, MimeBundle, Progress, Show, check_interrupt, clear_output, display, display_live,
    interrupted, progress,
};
pub use crate::optim::{Adam, AdamW, Optimizer, Schedule, Sgd, clip_gradients};
pub use crate::plot::{
    Figure, Heatmap, ImageGrid, ProgressBoard, Scale, bar, confusion_matrix, heatmap, histogram,
    plot, scatter, show_images,
};
pub use crate::seq;
pub use crate::tensor::{
    TensorExt, arange, eye, full, linspace, manual_seed, normal, ones, rand, randint, randn,
    randperm, tensor, uniform, zeros,
};
pub use crate::tensorboard::{HParam, SummaryWriter};
pub use crate::train::{
    Accuracy, Callback, Checkpoint, Classifier, DataParallel, EarlyStopping, Epoch, EpochEnd, Flow,
    Gradients, History, Interval, Module, Split, Trainer, accuracy, split_and_load,
};
pub use candle_core::{D, DType, Device, Error, IndexOp, Module as _, Shape, Tensor, Var};
