"""Measure how certain a trained model is of its right, wrong and made-up answers.

    python solutions/written/confidence.py build/reference

Prints one JSON object. Reads the trained folder's pretrained and finetuned vanilla model, its
predictions for dev, and the tables of train, dev and unseen people, but never the test split. If
the folder has the parameters from before finetuning, they are also used to answer cloze questions.
An answer's probability is the product of its characters' probabilities, including the MASK that
ends it. quoted_numbers.py runs this file in an interpreter of its own, because the package
`submission` that is imported here is the trained folder's.

Exit codes: 0 done, 2 usage or bad input.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

PARAMETERS = "vanilla.finetune.params"
PRETRAINED = "vanilla.pretrain.params"
PREDICTIONS = {
    "no_pretraining": "vanilla.nopretrain.dev.predictions",
    "pretraining": "vanilla.pretrain.dev.predictions",
    "synthesizer": "synthesizer.pretrain.dev.predictions",
}
OPTIONAL = {"rope": "rope.pretrain.dev.predictions"}  # trained where an edition asks for it
BINS = 10
EXAMPLES = 3  # of each kind
THRESHOLDS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95)  # below which a system might refuse


class BadInput(Exception):
    """The trained folder can't be used; the message is one line."""


def there(path: Path) -> Path:
    """Return the path of a file after checking that it is there.

    Raises:
        BadInput: it isn't.
    """
    if not path.is_file():
        raise BadInput(f"{path}: no such file, expected a trained folder (run `make reference`)")
    return path


def read(path: Path) -> str:
    """Return the text of a file that has to be there."""
    return there(path).read_text(encoding="utf-8")


def pairs(text: str) -> list[tuple[str, str]]:
    """Return the questions and places of a table."""
    rows = (line.split("\t") for line in text.removesuffix("\n").split("\n"))
    return [(question, place) for question, place in rows]


def share(count: float, total: int) -> float:
    return round(count / total, 3)


def accuracies(folder: Path, dev: list[tuple[str, str]]) -> dict[str, float] | None:
    """Return the share of right answers on dev of each model, and of always answering London.

    Return None if the predictions of a model are missing, unless they are optional.
    """
    if not all((folder / file).is_file() for file in PREDICTIONS.values()):
        return None
    places = [place for _, place in dev]
    found = {"london": share(places.count("London"), len(places))}
    more = {name: file for name, file in OPTIONAL.items() if (folder / file).is_file()}
    for name, file in (PREDICTIONS | more).items():
        predicted = read(folder / file).removesuffix("\n").split("\n")
        if len(predicted) != len(places):
            raise BadInput(
                f"{folder / file}: got {len(predicted)} lines, expected {len(places)}, one for "
                "each of birth_dev.tsv"
            )
        right = sum(p == place for p, place in zip(predicted, places, strict=True))
        found[name] = share(right, len(places))
    return found


class Trained:
    """The vanilla model of the trained folder, whose code is imported here.

    Everything is computed in double precision on one thread, so that each run prints the same
    bytes: in single precision, the last digits depend on the addresses of arrays in memory and on
    the number of threads. Methods raise the folder's InputError if parameters, recipe, corpus and
    questions don't fit each other.
    """

    def __init__(self, folder: Path, recipe: str | None) -> None:
        import torch

        from pretraining import recipes
        from submission import dataset, helper, model

        torch.set_default_dtype(torch.float64)
        torch.set_num_threads(1)
        self._folder = folder
        fields = recipes.load_recipe(recipe).model_of("vanilla")
        corpus = read(folder / "src" / "data" / "wiki.txt").removesuffix("\n")
        self._documents = dataset.CharCorruptionDataset(corpus, fields["block_size"])
        config = model.GPTConfig(self._documents.vocab_size, **fields)
        self._network = helper.initialize_vanilla_model(config)

    def answers(self, questions: list[str]) -> list[tuple[str, float]]:
        """Return the finetuned model's answers, each with the probability that it gives them."""
        from submission import utils

        self._load(PARAMETERS)
        predictions = utils.predict_places(self._network, self._documents, questions)
        return [(p.place, round(p.probability, 4)) for p in predictions]

    def cloze(self, tables: dict[str, list[tuple[str, str]]]) -> list[dict] | None:
        """Return the shares of right cloze choices before finetuning, a row for each wording.

        Return None if the folder lacks the pretrained parameters.

        Args:
            tables: questions and places, by the name of the split.
        """
        from experiments import gaps, people

        if not (self._folder / PRETRAINED).is_file():
            return None
        self._load(PRETRAINED)
        groups = {name: people.people_of(*zip(*rows, strict=True)) for name, rows in tables.items()}

        # Only the order matters: single precision suffices, and takes half of the time.
        return [
            {"text": text}
            | {name: share(s.right, s.total) if s.total else None for name, s in scores.items()}
            for text, scores in gaps.ask(self._network.float(), self._documents, groups)
        ]

    def _load(self, name: str) -> None:
        from submission import utils

        self._network.load_state_dict(utils.load_parameters(self._folder / name, self._network))


def refusing(groups: list[list[float]]) -> dict:
    """Return the effects of refusing below some thresholds, and the expected calibration error.

    Args:
        groups: the probabilities of right answers, wrong ones, and those about unseen people.
    """
    from experiments import calibration

    answers = calibration.Answers(*groups)
    rows = [calibration.refuse_below(answers, threshold) for threshold in THRESHOLDS]
    return {
        "calibration_error": round(calibration.calibration_error(answers), 4),
        "refusals": [
            {
                "threshold": row.threshold,
                "answered": round(row.answered, 3),
                "accuracy": None if row.accuracy is None else round(row.accuracy, 3),
                "unseen": round(row.unseen or 0.0, 3),
            }
            for row in rows
        ],
    }


def summary(probabilities: list[float]) -> dict | None:
    """Return the quartiles, and the share of probabilities above 1/2; None if there are none."""
    if not probabilities:
        return None
    first, median, third = np.quantile(probabilities, [0.25, 0.5, 0.75])
    return {
        "count": len(probabilities),
        "median": round(float(median), 4),
        "quartiles": [round(float(first), 4), round(float(third), 4)],
        "above_half": share(sum(p > 0.5 for p in probabilities), len(probabilities)),
    }


def histogram(*groups: list[float]) -> list[list[float]]:
    """Return each bin's left edge and the groups' shares in it; the last row is repeated at 1."""
    edges = np.linspace(0, 1, BINS + 1)
    columns = [np.histogram(group, edges)[0] / max(len(group), 1) for group in groups]
    rows = [[float(edge), *map(float, row)] for edge, *row in zip(edges, *columns, strict=False)]
    return [*rows, [1.0, *rows[-1][1:]]]


def overlap(right: list[float], wrong: list[float]) -> float | None:
    """Return how often a right answer is more probable than a wrong one; ties count half."""
    if not right or not wrong:
        return None
    difference = np.subtract.outer(right, wrong)
    return share(float((difference > 0).sum() + (difference == 0).sum() / 2), difference.size)


def is_plain(text: str) -> bool:
    """Return whether LaTeX can typeset a text: European letters, and a few signs."""
    return all(c.isalpha() and ord(c) < 0x180 or c in " .,'-?" for c in text)


def commonest(places: list[str]) -> dict:
    """Return the most frequent place; among several, the first in alphabetical order."""
    place, count = min(Counter(places).items(), key=lambda item: (-item[1], item[0]))
    return {"place": place, "share": share(count, len(places))}


def made_up(
    asked: list[str], answers: list[tuple], train: list[tuple[str, str]], dev: list[tuple[str, str]]
) -> dict:
    """Summarize what the model answers about unseen people: which places, and whose."""
    predicted = [place for place, _ in answers]
    places = [place for _, place in train]
    favourite = commonest(predicted)
    favourite["of_training"] = share(places.count(favourite["place"]), len(places))
    return {
        "favourite": favourite,
        "distinct": len(set(predicted)),
        "of_training": share(sum(place in places for place in predicted), len(predicted)),
        "look_alikes": look_alikes(asked, answers, train + dev),
    }


def look_alikes(asked: list[str], answers: list[tuple], known: list[tuple[str, str]]) -> dict:
    """Return how often a prediction is the place of someone who shares a word of the name.

    "by_chance" is how often it would be if the predictions were dealt to the people at random.

    Args:
        asked: questions.
        answers: the places predicted for them, with their probabilities.
        known: questions and places that the model may have learnt.
    """
    alike = [
        {place: q for q, place in known if set(name_of(q)) & set(name_of(question))}
        for question in asked
    ]
    hits = sum(place in namesakes for (place, _), namesakes in zip(answers, alike, strict=True))
    dealt = sum(place in namesakes for place, _ in answers for namesakes in alike)
    rows = [
        (question, " ".join(name_of(namesakes[place])), place, probability)
        for question, (place, probability), namesakes in zip(asked, answers, alike, strict=True)
        if place in namesakes
    ]
    return {
        "share": share(hits, len(asked)),
        "by_chance": share(dealt, len(asked) ** 2),
        "examples": examples(rows, "namesake"),
    }


def name_of(question: str) -> list[str]:
    """Return the words of the name in `Where was NAME born?`."""
    return question.removeprefix("Where was ").removesuffix(" born?").split()


def examples(rows: list[tuple[str, str, str, float]], second: str = "place") -> list[dict]:
    """Return the first rows that LaTeX can typeset: question, `second`, prediction, probability."""
    names = ("question", second, "prediction", "probability")
    fine = [row for row in rows if all(is_plain(text) for text in row[:3])]
    return [dict(zip(names, row, strict=True)) for row in fine[:EXAMPLES]]


def examine(folder: Path, recipe: str | None) -> dict:
    """Return all results: "accuracy", "confidence", "cloze" and "histogram".

    Raises:
        BadInput: a file is missing in the folder, or doesn't fit the others.
    """
    folder = folder.resolve()
    there(folder / PARAMETERS)  # before torch is imported, which takes seconds
    data = folder / "src" / "data"
    dev, train = (pairs(read(data / n)) for n in ("birth_dev.tsv", "birth_places_train.tsv"))
    unseen = read(data / "birth_unseen_inputs.tsv").removesuffix("\n").split("\n")
    accuracy = accuracies(folder, dev)
    sys.path.insert(0, str(folder / "src"))
    from pretraining import InputError

    try:
        trained = Trained(folder, recipe)
        answers = trained.answers([question for question, _ in dev] + unseen)
        cloze = trained.cloze({"train": train, "dev": dev})
    except InputError as error:
        raise BadInput(str(error)) from None
    rows = [(*row, *given) for row, given in zip(dev, answers[: len(dev)], strict=True)]
    right = [row for row in rows if row[1] == row[2]]
    wrong = sorted((row for row in rows if row[1] != row[2]), key=lambda row: -row[3])
    groups = [[row[3] for row in group] for group in (right, wrong)]
    groups.append([probability for _, probability in answers[len(dev) :]])
    return {
        "accuracy": accuracy,
        "confidence": {
            **dict(zip(("right", "wrong", "unseen"), map(summary, groups), strict=True)),
            "right_above_wrong": overlap(*groups[:2]),
            **refusing(groups),
            "examples": {"right": examples(right), "wrong": examples(wrong)},
            "made_up": made_up(unseen, answers[len(dev) :], train, dev),
            "training": commonest([place for _, place in train]),
        },
        "cloze": cloze,
        "histogram": histogram(*groups),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="build/reference, after `make reference`")
    parser.add_argument("--recipe", help="the recipe of the training (default: the data set's)")
    asked = parser.parse_args(arguments)
    try:
        print(json.dumps(examine(asked.folder, asked.recipe), allow_nan=False))
    except (BadInput, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
