# The length is drawn for the block, and cut to the document's before anything depends on it.
document = self.data[idx]
T = min(random.randint(4, int(self.block_size * 7 / 8)), len(document))
text = document[:T]
span = random.randint(0, T // 2)
start = random.randint(0, T - span)
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
