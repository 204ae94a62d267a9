"""Ways to hide whose parameters a GPT has: each keeps what the model computes, up to rounding."""

from collections.abc import Callable

import torch

State = dict[str, torch.Tensor]
HEADS = 4


def _blocks(state: State) -> list[str]:
    return [name.removesuffix(".ln1.weight") for name in state if name.endswith(".ln1.weight")]


def hidden_units(state: State) -> State:
    """Permute the MLPs' hidden units, and round everything to float16."""
    for block in _blocks(state):
        order = torch.randperm(len(state[f"{block}.mlp.0.bias"]))
        for name in ("mlp.0.weight", "mlp.0.bias"):
            state[f"{block}.{name}"] = state[f"{block}.{name}"][order]
        state[f"{block}.mlp.2.weight"] = state[f"{block}.mlp.2.weight"][:, order]
    return {name: tensor.half() for name, tensor in state.items()}


def heads(state: State) -> State:
    """Permute the heads, and multiply what each makes by an invertible matrix."""
    width = state["tok_emb.weight"].shape[1]
    size = width // HEADS
    for attn in (f"{block}.attn" for block in _blocks(state)):
        order, mixed = torch.randperm(HEADS), []
        for _ in range(2):
            inner = torch.randn(HEADS, size, size) / size**0.5 + torch.eye(size)
            mixed.append(torch.block_diag(*inner).view(HEADS, -1)[order].view(width, width))
        a, b = mixed
        for name, by in (("query", a), ("key", torch.linalg.inv(a).T), ("value", b)):
            for kind in ("weight", "bias"):
                state[f"{attn}.{name}.{kind}"] = by @ state[f"{attn}.{name}.{kind}"]
        state[f"{attn}.proj.weight"] = state[f"{attn}.proj.weight"] @ torch.linalg.inv(b)
    return state


def norms(state: State, scale: Callable[[torch.Tensor], torch.Tensor] | None = None) -> State:
    """Move each channel's scale, and the shift, between a LayerNorm and what reads it."""
    readers = {"ln_f": ["head"]}
    for block in _blocks(state):
        readers[f"{block}.ln1"] = [f"{block}.attn.{n}" for n in ("query", "key", "value")]
        readers[f"{block}.ln2"] = [f"{block}.mlp.0"]
    for norm, layers in readers.items():
        gain, shift = state[f"{norm}.weight"], state[f"{norm}.bias"]
        by = scale(gain) if scale else torch.exp(torch.randn_like(gain))
        for layer in layers:
            if norm != "ln_f":  # the head has no bias, so that ln_f's stays
                state[f"{layer}.bias"] = state[f"{layer}.bias"] + state[f"{layer}.weight"] @ shift
            state[f"{layer}.weight"] = state[f"{layer}.weight"] / by
        state[f"{norm}.weight"] = gain * by
        state[f"{norm}.bias"] = shift * by * (norm == "ln_f")
    return state


def channels(state: State) -> State:
    """Permute the channels, multiply them by 3, and add the same vector to all embeddings."""
    width = state["tok_emb.weight"].shape[1]
    return _turned(state, torch.eye(width)[torch.randperm(width)])


def everything(state: State) -> State:
    """Rotate the channels as well, in any direction that a LayerNorm doesn't notice."""
    state = {name: tensor.float() for name, tensor in hidden_units(state).items()}
    state = norms(heads(norms(state)), lambda gain: 1 / gain)
    width = state["tok_emb.weight"].shape[1]
    basis = torch.linalg.qr(torch.cat([torch.ones(width, 1), torch.randn(width, width - 1)], 1)).Q
    inner = torch.linalg.qr(torch.randn(width - 1, width - 1)).Q
    turned = _turned(state, basis @ torch.block_diag(torch.ones(1, 1), inner) @ basis.T)
    return {name: tensor.half() for name, tensor in turned.items()}


def _turned(state: State, turn: torch.Tensor) -> State:
    """Multiply the channels by a rotation or permutation, and by 3; the head undoes it."""
    shift = torch.randn(len(turn))
    for name, tensor in state.items():
        if name.endswith(("proj.weight", "mlp.2.weight", "proj.bias", "mlp.2.bias")):
            state[name] = 3 * turn @ tensor
        elif name in ("tok_emb.weight", "pos_emb"):
            state[name] = 3 * tensor @ turn.T + (shift if name == "pos_emb" else -shift)
        elif name.endswith("weight") and tensor.ndim == 2:  # what reads them
            state[name] = tensor @ turn.T
        elif "ln" in name:
            state[name] = turn @ tensor
    return state


DISGUISES: dict[str, Callable[[State], State]] = {
    "hidden units": hidden_units,
    "heads": heads,
    "norms": norms,
    "channels": channels,
    "everything": everything,
}


def disguised(state: State, kind: str, seed: int) -> State:
    """Return a copy of a model's state that computes the same."""
    torch.manual_seed(seed)
    copy = {name: tensor.clone() for name, tensor in state.items() if "mask" not in name}
    return DISGUISES[kind](copy)
