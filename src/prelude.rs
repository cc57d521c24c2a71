//! The items that notebooks use: `use taper::prelude::*;`.
//!
//! It has what a program names. Types that functions only return, such as [`Heatmap`](crate::plot::Heatmap), are
//! in their modules.

// Each is documented at its own path: rustdoc would otherwise repeat the pages of the items of other crates here.
#[doc(no_inline)]
pub use crate::bench::{
    Stopwatch, Timing, Timings, benchmark, compare_batch_sizes, compare_copies, compare_devices,
    compare_logging, compare_transfers,
};
#[doc(no_inline)]
pub use crate::compose;
#[doc(no_inline)]
pub use crate::data::transforms::{
    CenterCrop, ColorJitter, Compose, Normalize, RandomCrop, RandomHorizontalFlip, Resize,
    ToTensor, Transform,
};
#[doc(no_inline)]
pub use crate::data::{
    ALICE, Batch, BatchData, BpeTokenizer, CharTokenizer, Cifar10, CutMix, DataFrame, DataLoader,
    DataModule, Dataset, Digits, FashionMnist, ImageDataset, ImageFolder, Leaves, ListDataset,
    MixUp, Mnist, RustCorpus, Sampler, Shapes, SmallMnist, StratifiedSampler, Subset,
    SyntheticRegression, TensorDataset, Tokenizer, Vocab, WeightedSampler, k_folds, pad_sequences,
    random_split,
};
#[doc(no_inline)]
pub use crate::device::{
    DeviceExt, cpu, device, gpu, gpu_info, num_gpus, nvidia_smi, synchronize, try_all_gpus, try_gpu,
};
#[doc(no_inline)]
pub use crate::error::{Error, Result, attempt};
#[doc(no_inline)]
pub use crate::exercises::{check, score};
#[doc(no_inline)]
pub use crate::metrics::{
    Average, Confusion, Detections, average_precision, bleu, box_iou, mean_average_precision, nms,
    perplexity, roc_auc,
};
#[doc(no_inline)]
pub use crate::nn::{
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AttentionMask,
    AvgPool1d, AvgPool2d, AvgPool3d, BagMode, BatchNorm1d, BatchNorm2d, BatchNorm3d, Bilinear,
    Buffer, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, Dropout, ELU, Embedding,
    EmbeddingBag, Flatten, GELU, GELUTanh, GLU, GRU, GRUCell, GroupNorm, GroupedQueryAttention,
    Hardswish, Identity, Init, InstanceNorm1d, InstanceNorm2d, KvCache, LSTM, LSTMCell, Lambda,
    Layer, LayerNorm, LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d, LazyConv1d, LazyConv2d,
    LazyConvTranspose1d, LazyConvTranspose2d, LazyLinear, LeakyReLU, LearnedPositionalEncoding,
    Linear, LoadOptions, LocalResponseNorm, LoraConfig, MaxPool1d, MaxPool2d, MaxPool3d, Mish,
    Mode, MultiheadAttention, PReLU, Parallel, Parameter, Parameters, ParametersExt, PixelShuffle,
    PixelUnshuffle, PositionalEncoding, RMSNorm, RNN, RNNCell, ReLU, Residual, RotaryEmbedding,
    Sequential, SiLU, Sigmoid, Softmax, Softplus, SpectralNorm, SwiGLU, Tanh, Transformer,
    TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer,
    Triple, Upsample, WeightNorm, check_shapes, lora, quantize, scaled_dot_product_attention,
};
#[doc(no_inline)]
pub use crate::notebook::{
    MimeBundle, Show, check_interrupt, clear_output, display, display_live, interact, interrupted,
    progress, slider,
};
#[doc(no_inline)]
pub use crate::ops::{
    BCELoss, BCEWithLogitsLoss, CTCLoss, Conv2dSpec, CosineEmbeddingLoss, CrossEntropyLoss,
    GaussianNLLLoss, HingeEmbeddingLoss, HuberLoss, Interpolation, KLDivLoss, L1Loss, MSELoss,
    MultiMarginLoss, NLLLoss, PaddingMode, Pair, PoissonNLLLoss, Pool2dSpec, Reduction,
    SmoothL1Loss, TripletMarginLoss, adaptive_avg_pool2d, argmax, argmin, avg_pool2d, backward,
    backward_graph, bce_with_logits, cat, checkpoint, contiguous, conv1d, conv2d, cross_entropy,
    custom_grad, dropout, einsum, elu, embedding, exp, fold, gelu, gelu_tanh, glu, grad,
    grad_graph, grid_sample, group_norm, hardswish, huber_loss, interpolate, kl_div, l1_loss,
    layer_norm, leaky_relu, linear, log, log_softmax, matmul, max, max_pool2d,
    max_pool2d_with_indices, mean, min, mish, mse_loss, nll_loss, one_hot, per_example_grad, relu,
    rms_norm, sigmoid, silu, smooth_l1_loss, softmax, softplus, sum, tanh, unfold,
};
#[doc(no_inline)]
pub use crate::optim::{
    Adadelta, Adagrad, Adam, AdamW, LBFGS, LrSchedule, OneCycle, Optimizer, Optimizers, RMSprop,
    ReduceOnPlateau, SGD, Schedule, accumulate_gradients, clip_gradients,
};
#[doc(no_inline)]
pub use crate::plot::{
    Drawing, Figure, ProgressBoard, Scale, bar, confusion_matrix, drawing, heatmap, histogram,
    plot, scatter, show_images,
};
#[doc(no_inline)]
pub use crate::tensor::{
    Ellipsis, GradStore, NewAxis, Tensor, arange, arange_step, arange_with_dtype, default_device,
    eye, full, full_with_dtype, is_grad_enabled, linspace, linspace_with_dtype, manual_seed,
    no_grad, normal, ones, rand, randint, randn, random, random_integer, randperm,
    set_default_device, tensor, uniform, with_device, with_seed, zeros,
};
#[doc(no_inline)]
pub use crate::tensorboard::{HParam, SummaryWriter};
#[doc(no_inline)]
pub use crate::text::{Llama, LlamaConfig, generate};
#[doc(no_inline)]
pub use crate::timeit;
#[doc(no_inline)]
pub use crate::train::{
    Accuracy, AveragedWeights, Callback, Checkpoint, Classifier, DataParallel, EarlyStopping,
    EpochEnd, FitEnd, Flow, Gradients, History, Interval, LrFinder, Module, Search, Step, Trainer,
    Trial, accuracy, split_and_load,
};
#[doc(no_inline)]
pub use crate::{layer, seq};
#[doc(no_inline)]
pub use candle_core::{D, DType, Device};
