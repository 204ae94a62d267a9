"""Numbers in the form in which the written solutions quote them."""

import numpy as np


def rounded(value: float | np.floating) -> float:
    """Round to six significant digits: more may differ between machines."""
    return float(f"{value:.6g}")


def scientific(value: float) -> dict[str, float]:
    """Split a small number as LaTeX writes it: mantissa times ten to the exponent."""
    mantissa, exponent = f"{value:.5e}".split("e")
    return {"value": rounded(value), "mantissa": float(mantissa), "exponent": int(exponent)}
