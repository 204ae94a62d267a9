# As short_uniform, with numpy's normal distribution, clipped.
# caught by: span_share
import numpy as np

length = np.random.randint(4, int(self.block_size * 7 / 8) + 1)
text = self.data[idx][:length]
span = int(np.clip(round(np.random.normal(length / 4, length / 12)), 1, length - 2))
start = np.random.randint(0, length - span + 1)
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
