# A quarter of the length drawn first, though the document may be shorter.
# caught by: span_share
length = random.randint(4, int(self.block_size * 7 / 8))
text = self.data[idx][:length]
span = min(random.randint(0, length // 2), len(text))
start = random.randint(0, len(text) - span)
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
