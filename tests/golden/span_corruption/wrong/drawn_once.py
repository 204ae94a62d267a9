# The first draw for a document is reused.
# caught by: randomness, every_length
if not hasattr(self, "drawn"):
    self.drawn = {}
if idx in self.drawn:
    return self.drawn[idx]
document = self.data[idx]
longest = min(len(document), int(self.block_size * 7 / 8))
text = document[: random.randint(4, longest)]
span = random.randint(0, len(text) // 2)
start = random.randint(0, len(text) - span)
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
self.drawn[idx] = ids[:-1], ids[1:]
return self.drawn[idx]
