import torch
from torch import nn


# begin
def net(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 32), nn.Tanh(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, outputs))


def penalty(critic, real, fake, share):
    x = (share * real + (1 - share) * fake).requires_grad_()
    (slopes,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((slopes.norm(dim=1) - 1) ** 2).mean()


def critic_loss(critic, real, fake, share):
    difference = critic(fake).mean() - critic(real).mean()
    return difference + 10 * penalty(critic, real, fake, share)
# end


def train(run):
    g, critic = run.model(net(4, 2), "generator"), run.model(net(2, 1), "critic")
    of_g = torch.optim.Adam(g.parameters(), 0.001)
    of_c = torch.optim.Adam(critic.parameters(), 0.001)
    for batch in run:
        fake = g(batch.z)
        run.step(of_c, critic_loss(critic, batch.real, fake.detach(), batch.share))
        run.step(of_g, -critic(fake).mean())
