"""Builds models with a submission's helper, and converts their inputs and outputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from .shapes import form_of

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def build(variant: str, config: dict[str, Any]) -> Any:
    """Build a variant's model with the submission's helper.

    What torch.compile made of a model is that model: compiling takes longer than a test may.

    Raises:
        WrongReturn: the helper returned something other than a model.
    """
    import submission.helper as helper  # here, so that a missing file is reported as such
    from pretraining import returned  # here, so that it is the copy that the submission imports
    from submission.model import GPTConfig

    initialize = getattr(helper, f"initialize_{variant}_model")
    model = returned.model(initialize, initialize(GPTConfig(**config)))
    return getattr(model, "_orig_mod", model)


def reports_wrong_returns(probe: Callable[..., dict]) -> Callable[..., dict]:
    """Make a probe answer with specs.WRONG_RETURN if a function returns the wrong thing."""

    @functools.wraps(probe)
    def reporting(*arguments: Any, **more: Any) -> dict[str, Any]:
        from pretraining.returned import WrongReturn  # here, as in `build`

        try:
            return probe(*arguments, **more)
        except WrongReturn as wrong:
            return {"wrong_return": str(wrong)}

    return reporting


def loaded(
    variant: str, config: dict[str, Any], weights: dict[str, np.ndarray], corpus: str
) -> tuple[Any, Any]:
    """Build the corpus's dataset, for its vocabulary, and a model with these parameters.

    Args:
        config: fields of GPTConfig except vocab_size, which the corpus determines.
    """
    from questions.shared.models import build
    from submission.dataset import CharCorruptionDataset

    # Denormal numbers (below 1e-38) slow a processor down a hundredfold.
    torch.set_flush_denormal(True)
    dataset = CharCorruptionDataset(corpus, config["block_size"])
    model = build(variant, config | {"vocab_size": dataset.vocab_size})
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.tensor(weights[name]))
    return dataset, model.eval()


@contextmanager
def default_dtype(dtype: str) -> Iterator[None]:
    """Set torch's default dtype, so that a student's torch.zeros(...) fits the rest."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(DTYPES[dtype])
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def first_of(out: Any) -> Any:
    """Return only the output: some earlier versions return (output, something else)."""
    return out[0] if isinstance(out, tuple) else out


def form_of_tensor(out: Any) -> str:
    """Describe what should be a tensor; `form_of` alone gives arrays the same description."""
    return f"a NumPy array, {form_of(out)}" if isinstance(out, np.ndarray) else form_of(out)


def array_of(out: Any) -> np.ndarray | None:
    """Return a real tensor of reasonable size as a float64 copy; None for anything else."""
    if not isinstance(out, torch.Tensor) or out.is_complex() or out.numel() > 1 << 22:
        return None
    return out.detach().to(torch.float64).cpu().numpy()
