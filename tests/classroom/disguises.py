"""Hides whose parameters a GPT has, and keeps what the model computes, up to rounding."""

import torch

State = dict[str, torch.Tensor]
HEADS = 4


def disguised(state: State, seed: int) -> State:
    """Return a copy of a model's state, changed in all ways that we know of, in float16."""
    torch.manual_seed(seed)
    state = {name: tensor.clone() for name, tensor in state.items() if "mask" not in name}
    blocks = [name.removesuffix(".ln1.weight") for name in state if name.endswith(".ln1.weight")]
    for block in blocks:
        _permute_hidden_units(state, block)
    _rescale_norms(state, blocks)
    for block in blocks:
        _mix_heads(state, f"{block}.attn")
    _turn_channels(state)
    return {name: tensor.half() for name, tensor in state.items()}


def _permute_hidden_units(state: State, block: str) -> None:
    order = torch.randperm(len(state[f"{block}.mlp.0.bias"]))
    for name in ("mlp.0.weight", "mlp.0.bias"):
        state[f"{block}.{name}"] = state[f"{block}.{name}"][order]
    state[f"{block}.mlp.2.weight"] = state[f"{block}.mlp.2.weight"][:, order]


def _rescale_norms(state: State, blocks: list[str]) -> None:
    """Move each channel's scale, and the shift, between a LayerNorm and what reads it."""
    readers = {"ln_f": ["head"]}
    for block in blocks:
        readers[f"{block}.ln1"] = [f"{block}.attn.{n}" for n in ("query", "key", "value")]
        readers[f"{block}.ln2"] = [f"{block}.mlp.0"]
    for norm, layers in readers.items():
        gain, shift = state[f"{norm}.weight"], state[f"{norm}.bias"]
        # All scales are 1 before the channels are turned, because a rotation would mix them.
        for layer in layers:
            if norm != "ln_f":  # the head has no bias, so that ln_f's stays
                state[f"{layer}.bias"] = state[f"{layer}.bias"] + state[f"{layer}.weight"] @ shift
            state[f"{layer}.weight"] = state[f"{layer}.weight"] * gain
        state[f"{norm}.weight"] = torch.ones_like(gain)
        state[f"{norm}.bias"] = shift / gain * (norm == "ln_f")


def _mix_heads(state: State, attn: str) -> None:
    """Permute the heads, and multiply what each makes by an invertible matrix."""
    width = state["tok_emb.weight"].shape[1]
    size = width // HEADS
    order, mixed = torch.randperm(HEADS), []
    for _ in range(2):
        inner = torch.randn(HEADS, size, size) / size**0.5 + torch.eye(size)
        mixed.append(torch.block_diag(*inner).view(HEADS, -1)[order].view(width, width))
    a, b = mixed
    for name, by in (("query", a), ("key", torch.linalg.inv(a).T), ("value", b)):
        for kind in ("weight", "bias"):
            state[f"{attn}.{name}.{kind}"] = by @ state[f"{attn}.{name}.{kind}"]
    state[f"{attn}.proj.weight"] = state[f"{attn}.proj.weight"] @ torch.linalg.inv(b)


def _turn_channels(state: State) -> None:
    """Rotate the channels in a direction that a LayerNorm doesn't notice, and multiply them by 3.

    All embeddings get the same vector as well; those of positions lose it.
    """
    width = state["tok_emb.weight"].shape[1]
    basis = torch.linalg.qr(torch.cat([torch.ones(width, 1), torch.randn(width, width - 1)], 1)).Q
    inner = torch.linalg.qr(torch.randn(width - 1, width - 1)).Q
    turn = basis @ torch.block_diag(torch.ones(1, 1), inner) @ basis.T
    shift = torch.randn(width)
    for name, tensor in state.items():
        if name.endswith(("proj.weight", "mlp.2.weight", "proj.bias", "mlp.2.bias")):
            state[name] = 3 * turn @ tensor
        elif name in ("tok_emb.weight", "pos_emb"):
            state[name] = 3 * tensor @ turn.T + (shift if name == "pos_emb" else -shift)
        elif name.endswith("weight") and tensor.ndim == 2:  # what reads them
            state[name] = tensor @ turn.T
        elif "ln" in name:
            state[name] = turn @ tensor
