"""What the functions of spec.mlir compute, in PyTorch."""

import torch
from torch import nn

BATCH, LENGTH, H = 2, 5, 32


class Bilinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(H, H, bias=False)
        self.query = nn.Linear(H, H)
        self.value = nn.Linear(H, H)

    def forward(self, query, key):
        prob = torch.bmm(key, self.score(query).unsqueeze(2)).squeeze(2).softmax(-1)
        context = torch.bmm(prob.unsqueeze(1), key).squeeze(1)
        return torch.tanh(self.query(query) + self.value(context)), prob


class Luong(nn.Module):
    """The attentional hidden state of a decoder's step, and the alignment."""

    def __init__(self, method, width=H):
        super().__init__()
        self.method = method
        if method == "general":
            self.score = nn.Linear(width, H, bias=False)
        if method == "concat":
            self.score = nn.Linear(H + width, H, bias=False)
            self.v = nn.Parameter(torch.rand(H))
        self.out = nn.Linear(H + width, H)

    def align(self, hidden, memory):
        if self.method == "dot":
            return (memory * hidden[:, None]).sum(-1)
        if self.method == "general":
            return (self.score(memory) * hidden[:, None]).sum(-1)
        both = torch.cat([hidden[:, None].expand(-1, memory.shape[1], -1), memory], dim=-1)
        return torch.tanh(self.score(both)) @ self.v

    def forward(self, hidden, memory):
        prob = self.align(hidden, memory).softmax(-1)
        context = (prob[..., None] * memory).sum(1)
        return torch.tanh(self.out(torch.cat([context, hidden], dim=-1))), prob


def luong(method, width=H):
    inputs = {"hidden": torch.randn(BATCH, H), "memory": torch.randn(BATCH, LENGTH, width)}
    return Luong(method, width), inputs, ["out", "prob"]


CASES = {
    "bilinear": lambda: (Bilinear(), {"query": torch.randn(BATCH, H), "key": torch.randn(BATCH, LENGTH, H)},
                         ["out", "prob"]),
    "dot": lambda: luong("dot"),
    "general": lambda: luong("general"),
    "concat": lambda: luong("concat"),
    "concat_bidirectional": lambda: luong("concat", 2 * H),
}
