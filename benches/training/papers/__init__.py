"""Networks as their papers and tutorials describe them, in PyTorch, the same as in `papers.rs`.

The shape of an example, with the number of tokens if it consists of tokens, and the network.
"""

from torch import nn

from papers.convolutions import UNet, odd_sizes, tcn
from papers.diffusion import Diffusion
from papers.efficient_net import efficient_net
from papers.fields import Nerf, Pinn
from papers.graphs import Gat
from papers.kan import KanLayer
from papers.perceiver import Perceiver
from papers.scan import Mamba
from papers.simclr import SimClr
from papers.swin import Swin
from papers.words import Bert, Lstm, bigram

MODELS = {
    "gat": ((128,), None, Gat),
    "mamba": ((64,), 256, Mamba),
    "perceiver": ((512, 64), None, Perceiver),
    "kan": ((64,), None, lambda: nn.Sequential(KanLayer(64, 64), KanLayer(64, 10))),
    "simclr": ((3, 32, 32), None, SimClr),
    "swin": ((3, 32, 32), None, Swin),
    "efficient-net": ((3, 48, 48), None, efficient_net),
    "pinn": ((2,), None, Pinn),
    "nerf": ((6,), None, Nerf),
    "lstm-dropout": ((35,), 1000, Lstm),
    "bert": ((64,), 1000, Bert),
    "bigram": ((8,), 65, bigram),
    "tcn": ((16, 256), None, tcn),
    "unet-96": ((1, 96, 96), None, UNet),
    "diffusion": ((3, 32, 32), None, Diffusion),
    "odd-sizes": ((3, 65, 33), None, odd_sizes),
}
