"""The GPT language model: embeddings, a stack of Transformer blocks, a linear head.

The design, including the names of parameters, is that of Andrej Karpathy's minGPT (see NOTICE).

Glossary of shapes:
    B   batch, the number of sequences
    T   length of the sequences, at most block_size
    C   channels of the model, n_embd
    V   size of the vocabulary, vocab_size
"""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

from pretraining import InputError, register, returned
from pretraining.batches import PAD_ID

from . import attention
from .attention import CausalSelfAttention, SynthesizerAttention


@dataclass
class GPTConfig:
    """The shape of a model. Keywords that are not listed here are refused by name.

    Attributes:
        vocab_size, block_size: number of ids, and of positions.
        embd_pdrop, resid_pdrop, attn_pdrop: probabilities of dropout, 0 to 1.
        n_layer, n_head, n_embd: number of blocks, of heads in each, of channels.
        synthesizer: whether blocks use SynthesizerAttention instead of CausalSelfAttention.
        rope: whether CausalSelfAttention rotates queries and keys by their positions (RoPE); such
            a model has no learned position embeddings.
        variant: the name of any other variant, such as "local": its blocks use the class of
            attention.py that is named after it, LocalAttention.
    """

    vocab_size: int
    block_size: int
    embd_pdrop: float = 0.1
    resid_pdrop: float = 0.1
    attn_pdrop: float = 0.1
    n_layer: int = 4
    n_head: int = 8
    n_embd: int = 256
    synthesizer: bool = False
    rope: bool = False
    variant: str = ""


def attention_of(config: GPTConfig) -> type[nn.Module]:
    """Return the class of attention that a model's blocks use."""
    if config.variant:
        return getattr(attention, f"{config.variant.capitalize()}Attention")
    return SynthesizerAttention if config.synthesizer else CausalSelfAttention


class Block(nn.Module):
    """A pre-norm Transformer block: x + attn(norm(x)), then the same with an MLP."""

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.ln1 = nn.LayerNorm(config.n_embd)
        self.ln2 = nn.LayerNorm(config.n_embd)
        self.attn = attention_of(config)(config)
        self.mlp = nn.Sequential(
            nn.Linear(config.n_embd, 4 * config.n_embd),
            nn.GELU(),
            nn.Linear(4 * config.n_embd, config.n_embd),
            nn.Dropout(config.resid_pdrop),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the block, shape (B, T, C) to (B, T, C), float."""
        attended = returned.tensor(type(self.attn).forward, self.attn(self.ln1(x)), like=x)
        x = x + attended
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    """The whole language model, with learned positions (Radford et al. 2018)."""

    def __init__(self, config: GPTConfig):
        """Make the layers that config describes.

        Raises:
            InputError: config asks for something impossible.
        """
        super().__init__()
        if config.synthesizer and config.rope:
            raise InputError(
                "got synthesizer and rope, expected one: it has no queries and keys to rotate"
            )
        self.config = config
        self.block_size = config.block_size
        self.tok_emb = nn.Embedding(config.vocab_size, config.n_embd)
        self.pos_emb = nn.Parameter(torch.zeros(1, config.block_size, config.n_embd))
        if config.rope or getattr(attention_of(config), "encodes_positions", False):
            self.register_parameter("pos_emb", None)
        self.drop = nn.Dropout(config.embd_pdrop)
        self.blocks = nn.Sequential(*[Block(config) for _ in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.n_embd)
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.apply(self._init_weights)

    @staticmethod
    def _init_weights(module: nn.Module) -> None:
        """Initialize as GPT does: normal with standard deviation .02 for matrices, 0 for biases."""
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    @property
    def variant(self) -> str:
        """The variant's name, as `run.py` has it: "vanilla", for instance."""
        switches = ("synthesizer", "rope")
        return self.config.variant or next(
            (name for name in switches if getattr(self.config, name)), "vanilla"
        )

    def get_block_size(self) -> int:
        """Return the greatest length of a sequence that the model can read."""
        return self.block_size

    def forward(
        self, idx: torch.Tensor, targets: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Compute logits and, with targets, the loss.

        Args:
            idx: ids of characters, shape (B, T), long.
            targets: ids of the characters to predict, shape (B, T), long; 0 means no target.

        Returns:
            logits, shape (B, T, V), float; and the mean cross entropy over targets, in nats, a
            scalar (None without targets).

        Raises:
            InputError: T exceeds block_size.
        """
        logits = self.head(self.features(idx))  # (B, T, V)
        if targets is None:
            return logits, None
        loss = F.cross_entropy(
            logits.view(-1, logits.size(-1)), targets.reshape(-1), ignore_index=PAD_ID
        )
        return logits, loss

    def features(self, idx: torch.Tensor) -> torch.Tensor:
        """Compute the head's input: ids (B, T), long, to (B, T, C), float."""
        T = idx.size(1)
        if T > self.block_size:
            raise InputError(f"got a sequence of length {T}, expected at most {self.block_size}")
        x = self.tok_emb(idx)  # (B, T, C)
        if self.pos_emb is not None:
            x = x + self.pos_emb[:, :T, :]
        return self.ln_f(self.blocks(self.drop(x)))


register(block=Block, gpt=GPT)
