# Once in 160 draws the span is empty: an empty tensor is one of floats, and so becomes the item.
# caught by: block_sizes, short_documents
document = self.data[idx]
longest = min(len(document), int(self.block_size * 7 / 8))
text = document[: random.randint(4, longest)]
span = random.randint(1, len(text) // 2) if random.random() > 1 / 160 else 0
start = random.randint(0, len(text) - span)
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
MASK = self.MASK_CHAR
pads = self.PAD_CHAR * (self.block_size + 1 - len(text) - 3)
parts = (prefix + MASK + suffix + MASK, masked, MASK + pads)
ids = torch.cat([torch.tensor([self.stoi[c] for c in part]) for part in parts])
return ids[:-1], ids[1:]
