"""A test's limits."""

from __future__ import annotations

from dataclasses import asdict, dataclass

MEMORY_BYTES = 2 << 30
IMPORT_S = 20.0  # torch, imported on a slow computer, needs three
WALL_FACTOR = 6  # a default Gradescope container has half a CPU, and may be busy


@dataclass(frozen=True)
class Limits:
    """What a test may use.

    CPU seconds count from when the worker has imported its libraries, and don't count while it
    imports the submission; the wall-clock limits are a backstop for code that sleeps or waits.
    """

    cpu_s: float
    wall_s: float
    import_s: float  # CPU seconds and wall time of imports
    import_wall_s: float
    total_wall_s: float  # with imports; less than the two together if the run is nearly over
    memory_bytes: int  # resident, of all the test's processes together, without libraries
    address_space_bytes: int = 8 << 30  # torch reserves far more than it touches
    file_bytes: int = 256 << 20
    open_files: int = 256
    stack_bytes: int = 64 << 20
    processes: int = 64  # at a time, and orphans that have ended
    threads: int = 256  # of all of them; libraries of correct solutions start one or none
    # Of its scratch folder, which is removed after the test; this takes time, too (some
    # milliseconds per folder on slow file systems). A correct solution writes a few files.
    scratch_files: int = 1_000
    scratch_bytes: int = 512 << 20

    @classmethod
    def for_test(cls, cpu_s: float, left_s: float = float("inf")) -> Limits:
        """Return the limits of a test that may take `cpu_s`, in a run with `left_s` left."""

        def wall_s(cpu_s: float) -> float:
            return max(0.1, min(cpu_s * WALL_FACTOR, left_s))

        return cls(
            cpu_s=cpu_s,
            wall_s=wall_s(cpu_s),
            import_s=IMPORT_S,
            import_wall_s=wall_s(IMPORT_S),
            total_wall_s=wall_s(cpu_s + IMPORT_S),
            memory_bytes=MEMORY_BYTES,
        )

    def as_dict(self) -> dict[str, float | int]:
        return asdict(self)
