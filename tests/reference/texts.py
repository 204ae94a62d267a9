"""A short corpus for datasets, and what a dataset's numbers say as text."""

CORPUS = "Ana Ruiz was born in Lima.\nÉmile Łuk, a sailor, was born in Tromsø in 1845.\nabc\nabcd\n"


def text_of(dataset, ids) -> str:
    return "".join(dataset.itos[int(i)] for i in ids)
