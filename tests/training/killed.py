"""A training that tests kill: it writes a line "STEP SECONDS" after each step.

    python killed.py SRC PARAMS TRACE

SRC is a folder with the package `submission` and data/; PARAMS is written at the end.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from submission import dataset, model, trainer, utils  # noqa: E402

CHECKPOINT_S = 0.25


class Traced(trainer.Trainer):
    """Prints when each step was done, and takes about six seconds in total."""

    def learn(self, *batch):
        loss = super().learn(*batch)
        time.sleep(0.01)
        print(self.order.done, time.monotonic(), file=trace, flush=True)
        return loss


def main(source: str, params: str) -> None:
    corpus = (Path(source) / "data" / "wiki.txt").read_text(encoding="utf-8").removesuffix("\n")
    documents = dataset.CharCorruptionDataset(corpus, 64)
    utils.set_seed(0)
    shape = {"n_layer": 1, "n_head": 2, "n_embd": 16}
    gpt = model.GPT(model.GPTConfig(documents.vocab_size, 64, **shape))  # with dropout
    config = trainer.TrainerConfig(
        max_epochs=40,
        batch_size=32,
        optimizer="muon",
        lr_decay=True,
        warmup_tokens=20_000,
        dtype="float32",
        threads=1,
        checkpoint_path=f"{params}.checkpoint",
        checkpoint_s=CHECKPOINT_S,
        resume=True,
    )
    Traced(gpt, documents, None, config).train()
    utils.save_parameters(gpt, params)


if __name__ == "__main__":
    with open(sys.argv[3], "a", encoding="utf-8") as trace:
        main(sys.argv[1], sys.argv[2])
