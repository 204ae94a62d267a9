"""The code that students write, and the code that they are given with it.

Modules are imported when they are first used: `from submission import GPT` loads model.py (and
torch), while attention_exploration.py works on a machine without torch.
"""

import importlib

# Names that code of earlier years imports from the package itself, and their modules.
_HOMES = {
    "CausalSelfAttention": "attention",
    "SynthesizerAttention": "attention",
    "average_query": "attention_exploration",
    "copying_query": "attention_exploration",
    "CharCorruptionDataset": "dataset",
    "NameDataset": "dataset",
    "finetune": "helper",
    "initialize_synthesizer_model": "helper",
    "initialize_vanilla_model": "helper",
    "pretrain": "helper",
    "train": "helper",
    "GPT": "model",
    "GPTConfig": "model",
    "Trainer": "trainer",
    "TrainerConfig": "trainer",
    "evaluate_places": "utils",
    "sample": "utils",
    "apply_rotary_emb": "attention",
    "initialize_rope_model": "helper",
    "precompute_rotary_emb": "attention",
}


def __getattr__(name: str) -> object:
    """Import the module that defines `name` when the name is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
