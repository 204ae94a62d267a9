"""Let benchmarks import the reference solution as `submission`, instead of the starter code."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def come_first() -> None:
    """Make later imports from `submission` use the reference solution."""
    import submission  # from src/, which is on the path where `tools` was imported

    submission.__path__.insert(0, str(ROOT / "solutions" / "submission"))
