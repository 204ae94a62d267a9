"""Calls the functions of the student's induction_scores.py, and judges nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from grading.worker import Context
from questions.shared.shapes import form_of


def scores(context: Context, function: str, inputs: list[list[Any]]) -> dict[str, Any]:
    """Call a function of induction_scores.py on each input.

    Args:
        inputs: arrays, which become tensors.

    Returns:
        forms: for each input, a description of the answer such as "float32[4]"; answers: the
        answers as float64 arrays, None for anything else; changed: whether an input was modified.
    """
    import submission.induction_scores as module

    forms, answers, changed = [], [], []
    for arrays in inputs:
        tensors = [torch.tensor(array) for array in arrays]
        got = getattr(module, function)(*tensors)
        forms.append(form_of(got))
        is_array = torch.is_tensor(got) and got.is_floating_point() and got.numel() <= 100
        answers.append(got.detach().double().numpy() if is_array else None)
        pairs = zip(tensors, arrays, strict=True)
        changed.append(any(not np.array_equal(t.numpy(), array) for t, array in pairs))
    return {"forms": forms, "answers": answers, "changed": changed}
