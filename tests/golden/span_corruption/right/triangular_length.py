# Long prefixes are drawn more often than short ones, each of which has half the probability that it
# has in a uniform draw, or more; spans of up to two tenths around a quarter.
document = self.data[idx]
longest = min(len(document), int(self.block_size * 7 / 8))
often_long = int(random.triangular(4, longest + 1, longest + 1))
text = document[: min(longest, random.choice((often_long, random.randint(4, longest))))]
span = round(len(text) * random.uniform(0.05, 0.45))
start = random.randint(0, len(text) - span)
prefix, masked, suffix = text[:start], text[start : start + span], text[start + span :]
s = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked + self.MASK_CHAR
s += self.PAD_CHAR * (self.block_size + 1 - len(s))
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
return ids[:-1], ids[1:]
