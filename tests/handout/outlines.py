"""What each edition's sheet must contain, according to the public sheets; reading a sheet."""

import re

PRACTICE = [
    (f"4{letter}", title, "Practice")
    for letter, title in zip(
        "abcdefghijklmnopqrs",
        (
            *("Scaled dot-product attention", "Splitting and merging heads"),
            *("Masks and cross-attention", "Masking before or after the softmax"),
            *("Sinusoidal positions", "Moving by an offset", "Add or concatenate"),
            *("Relative biases", "The buckets of T5", "Rotary positions"),
            *("Layer norm and the block", "Residual connections"),
            *("Span corruption with sentinels", "Masked language models", "Perplexity and bits"),
            *("Receptive fields", "The cost of attention", "The parameters of a GPT", "In words"),
        ),
        strict=True,
    )
]
# From the public sheets, in their order: number, title, text in brackets; then our practice.
OUTLINES = {
    "xcs224n": [
        ("1a", "Check out the demo", "0 points (Coding)"),
        ("1b", "Read through NameDataset", "0 points (Coding)"),
        ("1c", "Implement finetuning (without pretraining)", "0 points (Coding)"),
        ("1d", "Make predictions (without pretraining)", "10 points (Coding)"),
        ("1e", "Define a span corruption function", "16 points (Coding)"),
        ("1f", "Pretrain, finetune, and make predictions", "16 points (Coding)"),
        ("1g", "Write and try out the synthesizer variant", "11 points (Coding)"),
        ("2a", "Why pretraining helps", "0.5 points (Written, Extra Credit)"),
        ("2b", "Retrieved or made up", "0.5 points (Written, Extra Credit)"),
        ("2c", "People nobody has seen", "1 point (Written, Extra Credit)"),
        ("3a", "Copying in attention", "1 point (Written, Extra Credit)"),
        ("3b", "An average of two", "2 points (Written, Extra Credit)"),
        ("3c", "Drawbacks of single-headed attention", "2 points (Written, Extra Credit)"),
        ("3d", "Benefits of multi-headed attention", "1 point (Written, Extra Credit)"),
        ("3e", "Key-query-value self-attention", "2 points (Written, Extra Credit)"),
        *PRACTICE,
    ],
    "cs224n": [
        ("1a", "Copying in attention", "2 points (Written)"),
        ("1b", "An average of two", "4 points (Written)"),
        ("1c", "Drawbacks of single-headed attention", "5 points (Written)"),
        ("1d", "Benefits of multi-headed attention", "3 points (Written)"),
        ("1e", "Key-query-value self-attention", "7 points (Written)"),
        ("2a", "Check out the demo", "0 points (Coding)"),
        ("2b", "Read through NameDataset", "0 points (Coding)"),
        ("2c", "Implement finetuning (without pretraining)", "0 points (Coding)"),
        ("2d", "Make predictions (without pretraining)", "5 points (Coding)"),
        ("2e", "Define a span corruption function", "10 points (Coding)"),
        ("2f", "Pretrain, finetune, and make predictions", "10 points (Coding)"),
        (
            "2g",
            "Write and try out the synthesizer variant",
            "8 points (Coding), 2 points (Written)",
        ),
        ("3a", "Why pretraining helps", "1 point (Written)"),
        ("3b", "Retrieved or made up", "2 points (Written)"),
        ("3c", "People nobody has seen", "2 points (Written)"),
        *PRACTICE,
    ],
}
OUTLINES["current"] = [
    *OUTLINES["xcs224n"][:7],
    ("1h", "Write and try out rotary positions", "8 points (Coding)"),
    *OUTLINES["xcs224n"][7:],
    ("5a", "Attention without positions", "1.5 points (Written, Extra Credit)"),
    ("5b", "Sinusoidal positions", "1.5 points (Written, Extra Credit)"),
    ("6a", "What a network postpones", "3 points (Written)"),
    ("6b", "Grow an induction head", "1 point (Coding), 2 points (Written)"),
    ("6c", "One more experiment, of your choice", "4 points (Written)"),
]
SLOTS = {
    "xcs224n": "1d 1f 1g 2a 2b 2c 3a 3b 3c-i 3c-ii 3d-i 3d-ii 3e-i 3e-ii",
    "cs224n": "1a 1b 1c-i 1c-ii 1d-i 1d-ii 1e-i 1e-ii 2d 2f 2g 2g-ii 3a 3b 3c",
}
SUB_POINTS = {
    "xcs224n": {"3c-i": 1, "3c-ii": 1, "3d-i": 0.5, "3d-ii": 0.5, "3e-i": 1, "3e-ii": 1},
    "cs224n": {"1c-i": 2, "1c-ii": 3, "1d-i": 1, "1d-ii": 2, "1e-i": 3, "1e-ii": 4, "2g-ii": 2},
}
SLOTS["current"] = SLOTS["xcs224n"].replace("1g ", "1g 1h ") + " 5a-i 5a-ii 5b-i 5b-ii 6a 6b 6c"
SUB_POINTS["current"] = SUB_POINTS["xcs224n"] | {"5a-i": 1, "5a-ii": 0.5, "5b-i": 0.5, "5b-ii": 1}
COMMANDS = {"xcs224n": 11, "cs224n": 11, "current": 15}  # of the public sheets, and rope's


def headings(text):
    found = re.findall(r"^\\question\{(\w+)\}\{(\w+)\}\{(.*)\}\{(.*)\}\{q:\w+\}$", text, re.M)
    return [(part + letter, title, worth) for part, letter, title, worth in found]


def words(text):
    return " ".join(text.split())
