# w2 and b2 have two columns too many.
# caught by: shapes, causality, values, full_length
import math

import torch
import torch.nn as nn
from torch.nn import functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        for name in ("key", "query", "value", "proj"):
            setattr(self, name, nn.Linear(config.n_embd, config.n_embd))
        self.attn_drop = nn.Dropout(config.attn_pdrop)
        self.resid_drop = nn.Dropout(config.resid_pdrop)
        mask = torch.tril(torch.ones(config.block_size, config.block_size))
        self.register_buffer("mask", mask[None, None])

    def forward(self, x, layer_past=None):
        B, T, C = x.size()
        split = (B, T, self.n_head, C // self.n_head)
        k, q, v = (
            layer(x).view(split).transpose(1, 2)
            for layer in (self.key, self.query, self.value)
        )
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, -1e10)
        att = self.attn_drop(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_drop(self.proj(y))


class SynthesizerAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head = config.n_head
        self.w1 = nn.Linear(config.n_embd, config.n_embd)
        self.w2 = nn.Parameter(
            torch.zeros(config.n_embd // config.n_head, config.block_size + 2)
        )
        self.b2 = nn.Parameter(torch.zeros(config.block_size + 2))
        self.value = nn.Linear(config.n_embd, config.n_embd)
        self.attn_drop = nn.Dropout(config.attn_pdrop)
        self.resid_drop = nn.Dropout(config.resid_pdrop)
        self.proj = nn.Linear(config.n_embd, config.n_embd)
        mask = torch.tril(torch.ones(config.block_size, config.block_size))
        self.register_buffer("mask", mask[None, None])
        self.block_size = config.block_size
        nn.init.uniform_(self.w2, -0.001, 0.001)

    def forward(self, x, layer_past=None):
        B, T, C = x.size()
        split = (B, T, self.n_head, C // self.n_head)
        a = F.relu(self.w1(x)).view(split).transpose(1, 2)
        v = self.value(x).view(split).transpose(1, 2)
        att = a @ self.w2[:, :T] + self.b2[:T]
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, -1e10)
        att = self.attn_drop(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_drop(self.proj(y))
