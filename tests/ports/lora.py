import torch
from torch import nn
from torch.nn import functional as F


# begin
class Adapted(nn.Linear):
    def __init__(self, inputs, outputs, rank, alpha):
        super().__init__(inputs, outputs)
        self.lora_A = nn.Linear(inputs, rank, bias=False)
        self.lora_B = nn.Linear(rank, outputs, bias=False)
        nn.init.zeros_(self.lora_B.weight)
        self.weight.requires_grad_(False)
        self.bias.requires_grad_(False)
        self.scale = alpha / rank

    def forward(self, x):
        return super().forward(x) + self.lora_B(self.lora_A(x)) * self.scale


def adapted(rank, alpha):
    return nn.Sequential(Adapted(12, 32, rank, alpha), nn.ReLU(), Adapted(32, 3, rank, alpha))


@torch.no_grad()
def merge(net):
    for layer in net:
        if isinstance(layer, Adapted):
            layer.weight += layer.lora_B.weight @ layer.lora_A.weight * layer.scale
            layer.lora_B.weight.zero_()
# end


def train(run):
    model = run.model(adapted(2, 4.0))
    optimizer = torch.optim.AdamW([x for x in model.parameters() if x.requires_grad], 0.01)
    for batch in run:
        run.step(optimizer, F.cross_entropy(model(batch.x), batch.y))
    merge(model)
    run.losses.append(F.cross_entropy(model(batch.x), batch.y).item())
