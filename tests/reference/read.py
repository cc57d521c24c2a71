"""Loads a file that Taper has saved into PyTorch, and compares the outputs of the model."""

import sys

import torch
from safetensors.torch import load_file
from torch import nn

model, io = map(load_file, sys.argv[1:])
net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(18, 4))
net.load_state_dict(model, strict=True)
torch.testing.assert_close(net.eval()(io["x"]), io["y"])
