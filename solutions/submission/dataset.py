"""Datasets of characters: span corruption for pretraining, name/place pairs for finetuning.

See a few examples of each (from the assignment's root):
    python src/dataset.py namedata
    python src/dataset.py charcorruption

Both return items (x, y): the model reads x and should write y, where y[t] is the character that
follows x[t]. Characters are encoded as ids of a vocabulary; in y, id 0, the padding, means "no
target here".
"""

import random

import torch
from torch.utils.data import Dataset

if __name__ == "__main__":
    raise SystemExit("This file only defines datasets; its command is: python src/dataset.py")

from pretraining import InputError, register

MASK_CHAR = "\u2047"  # ⁇, unlike any character of the corpus
PAD_CHAR = "\u25a1"  # □
MIN_DOCUMENT_LENGTH = 4  # the shortest document that a corruption may truncate to
MIN_BLOCK_SIZE = 16  # below this, seven eighths of a block and three MASKs do not fit in it


class CharCorruptionDataset(Dataset):
    """Documents with one span of characters moved behind MASKs: what the model is pretrained on.

    Span corruption comes from T5 (Raffel et al. 2020, section 3.1.4); here one span is masked in
    each document, and the document is a string of characters.

    Attributes:
        data: the documents, a list of str: the corpus's lines of at least 4 characters.
        stoi, itos: character to id and back. Id 0 is PAD_CHAR, id 1 is MASK_CHAR, then come the
            sorted characters of the whole corpus, the newline included.
        vocab_size: number of ids.
        block_size: number of entries of x and of y.
    """

    def __init__(self, data: str, block_size: int):
        """Split the text into documents and make the vocabulary.

        Args:
            data: the text of the corpus, one document per line.
            block_size: number of characters that the model sees at once.

        Raises:
            InputError: the text contains MASK_CHAR or PAD_CHAR, or no usable document, or the
                block is too small.
        """
        for special in (MASK_CHAR, PAD_CHAR):
            if special in data:
                line = data[: data.index(special)].count("\n") + 1
                raise InputError(f"corpus, line {line}: contains {special!r}, which is reserved")
        if block_size < MIN_BLOCK_SIZE:
            raise InputError(f"block_size is {block_size}, expected at least {MIN_BLOCK_SIZE}")
        self.MASK_CHAR = MASK_CHAR
        self.PAD_CHAR = PAD_CHAR
        chars = [PAD_CHAR, MASK_CHAR, *sorted(set(data))]
        self.stoi = {ch: i for i, ch in enumerate(chars)}
        self.itos = dict(enumerate(chars))
        self.vocab_size = len(chars)
        self.block_size = block_size
        self.data = [line for line in data.split("\n") if len(line) >= MIN_DOCUMENT_LENGTH]
        if not self.data:
            raise InputError("corpus: found no document, expected lines of 4 characters or more")

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, idx: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Corrupt document number idx: the result is random, and differs from call to call.

        1. Truncate the document to a prefix of random length T. T must take every integer value
           from 4 to min(len(document), int(self.block_size * 7 / 8)), and no other.
        2. Cut the truncated document in three: prefix, masked_content, suffix. The length of
           masked_content is random, and a quarter of T on average (T is the real length of the
           truncated document, not one that the document may be too short for). Its position is
           random, too. Any of the three may be empty.
        3. Rearrange, with a final MASK, and pad with PADs to self.block_size + 1 characters:
               prefix MASK suffix MASK masked_content MASK PAD PAD ... PAD
        4. x is the string without its last character, y the string without its first: the model
           learns to write the next character at every position.
        5. Encode both with self.stoi.

        Worked example. The document is "Ada Byron was born in London." and block_size is 32, so T
        is from 4 to 28. Suppose that T is 20, "Ada Byron was born i", and that 5 characters are
        masked, starting with the fifth: prefix "Ada ", masked_content "Byron", suffix
        " was born i". With ⁇ for MASK and □ for PAD:
            string  Ada ⁇ was born i⁇Byron⁇□□□□□□□□□□   (33 characters)
            x       Ada ⁇ was born i⁇Byron⁇□□□□□□□□□    (32, without the last)
            y        da ⁇ was born i⁇Byron⁇□□□□□□□□□□   (32, without the first)

        Args:
            idx: the number of the document, 0 to len(self) - 1.

        Returns:
            x and y, each of shape (block_size,), dtype torch.long.

        Randomness may come from random, numpy or torch.
        """
        # [span corruption]
        ### START CODE HERE ###
        document = self.data[idx]
        longest = min(len(document), int(self.block_size * 7 / 8))
        truncated = document[: random.randint(MIN_DOCUMENT_LENGTH, longest)]
        # Uniform from 0 to one half: a quarter on average.
        span = random.randint(0, len(truncated) // 2)
        start = random.randint(0, len(truncated) - span)
        prefix = truncated[:start]
        masked_content = truncated[start : start + span]
        suffix = truncated[start + span :]

        mask = self.MASK_CHAR
        text = prefix + mask + suffix + mask + masked_content + mask
        text = text.ljust(self.block_size + 1, self.PAD_CHAR)
        ids = torch.tensor([self.stoi[ch] for ch in text], dtype=torch.long)
        return ids[:-1], ids[1:]
        ### END CODE HERE ###


class NameDataset(Dataset):
    """Questions about birth places with their answers: what the model is finetuned on.

    A line `Where was NAME born?<TAB>PLACE` becomes, with ⁇ for MASK and □ for PAD,
        x   Where was Ada born?⁇London⁇□□□...
        y   □□□□□□□□□□□□□□□□□□□London⁇□□□...
    The model is not trained to write the question: in y, everything up to and including the first
    MASK is replaced by padding, which leaves the place and the MASK that ends it.

    Attributes: data, the lines; stoi, itos, block_size, vocab_size, MASK_CHAR and PAD_CHAR as in
    the pretraining dataset, so that a pretrained model can use the same ids.
    """

    def __init__(self, data: str, pretraining_dataset: CharCorruptionDataset):
        """Check that each line can become an example.

        Args:
            data: the text of a tab-separated file. A newline at its end is optional.
            pretraining_dataset: provides the vocabulary and the block size.

        Raises:
            InputError: a line is malformed, too long, or contains a character that the vocabulary
                lacks; the message names the line.
        """
        self.MASK_CHAR = pretraining_dataset.MASK_CHAR
        self.PAD_CHAR = pretraining_dataset.PAD_CHAR
        self.itos = pretraining_dataset.itos
        self.stoi = pretraining_dataset.stoi
        self.block_size = pretraining_dataset.block_size
        self.vocab_size = pretraining_dataset.vocab_size
        self.data = data.removesuffix("\n").split("\n")
        for number, row in enumerate(self.data, start=1):
            self._check_row(number, row)

    def _check_row(self, number: int, row: str) -> None:
        """Raise an InputError that names line `number` unless `row` can become an example."""
        fields = row.split("\t")
        if len(fields) != 2 or not all(fields):
            raise InputError(f"line {number}: got {row!r}, expected a question, one tab, a place")
        unknown = sorted(set("".join(fields)) - set(self.stoi))
        if unknown:
            raise InputError(
                f"line {number}: got the characters {''.join(unknown)!r}, expected only those of "
                "the pretraining corpus (does this file belong to that corpus?)"
            )
        length, limit = len(row) + 1, self.block_size + 1  # two MASKs, minus the tab
        if length > limit:
            raise InputError(
                f"line {number}: got {length} characters with both MASKs, expected at most {limit}"
            )

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, idx: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return example number idx: x and y of shape (block_size,), dtype torch.long."""
        question, place = self.data[idx].split("\t")
        text = question + self.MASK_CHAR + place + self.MASK_CHAR
        text = text.ljust(self.block_size + 1, self.PAD_CHAR)
        ids = torch.tensor([self.stoi[ch] for ch in text], dtype=torch.long)
        x, y = ids[:-1], ids[1:].clone()  # clone: x keeps the question, y doesn't
        y[: len(question)] = self.stoi[self.PAD_CHAR]
        return x, y


register(corruption=CharCorruptionDataset)
