"""What students write, and what they are given with it.

Nothing is imported until it is asked for: `from submission import GPT` loads model.py (and torch)
then, while attention_exploration.py can be used on a machine without torch.
"""

import importlib

# Names that earlier years' code takes from the package itself, and the modules they live in.
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
    # <rope>
    "apply_rotary_emb": "attention",
    "initialize_rope_model": "helper",
    "precompute_rotary_emb": "attention",
    # </rope>
}


def __getattr__(name: str) -> object:
    """Import the module that holds `name` when the name is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
