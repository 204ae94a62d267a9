# torch's real numbers, each rounded down.
document = self.data[idx]
longest = min(len(document), int(self.block_size * 7 / 8))
text = document[: 4 + int(torch.rand(1).item() * (longest - 3))]
span = int(len(text) * (0.125 + 0.25 * torch.rand(1).item()))
start = int((len(text) - span + 1) * torch.rand(1).item())
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
