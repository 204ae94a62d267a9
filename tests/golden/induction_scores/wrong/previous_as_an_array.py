# NumPy's mean: the answer is no tensor.
# caught by: one_pair, circuit, previous
# region: induction_scores.py, previous_token_score, induction scores
import numpy as np

odd = np.arange(1, weights.shape[-1], 2)
return weights.numpy()[:, odd, odd - 1].mean(axis=-1)
