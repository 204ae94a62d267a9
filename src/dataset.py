"""Print a few examples of a dataset.

    python src/dataset.py namedata            questions and answers, for finetuning
    python src/dataset.py charcorruption      corrupted documents, for pretraining

Run it from the assignment's root. Exit codes: 0 done, 2 usage or bad input.
"""

import environment

if __name__ == "__main__":
    environment.check("torch", "numpy", "tqdm")
    environment.find_submission()

import sys

import torch

from inputs import find_data, read_corpus
from pretraining import returned
from pretraining.batches import TextExamples
from pretraining.recipes import load_recipe
from submission.dataset import CharCorruptionDataset, NameDataset
from submission.utils import read_text, set_seed

EXAMPLES = 4


def decode(dataset: TextExamples, ids: torch.Tensor) -> str:
    """Return the string that the ids encode; a newline is shown as two characters."""
    return "".join(dataset.itos[int(i)] for i in ids).replace("\n", "\\n")


def show(kind: str, seed: int) -> None:
    """Print the first examples of the data set installed in src/data/."""
    set_seed(seed)
    corpus = read_corpus("wiki.txt", load_recipe().model["block_size"])
    dataset: CharCorruptionDataset | NameDataset = corpus
    if kind == "namedata":
        path = find_data("birth_places_train.tsv")
        dataset = NameDataset(read_text(path), corpus)
    print(f"{corpus.MASK_CHAR} is MASK, {corpus.PAD_CHAR} is PAD (in y: nothing to predict).")
    for index in range(min(EXAMPLES, len(dataset))):
        print()
        if kind == "namedata":
            question, place = dataset.data[index].split("\t")
            print(f"question: {question}\nanswer:   {place}")
        else:
            print(f"document: {dataset.data[index]}")
        x, y = returned.example(dataset, index)
        print(f"x:        {decode(dataset, x)}\ny:        {decode(dataset, y)}")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = environment.parser(__doc__)
    parser.add_argument("kind", choices=["namedata", "charcorruption"])
    parser.add_argument("--seed", type=int, default=0, help="seed of the corruption (default: 0)")
    args = parser.parse_args(arguments)
    return environment.report_errors(lambda: show(args.kind, args.seed))


if __name__ == "__main__":
    sys.exit(main())
