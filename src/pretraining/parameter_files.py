"""Files of parameters: run.py, the grader and collect_submission.py accept the same ones.

Files from other programs are accepted if they contain a model's tensors: below one of WRAPPERS, as
in `{"model": ..., "optimizer": ...}`, with the prefixes of torch.compile and DataParallel, or
beside numbers, as in `{**model.state_dict(), "step": 800}`.
"""

from __future__ import annotations

from os import PathLike

import torch

from . import InputError
from .files import save_atomically

WRAPPERS = ("state_dict", "model_state_dict", "model", "params")
PREFIXES = ("module.", "_orig_mod.")
BUFFERS = (".mask", ".rope_cache")  # of the given attention: they are computed, not learnt
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def save_tensors(state: dict, path: str | PathLike) -> None:
    """Call torch.save, atomically.

    Raises:
        OSError: the file can't be written, for instance because the disk is full.
    """
    try:
        save_atomically(lambda file: torch.save(state, file), path)
    except (OSError, RuntimeError) as error:  # torch raises a RuntimeError for some OSErrors
        reason = getattr(error, "strerror", None) or "is the disk full?"
        raise OSError(f"{path}: can't be written ({reason})") from error


def read(path: str | PathLike, name: str = "") -> dict[str, torch.Tensor]:
    """Return the named tensors in a file, without wrappers and prefixes, on the CPU.

    Messages call the file `name`, or by its path.

    Raises:
        InputError: the file has no named tensors.
        OSError: it can't be opened.
    """
    name = name or str(path)
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # torch.load raises half a dozen types for damaged files
        reason = f"torch.load(weights_only=True) raises {type(error).__name__}"
        advice = "is it damaged, or a different kind of file? run.py writes such files"
        raise InputError(f"{name} can't be read as parameters: {reason} ({advice})") from None
    tensors = _tensors(state)
    dense = [t.layout is torch.strided and t.device.type == "cpu" for t in tensors.values()]
    if not all(dense) or not dense:  # sparse, or on the device "meta"
        raise InputError(
            f"{name} can't be read as parameters: it lacks the named tensors of a model "
            "(run.py writes such files)"
        )
    return {short(key): tensor for key, tensor in tensors.items()}


def _tensors(state: object) -> dict[str, torch.Tensor]:
    for _ in WRAPPERS:  # a file may nest without end
        if not isinstance(state, dict):
            return {}
        inner = [state[key] for key in WRAPPERS if isinstance(state.get(key), dict)]
        if not inner:
            return {str(k): v.detach() for k, v in state.items() if isinstance(v, torch.Tensor)}
        state = inner[0]
    return {}


def short(name: str) -> str:
    """Return a parameter's name without the prefixes of torch.compile and DataParallel."""
    while name.startswith(PREFIXES):
        name = name.partition(".")[2]
    return name


def weights(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the tensors that a model can have learnt: no integers, no masks or angles."""
    return {
        name: tensor
        for name, tensor in tensors.items()
        if tensor.dtype in DTYPES and not name.endswith(BUFFERS)
    }


def fitted(path: str | PathLike, model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return the parameters in a file, named as in model.state_dict(), if they fit this model.

    Buffers that the file lacks are the model's own.

    Raises:
        InputError: there are none, or some do not fit; the message names the first.
        OSError: the file can't be opened.
    """
    tensors = read(path)
    learnt, own = weights(tensors), model.state_dict()
    wanted = {short(name): parameter for name, parameter in model.named_parameters()}
    buffers = {short(name) for name in own} - wanted.keys()
    for name in [*wanted, *learnt]:
        got, expected = (
            f"shape {tuple(each[name].shape)}" if name in each else "none"
            for each in (learnt, wanted)
        )
        if got != expected and name not in buffers:
            raise InputError(
                f"{path}: parameter {name}: got {got}, expected {expected} (are they from a "
                "different variant, recipe or corpus?)"
            )
    for name, old in own.items():
        read_for = tensors.get(short(name))
        if read_for is not None and read_for.shape == old.shape:
            own[name] = read_for
    return own
