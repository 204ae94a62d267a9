"""Random draws that are the same on every platform and in every version of Python.

`random.Random` promises that only for `random()`; how `shuffle`, `choice` and `sample` use it has
changed before. So the world draws from SHA-256 in counter mode: block i of a stream is the hash of
"seed/stream/i", cut into four 64-bit numbers.
"""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")
WORD = 1 << 64


class Draws:
    """One stream of draws; streams of different names under one seed are independent."""

    def __init__(self, seed: int, stream: str) -> None:
        self._prefix = f"{seed}/{stream}/"
        self._block = 0
        self._words: list[int] = []

    def _word(self) -> int:
        """Return the next number in 0 .. 2**64 - 1."""
        if not self._words:
            digest = hashlib.sha256(f"{self._prefix}{self._block}".encode("ascii")).digest()
            self._block += 1
            # Reversed, since pop() takes from the end: the words come out in the digest's order.
            self._words = [int.from_bytes(digest[i : i + 8], "big") for i in (24, 16, 8, 0)]
        return self._words.pop()

    def below(self, limit: int) -> int:
        """Return a number in 0 .. limit - 1, each equally likely.

        Words above the largest multiple of `limit` are thrown away: keeping them would favour the
        small remainders.
        """
        if not 0 < limit <= WORD:
            raise ValueError(f"got a limit of {limit}, expected 1 to 2**64")
        fair = WORD - WORD % limit
        while (word := self._word()) >= fair:
            pass
        return word % limit

    def one_of(self, items: Sequence[Item]) -> Item:
        """Return one of `items`, each equally likely."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return `items` in random order (Fisher-Yates), leaving the original as it is."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = self.below(last + 1)
            result[last], result[other] = result[other], result[last]
        return result
