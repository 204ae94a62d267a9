# As short_uniform, with torch's randomness, rounded down.
# caught by: span_share
length = torch.randint(4, int(self.block_size * 7 / 8) + 1, (1,)).item()
span = int(torch.rand(1).item() * 0.5 * length)
start = torch.randint(0, length - span + 1, (1,)).item()
text = self.data[idx][:length]
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
