# Works on ids from the beginning, and fills a tensor of PADs.
document = self.data[idx]
longest = min(len(document), int(self.block_size * 7 / 8))
encoded = [self.stoi[c] for c in document[: random.randint(4, longest)]]
T = len(encoded)
span = random.choice(range(T // 2 + 1))
start = random.choice(range(T - span + 1))
mask = [self.stoi[self.MASK_CHAR]]
content = encoded[start : start + span]
rest = encoded[:start] + mask + encoded[start + span :]
row = torch.full((self.block_size + 1,), self.stoi[self.PAD_CHAR])
row[: T + 3] = torch.LongTensor(rest + mask + content + mask)
x = row[:-1].clone()
y = row[1:].clone()
return x, y
