"""A short corpus for datasets, and decoding of a dataset's ids to text."""

CORPUS = "Ana Ruiz was born in Lima.\nÉmile Łuk, a sailor, was born in Tromsø in 1845.\nabc\nabcd\n"


def text_of(dataset, ids) -> str:
    return "".join(dataset.itos[int(i)] for i in ids)
