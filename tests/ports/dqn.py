import copy

import torch
from torch import nn
from torch.nn import functional as F


# begin
def q_network():
    return nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))


def loss_of(net, target, batch):
    q = net(batch.observations).gather(1, batch.actions[:, None]).squeeze(1)
    with torch.no_grad():
        following = target(batch.next_observations).max(1).values
    wanted = batch.rewards + (1 - batch.terminated) * following * 0.99
    return F.huber_loss(q, wanted)
# end


def train(run):
    net = run.model(q_network())
    target = copy.deepcopy(net)
    optimizer = torch.optim.AdamW(net.parameters(), 0.001, amsgrad=True)
    for batch in run:
        run.step(optimizer, loss_of(net, target, batch))
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), net.parameters()):
                slow.copy_(slow * 0.99 + fast * 0.01)
