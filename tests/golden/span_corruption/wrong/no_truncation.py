# Documents that fit are not cut at all, longer ones at 7/8.
# caught by: randomness, every_length
document = self.data[idx]
longest = min(len(document), int(self.block_size * 7 / 8))
text = document[:longest]
span = random.randint(0, len(text) // 2)
start = random.randint(0, len(text) - span)
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
