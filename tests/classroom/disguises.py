"""Ways to hide whose parameters a GPT has: each keeps what the model computes, up to rounding."""

from collections.abc import Callable

import torch

State = dict[str, torch.Tensor]
HEADS = 4


def _blocks(state: State) -> list[str]:
    return sorted({".".join(name.split(".")[:2]) for name in state if name.startswith("blocks.")})


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
    for block in _blocks(state):
        attn = f"{block}.attn"
        size = len(state[f"{attn}.value.bias"]) // HEADS
        order = (torch.randperm(HEADS)[:, None] * size + torch.arange(size)).flatten()
        for name in ("query", "key", "value"):
            for kind in ("weight", "bias"):
                state[f"{attn}.{name}.{kind}"] = state[f"{attn}.{name}.{kind}"][order]
        state[f"{attn}.proj.weight"] = state[f"{attn}.proj.weight"][:, order]
        for head in range(HEADS):
            rows = slice(head * size, (head + 1) * size)
            for one, two in (("query", "key"), ("value", "proj")):
                by = torch.randn(size, size) / size**0.5 + torch.eye(size)
                back = torch.linalg.inv(by)
                for kind in ("weight", "bias"):
                    part = state[f"{attn}.{one}.{kind}"]
                    part[rows] = by @ part[rows]
                if two == "proj":
                    state[f"{attn}.proj.weight"][:, rows] @= back
                else:
                    for kind in ("weight", "bias"):
                        part = state[f"{attn}.key.{kind}"]
                        part[rows] = back.T @ part[rows]
    return state


def norms(state: State) -> State:
    """Move each channel's scale, and the shift, between a LayerNorm and what reads it."""
    readers = {"ln_f": ["head"]}
    for block in _blocks(state):
        readers[f"{block}.ln1"] = [f"{block}.attn.{n}" for n in ("query", "key", "value")]
        readers[f"{block}.ln2"] = [f"{block}.mlp.0"]
    for norm, layers in readers.items():
        by = torch.exp(torch.randn(len(state[f"{norm}.weight"])))
        for layer in layers:
            if f"{layer}.bias" in state:  # the head has none, so that ln_f's bias stays
                shift = state[f"{layer}.weight"] @ state[f"{norm}.bias"]
                state[f"{layer}.bias"] = state[f"{layer}.bias"] + shift
            state[f"{layer}.weight"] = state[f"{layer}.weight"] / by
        has_bias = f"{layers[0]}.bias" in state
        state[f"{norm}.bias"] = state[f"{norm}.bias"] * (0 if has_bias else by)
        state[f"{norm}.weight"] = state[f"{norm}.weight"] * by
    return state


def channels(state: State) -> State:
    """Permute the channels, multiply them by 3, and add the same vector to all embeddings."""
    width = state["tok_emb.weight"].shape[1]
    return _turned(state, torch.eye(width)[torch.randperm(width)] * 3)


def everything(state: State) -> State:
    """Rotate the channels as well, in any direction that a LayerNorm doesn't notice."""
    rounded = {name: tensor.float() for name, tensor in hidden_units(state).items()}
    state = norms(heads(rounded))
    for norm in [n.removesuffix(".weight") for n in state if ".ln" in n and "weight" in n]:
        by = state[f"{norm}.weight"].clone()
        block = norm.rpartition(".")[0]
        names = ("attn.query", "attn.key", "attn.value") if norm.endswith("1") else ("mlp.0",)
        for name in names:
            state[f"{block}.{name}.weight"] = state[f"{block}.{name}.weight"] * by
        state[f"{norm}.weight"] = torch.ones_like(by)
    state["head.weight"] = state["head.weight"] * state["ln_f.weight"]
    state["ln_f.bias"] = state["ln_f.bias"] / state["ln_f.weight"]
    state["ln_f.weight"] = torch.ones_like(state["ln_f.weight"])
    width = state["tok_emb.weight"].shape[1]
    ones = torch.full((width, 1), width**-0.5)
    basis = torch.linalg.qr(torch.cat([ones, torch.randn(width, width - 1)], 1)).Q
    inner = torch.linalg.qr(torch.randn(width - 1, width - 1)).Q
    turn = basis @ torch.block_diag(torch.ones(1, 1), inner) @ basis.T
    return {name: tensor.half() for name, tensor in _turned(state, turn).items()}


def _turned(state: State, turn: torch.Tensor) -> State:
    """Multiply the channels by a matrix: a rotation or permutation, times a number."""
    pure = turn / torch.linalg.matrix_norm(turn, 2)  # what normalized channels are multiplied by
    for name, tensor in state.items():
        if name.endswith(("proj.weight", "mlp.2.weight", "proj.bias", "mlp.2.bias")):
            state[name] = turn @ tensor
        elif name in ("tok_emb.weight", "pos_emb"):
            state[name] = tensor @ turn.T
        elif name.endswith(("query.weight", "key.weight", "value.weight", "mlp.0.weight")):
            state[name] = tensor @ pure.T
        elif name == "head.weight":
            state[name] = tensor @ pure.T
        elif ".ln" in name or name.startswith("ln_f"):
            state[name] = pure @ tensor
    shift = torch.randn(turn.shape[0])
    state["tok_emb.weight"] = state["tok_emb.weight"] + shift
    state["pos_emb"] = state["pos_emb"] - shift
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
    copy = {name: tensor.clone() for name, tensor in state.items()}
    return DISGUISES[kind]({name: tensor for name, tensor in copy.items() if "mask" not in name})
