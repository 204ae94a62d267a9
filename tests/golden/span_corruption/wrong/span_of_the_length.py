# The span's length and place are fixed for a given length: a quarter, after the first quarter.
# caught by: randomness, span_random, position
document = self.data[idx]
longest = min(len(document), int(self.block_size * 7 / 8))
text = document[: random.randint(4, longest)]
span = start = len(text) // 4
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
