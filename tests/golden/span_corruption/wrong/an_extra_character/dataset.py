# The vocabulary ends in a character that the text doesn't hold.
# caught by: vocabulary, any_alphabet
import random

import torch
from torch.utils.data import Dataset


class CharCorruptionDataset(Dataset):
    def __init__(self, data, block_size):
        self.MASK_CHAR = "\u2047"
        self.PAD_CHAR = "\u25a1"
        chars = [self.PAD_CHAR, self.MASK_CHAR, *sorted(set(data)), "\u2603"]
        self.stoi = {ch: i for i, ch in enumerate(chars)}
        self.itos = dict(enumerate(chars))
        self.vocab_size = len(chars)
        self.block_size = block_size
        self.data = [line for line in data.split("\n") if len(line) >= 4]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, idx):
        longest = min(len(self.data[idx]), int(self.block_size * 7 / 8))
        text = self.data[idx][: random.randint(4, longest)]
        span = random.randint(0, len(text) // 2)
        start = random.randint(0, len(text) - span)
        parts = (text[:start], text[start + span :], text[start : start + span], "")
        s = self.MASK_CHAR.join(parts).ljust(self.block_size + 1, self.PAD_CHAR)
        ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
        return ids[:-1], ids[1:]
