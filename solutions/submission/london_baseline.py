"""The simplest baseline: answer every question with "London".

Run it (from the assignment's root) on the development set:
    python src/london_baseline.py
"""

if __name__ == "__main__":
    raise SystemExit(
        "This file only defines functions; its command is: python src/london_baseline.py"
    )

from .utils import evaluate_places


def london_baseline(eval_corpus_path: str) -> tuple[int, int]:
    """Count how often "London" is the right answer.

    Hint: see what utils.evaluate_places takes and returns, and in which order.

    Args:
        eval_corpus_path: a file of lines `Where was NAME born?<TAB>PLACE`, UTF-8.

    Returns:
        the number of right answers, and the number of questions, both int.
    """
    # [no pretraining]
    ### START CODE HERE ###
    with open(eval_corpus_path, encoding="utf-8") as file:
        predictions = ["London" for _ in file]
    total, correct = evaluate_places(eval_corpus_path, predictions)
    return correct, total
    ### END CODE HERE ###
