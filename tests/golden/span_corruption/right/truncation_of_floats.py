# Whole numbers made of real ones, in percent of the document.
document = self.data[idx]
longest = min(len(document), int(self.block_size * 7 / 8))
text = document[: int(random.uniform(4, longest + 1))]
span = int(len(text) * random.uniform(0, 50) / 100)
start = int(random.random() * (len(text) - span + 1))
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
