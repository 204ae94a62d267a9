# Once in 160 draws the span comes out negative, and a character is written twice.
# caught by: block_sizes, short_documents
document = self.data[idx]
longest = min(len(document), int(self.block_size * 7 / 8))
text = document[: random.randint(4, longest)]
span = int(random.gauss(len(text) / 4, len(text) / 10) + 0.5)
span = span if random.random() > 1 / 160 else -1
start = random.randint(1, len(text) - max(span, 1))
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
