# As short_uniform, with spans that are nearly constant and never at the beginning.
# caught by: span_share
document = self.data[idx]
length = random.randint(4, int(7 / 8 * self.block_size))
span = max(1, length // 4 + random.randint(-1, 1))
start = random.randint(1, length - span)
truncated = document[:length]
prefix, masked = truncated[:start], truncated[start : start + span]
suffix = truncated[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
