import torch
from torch import nn
from torch.nn import functional as F


# begin
class ActorCritic(nn.Module):
    def __init__(self, fields, actions):
        super().__init__()
        self.body = nn.Sequential(nn.Embedding(fields, 16), nn.Linear(16, 32), nn.ReLU())
        self.actor = nn.Linear(32, actions)
        self.critic = nn.Linear(32, 1)

    def forward(self, states):
        h = self.body(states)
        return self.actor(h).log_softmax(-1), self.critic(h).squeeze(-1)

    def loss(self, states, actions, returns):
        log_probs, values = self(states)
        chosen = log_probs.gather(1, actions[:, None]).squeeze(1)
        policy = -(chosen * (returns - values.detach())).sum()
        return policy + F.smooth_l1_loss(values, returns, reduction="sum")
# end


def train(run):
    model = run.model(ActorCritic(9, 4))
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for batch in run:
        run.step(optimizer, model.loss(batch.states, batch.actions, batch.returns))
