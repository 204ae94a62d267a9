# As short_uniform, with the start drawn first and the span's end cut at the length drawn.
# caught by: span_share
document = self.data[idx]
length = random.randint(4, int(self.block_size * 7 / 8))
span = round(length * random.uniform(0.15, 0.35))
start = int(random.random() * (length - span + 1))
prefix, masked = document[:start], document[start : start + span]
suffix = document[start + span : length]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
