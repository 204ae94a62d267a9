"""Measurements, each a command: `python -m benchmarks.NAME`. docs/measurements.md lists them."""

import tools  # noqa: F401  # puts src/ on the path
