# Long-winded, with loops over characters and a padded string for each.
size = self.block_size
limit = int(size * 7 / 8)
document = self.data[idx]
if len(document) < limit:
    limit = len(document)
cut = torch.randperm(limit - 3)[0].item() + 4
truncated = document[:cut]
share = random.uniform(0.0, 0.5)
length = int(round(cut * share))
first = random.randint(0, cut - length)
kept, moved = "", ""
for position, character in enumerate(truncated):
    if position == first:
        kept += self.MASK_CHAR
    if first <= position < first + length:
        moved += character
    else:
        kept += character
if first == cut:
    kept += self.MASK_CHAR
result = kept + self.MASK_CHAR + moved + self.MASK_CHAR
while len(result) < size + 1:
    result = result + self.PAD_CHAR
x = torch.tensor([self.stoi[c] for c in result[:-1]], dtype=torch.long)
y = torch.tensor([self.stoi[c] for c in result[1:]], dtype=torch.long)
return x, y
