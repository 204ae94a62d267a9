# The span is placed in the length drawn, of which a short document has only the beginning.
# caught by: span_share
length = random.randint(4, int(self.block_size * 7 / 8))
text = self.data[idx][:length]
span = random.randint(1, length // 2)
start = random.randint(0, length - span)
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
