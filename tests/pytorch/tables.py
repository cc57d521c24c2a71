"""Which of PyTorch's functions Taper has, with their arguments: `name other=default`."""

# The variants that PyTorch's list names apart, such as `round.decimals_3`, have the function's name before the point.
UNARY = """abs neg reciprocal square sqrt sin cos erf sign floor ceil exp log sigmoid tanh
    nn.functional.relu nn.functional.silu zeros_like ones_like t mT contiguous double float half bfloat16 long"""
BINARY = """mul eq ne lt le gt ge maximum minimum matmul pow true_divide
    __radd__ __rmul__ __rsub__ __rdiv__ __rmatmul__"""
REDUCTION = "x dim=None keepdim=False dtype=None"
INTERPOLATE = "x size=None scale_factor=None mode=None align_corners=None recompute_scale_factor=None antialias=False"
LOSS = "x target size_average=None reduce=None reduction='mean'"

SIGNATURES = {
    **{name: "x" for name in UNARY.split()},
    **{name: "x other" for name in BINARY.split()},
    "add": "x other alpha=1", "sub": "x other alpha=1", "rsub": "x other alpha=1",
    "div": "x other rounding_mode=None",
    "where": "x condition other", "masked_fill": "x mask value",
    "max.binary": "x other", "min.binary": "x other",
    "max": "x dim=None keepdim=False", "min": "x dim=None keepdim=False",
    "argmax": "x dim=None keepdim=False", "argmin": "x dim=None keepdim=False",
    "sum": REDUCTION, "mean": REDUCTION,
    "cumsum": "x dim dtype=None",
    "softmax": "x dim dtype=None", "log_softmax": "x dim dtype=None",
    "clamp": "x min=None max=None", "round": "x decimals=0",
    "nn.functional.gelu": "x approximate='none'", "nn.functional.elu": "x alpha=1.0 inplace=False",
    "nn.functional.leaky_relu": "x negative_slope=0.01 inplace=False",
    "reshape": "x *shape", "flatten": "x start_dim=0 end_dim=-1",
    "transpose": "x dim0 dim1", "permute": "x *dims", "squeeze": "x dim=None", "unsqueeze": "x dim",
    "broadcast_to": "x *shape", "repeat": "x *repeats", "cat": "x dim=0", "stack": "x dim=0",
    "chunk": "x chunks dim=0", "narrow": "x dim start length", "index_select": "x dim index",
    "gather": "x dim index sparse_grad=False", "flip": "x *dims", "roll": "x shifts dims=()",
    "sort": "x dim=-1 descending=False stable=False", "argsort": "x dim=-1 descending=False stable=False",
    "linspace": "start end steps dtype=None", "full": "size fill_value dtype=None",
    "zeros": "*size dtype=None", "ones": "*size dtype=None",
    "nn.functional.linear": "x weight bias=None",
    "nn.functional.conv1d": "x weight bias=None stride=1 padding=0 dilation=1 groups=1",
    "nn.functional.conv2d": "x weight bias=None stride=1 padding=0 dilation=1 groups=1",
    "nn.functional.avg_pool2d":
        "x kernel_size stride=None padding=0 ceil_mode=False count_include_pad=True divisor_override=None",
    "nn.functional.max_pool2d":
        "x kernel_size stride=None padding=0 dilation=1 ceil_mode=False return_indices=False",
    "nn.functional.adaptive_avg_pool2d": "x output_size",
    "nn.functional.layer_norm": "x normalized_shape weight=None bias=None eps=1e-5",
    "nn.functional.rms_norm": "x normalized_shape weight=None eps=None",
    "nn.functional.group_norm": "x num_groups weight=None bias=None eps=1e-5",
    "nn.functional.embedding":
        "weight x padding_idx=None max_norm=None norm_type=2.0 scale_grad_by_freq=False sparse=False",
    "nn.functional.one_hot": "x num_classes=-1",
    "nn.functional.cross_entropy": "x target weight=None size_average=None ignore_index=-100 reduce=None"
                                   " reduction='mean' label_smoothing=0.0",
    "nn.functional.nll_loss":
        "x target weight=None size_average=None ignore_index=-100 reduce=None reduction='mean'",
    "nn.functional.mse_loss": LOSS + " weight=None", "nn.functional.l1_loss": LOSS + " weight=None",
    "nn.functional.smooth_l1_loss": LOSS + " beta=1.0",
    "nn.functional.huber_loss": "x target reduction='mean' delta=1.0 weight=None",
    "nn.functional.kl_div": LOSS + " log_target=False",
    "nn.functional.binary_cross_entropy_with_logits":
        "x target weight=None size_average=None reduce=None reduction='mean' pos_weight=None",
    "nn.functional.scaled_dot_product_attention":
        "x key value attn_mask=None dropout_p=0.0 is_causal=False scale=None enable_gqa=False",
    "nn.functional.interpolate.nearest": INTERPOLATE, "nn.functional.interpolate.bilinear": INTERPOLATE,
}

# Functions of whole tensors, whose samples are in a file of their own.
MOMENT = "x dim=None unbiased=True correction=None keepdim=False"
EXTENT = "x dim=None keepdim=False"
TENSORS = {
    **{name: "x" for name in "isnan isinf isfinite logical_not trace linalg.inv".split()},
    **{name: "x other" for name in "logical_and logical_or logical_xor remainder outer".split()},
    "norm": "x p='fro' dim=None keepdim=False dtype=None",
    "eye": "n m=None dtype=None", "arange": "start end=None step=1 dtype=None",
    "split": "x split_size dim=0", "unbind": "x dim=0", "movedim": "x source destination", "tile": "x *dims",
    "repeat_interleave": "x repeats=None dim=None output_size=None",
    "scatter": "x dim index src reduce=None", "scatter_add": "x dim index src",
    "index_add": "x dim index source alpha=1", "index_put": "x indices values accumulate=False",
    "masked_select": "x mask", "__getitem__": "x index",
    "topk": "x k dim=-1 largest=True sorted=True", "median": EXTENT, "nonzero": "x as_tuple=False",
    "quantile": "x q dim=None keepdim=False interpolation='linear'",
    "unique": "x sorted=True return_inverse=False return_counts=False dim=None",
    "bincount": "x weights=None minlength=0",
    "var": MOMENT, "std": MOMENT, "prod": REDUCTION, "any": EXTENT, "all": EXTENT,
    "logsumexp": "x dim keepdim=False", "cumprod": "x dim dtype=None",
    "linalg.vector_norm": "x ord=2 dim=None keepdim=False dtype=None",
    "nn.functional.normalize": "x p=2.0 dim=1 eps=1e-12 out=None",
    "nn.functional.cosine_similarity": "x other dim=1 eps=1e-8",
    "cdist": "x other p=2.0 compute_mode='use_mm_for_euclid_dist_if_necessary'",
    "triu": "x diagonal=0", "tril": "x diagonal=0", "diagonal": "x offset=0 dim1=0 dim2=1",
    "diag_embed": "x offset=0 dim1=-2 dim2=-1", "lerp": "x end weight", "einsum": "x equation",
    "linalg.cholesky": "x upper=False", "linalg.solve": "x other left=True",
    "unfold": "x dimension size step",
    "nn.functional.unfold": "x kernel_size dilation=1 padding=0 stride=1",
    "nn.functional.fold": "x output_size kernel_size dilation=1 padding=0 stride=1",
    "nn.functional.pixel_shuffle": "x upscale_factor", "nn.functional.pixel_unshuffle": "x downscale_factor",
    "nn.functional.pad.constant": "x pad mode='constant' value=0", "nn.functional.pad.reflect": "x pad mode='constant' value=None",
    "nn.functional.pad.replicate": "x pad mode='constant' value=None",
    "nn.functional.pad.circular": "x pad mode='constant' value=None",
    "nn.functional.grid_sample": "x grid mode='bilinear' padding_mode='zeros' align_corners=False",
}

# Functions that take on purpose what PyTorch refuses: scalars, masks, which are integers, batches of matrices, and images
# without pixels.
TAKEN = "maximum minimum max.binary min.binary neg t masked_fill nn.functional.group_norm".split()

# Variants of PyTorch's functions that are functions of their own.
VARIANTS = "div.trunc_rounding div.floor_rounding linspace.tensor_overload norm.nuc norm.inf".split()

# Functions of bool tensors, Taper's masks, that mean the same for 0 and 1. (Sums and products of masks are integers.)
MASKS = """eq ne where sum reshape flatten transpose permute squeeze unsqueeze broadcast_to repeat cat stack
    chunk narrow index_select gather flip roll __getitem__ t mT contiguous double float long zeros_like
    ones_like split unbind movedim tile repeat_interleave logical_not logical_and logical_or logical_xor any all masked_select triu tril diagonal nonzero
    unfold""".split()

# Functions whose results depend on the order of nearly equal elements: their inputs are not rounded to 8 bits.
ORDERED = "max min argmax argmin sort argsort topk median quantile unique".split()

MODULES = """AdaptiveAvgPool2d AvgPool2d BatchNorm1d BatchNorm2d Conv1d Conv2d ConvTranspose1d ConvTranspose2d ELU L1Loss
    SmoothL1Loss LazyConv1d LazyConv2d LazyConvTranspose1d LazyConvTranspose2d Linear MaxPool2d KLDivLoss MSELoss NLLLoss
    HuberLoss BCEWithLogitsLoss CrossEntropyLoss GELU GroupNorm LayerNorm RMSNorm TransformerEncoder
    TransformerEncoderLayer TransformerDecoderLayer MultiheadAttention Embedding ReLU LeakyReLU PReLU Sigmoid SiLU
    Softmax Tanh RNN GRU LSTM""".split()

OPTIMIZERS = "Adadelta Adagrad Adam AdamW RMSprop SGD".split()

# The layers, losses and functions of further.gz.
FURTHER_MODULES = """AdaptiveAvgPool1d AdaptiveMaxPool1d AdaptiveMaxPool2d AvgPool1d AvgPool3d BCELoss BatchNorm3d Bilinear CTCLoss Conv3d CosineEmbeddingLoss GLU GRUCell
    GaussianNLLLoss Hardswish HingeEmbeddingLoss InstanceNorm1d InstanceNorm2d LSTMCell LocalResponseNorm MaxPool1d MaxPool3d Mish
    MultiMarginLoss PoissonNLLLoss RNNCell Softplus Transformer""".split()

REDUCED = "size_average=None reduce=None reduction='mean'"
FURTHER_SIGNATURES = {
    "nn.functional.hardswish": "x inplace=False", "nn.functional.mish": "x inplace=False",
    "nn.functional.softplus": "x beta=1 threshold=20", "nn.functional.glu": "x dim=-1",
    "nn.functional.adaptive_max_pool2d": "x output_size return_indices=False",
    "nn.functional.max_pool1d":
        "x kernel_size stride=None padding=0 dilation=1 ceil_mode=False return_indices=False",
    "nn.functional.avg_pool1d": "x kernel_size stride=None padding=0 ceil_mode=False count_include_pad=True",
    "nn.functional.adaptive_avg_pool1d": "x output_size",
    "nn.functional.adaptive_max_pool1d": "x output_size return_indices=False",
    "nn.functional.local_response_norm": "x size alpha=1e-4 beta=0.75 k=1.0",
    "nn.functional.binary_cross_entropy": "x target weight=None " + REDUCED,
    "nn.functional.hinge_embedding_loss": "x target margin=1.0 " + REDUCED,
    "nn.functional.cosine_embedding_loss": "x target third margin=0.0 " + REDUCED,
    "nn.functional.triplet_margin_loss": "x target third margin=1.0 p=2 eps=1e-6 swap=False " + REDUCED,
    "nn.functional.multi_margin_loss": "x target p=1 margin=1.0 weight=None " + REDUCED,
    "nn.functional.poisson_nll_loss":
        "x target log_input=True full=False size_average=None eps=1e-8 reduce=None reduction='mean'",
    "nn.functional.gaussian_nll_loss": "x target third full=False eps=1e-6 reduction='mean'",
    "nn.functional.ctc_loss": "x target input_lengths target_lengths blank=0 reduction='mean' zero_infinity=False",
}
