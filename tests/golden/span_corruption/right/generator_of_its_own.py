# All draws come from a numpy generator that the operating system seeds.
import numpy as np

rng = np.random.default_rng()
document = self.data[idx]
longest = min(len(document), int(self.block_size * 7 / 8))
text = document[: rng.integers(4, longest, endpoint=True)]
span = int(rng.integers(0, len(text) // 2, endpoint=True))
start = int(rng.integers(0, len(text) - span, endpoint=True))
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
