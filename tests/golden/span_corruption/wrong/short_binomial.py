# As short_uniform, with a binomial number of masked characters.
# caught by: span_share
import numpy as np

length = random.randint(4, int(self.block_size * 7 / 8))
span = int(np.random.binomial(length, 0.25))
start = random.randint(0, length - span)
text = self.data[idx][:length]
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
