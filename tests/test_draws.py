"""The random draws of tools/draws.py, which must give the same worlds on every platform."""

import hashlib
from collections import Counter

from tools.draws import Draws


def test_draws_are_the_pinned_ones():
    draws = Draws(0, "pin")
    digest = hashlib.sha256(b"0/pin/0").digest()
    assert [draws.below(1 << 64) for _ in range(4)] == [
        int.from_bytes(digest[i : i + 8], "big") for i in (0, 8, 16, 24)
    ]


def test_draws_below_throw_away_what_would_favour_small_numbers(monkeypatch):
    draws = Draws(0, "pin")
    words = iter([(1 << 64) - 1, 7])  # 2**64 - 1 is the one word too many for a limit of 3
    monkeypatch.setattr(draws, "_word", lambda: next(words))
    assert draws.below(3) == 7 % 3
    assert next(words, None) is None


def test_shuffles_reach_every_order_equally():
    draws = Draws(0, "orders")
    counts = Counter("".join(draws.shuffled("abc")) for _ in range(6000))
    # Deterministic, since the seed is fixed; a fair shuffle strays 150 (5 deviations) from 1,000
    # in one of 300,000 streams.
    assert len(counts) == 6
    assert max(abs(count - 1000) for count in counts.values()) < 150
