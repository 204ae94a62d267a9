# A quarter of the whole document, a character more or less, which is truncated afterwards.
# caught by: span_share
document = self.data[idx]
longest = min(len(document), int(self.block_size * 7 / 8))
span = max(1, int(len(document) / 4) + random.randint(-1, 1))
start = random.randint(0, len(document) - span)
text = document[: random.randint(4, longest)]
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
