"""Confinement of the workers that run student code (Linux).

`confined_pool` is the interface; a zygote imports this package, so that it imports nothing itself.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .pool import ConfinedPool
    from .sandbox import Layers


def is_available() -> bool:
    """Return whether workers can be forked, and so confined: only on Linux.

    macOS's libraries break in forked children, and Windows has no fork.
    """
    return sys.platform == "linux"


def confined_pool(
    hash_seed: int,
    layers: Layers | None = None,
    authoritative: bool = False,
) -> ConfinedPool:
    """Return a pool of confined workers.

    Args:
        hash_seed: of the workers' hashes.
        layers: what confines them; by default, everything that works here.
        authoritative: whether to refuse a submission unless its score can count.
    """
    from .pool import ConfinedPool
    from .sandbox import detect

    return ConfinedPool(hash_seed, layers or detect(), authoritative)


def hide_memory() -> None:
    """Keep processes of the same user from reading this one's memory or environment."""
    from .sandbox import hide_memory

    hide_memory()
