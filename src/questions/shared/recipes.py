"""What a recipe's table in assignment.toml asks of a TrainerConfig."""

from __future__ import annotations

from typing import Any

FIELDS = (  # of a TrainerConfig, as far as a recipe sets them
    "max_epochs",
    "batch_size",
    "learning_rate",
    "betas",
    "grad_norm_clip",
    "weight_decay",
    "lr_decay",
    "warmup_tokens",
    "final_tokens",
    "optimizer",
    "muon_learning_rate",
    "schedule",
)
NOT_COMPARED = ("num_workers", "ckpt_path", "writer")  # free to choose


def expected_settings(
    recipe: dict[str, Any], stage: str, documents: int, block_size: int, synthesizer: bool
) -> dict[str, Any]:
    """The fields that a TrainerConfig should have for one stage of a recipe.

    Args:
        recipe: the table [recipes.NAME].
        stage: "pretrain", "finetune_scratch" or "finetune_pretrained".
        documents: number of documents in the pretraining corpus, which final_epochs counts.
        block_size: number of entries of an example.
        synthesizer: whether the variant's own settings apply.
    """
    table = of_variant(recipe[stage], synthesizer)
    if "final_epochs" in table:
        table["final_tokens"] = table.pop("final_epochs") * documents * block_size
    return {k: v for k, v in table.items() if k not in NOT_COMPARED}


def of_variant(table: dict[str, Any], synthesizer: bool) -> dict[str, Any]:
    """A table's settings, for the synthesizer with those of its table `synthesizer` in place."""
    settings = dict(table)
    own = settings.pop("synthesizer", {})
    return settings | own if synthesizer else settings
