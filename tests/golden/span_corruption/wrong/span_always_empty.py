# The share of the span is rounded to 0, so nothing is ever masked.
# caught by: arrangement, span_share, span_random
document = self.data[idx]
longest = min(len(document), int(self.block_size * 7 / 8))
text = document[: random.randint(4, longest)]
span = int(random.uniform(0, 0.5)) * len(text)
start = random.randint(0, len(text) - span)
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
