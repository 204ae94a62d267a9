"""Read the files from which plots are drawn."""

import numpy as np


def columns(path) -> dict[str, np.ndarray]:
    """Return a .dat file's columns by name."""
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    array = np.array([[float(x) for x in row.split()] for row in rows])
    return dict(zip(head.split(), array.T, strict=True))
