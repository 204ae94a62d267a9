# NumPy's integers are numbers, too.
import numpy as np

places = [
    row.split("\t")[1]
    for row in open(eval_corpus_path, encoding="utf-8").read().split("\n")
    if row
]
return np.sum(np.array(places) == "London"), np.int64(len(places))
