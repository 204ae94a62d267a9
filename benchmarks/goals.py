"""The goals for training times and accuracies, beside what training.jsonl contains."""

from __future__ import annotations

import statistics

# Minutes, and the share of right answers, by variant and kind of processor.
GOALS = {
    ("vanilla", "native"): (1.7, 0.85),
    ("synthesizer", "native"): (2.5, 0.60),
    ("rope", "native"): (2.0, 0.85),
    ("vanilla", "avx2"): (4.0, 0.85),
    ("synthesizer", "avx2"): (6.0, 0.60),
    ("rope", "avx2"): (5.0, 0.85),
}
KINDS = {"native": "avx512_bf16", "avx2": "AVX2"}


def goals(runs: list[dict]) -> str:
    """Return a Markdown table of the goals for the generated world.

    Args:
        runs: those with the world's recipe as it is.
    """
    lines = [
        "| | on | runs on separate worlds | dev, pooled | dev and test, pooled | goal | minutes | "
        "goal |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (variant, isa), (minutes, share) in GOALS.items():
        own = [run for run in runs if run["pipeline"] == variant and run["isa"] == isa]
        made = [run for run in own if run.get("world") is not None]
        dev = f"{statistics.mean(run['dev'] for run in made):.0%}" if made else "not measured"
        lines.append(
            f"| {variant} | {KINDS[isa]} | {len(made)} | {dev} | {pooled(made)} | {share:.0%} | "
            f"{minutes_of(own)} | {minutes} |"
        )
    return "\n".join(lines) + "\n"


def minutes_of(runs: list[dict]) -> str:
    """Return the median minutes on each processor of the runs that had the machine to themselves.

    Other runs' times are not meaningful.
    """
    idle: dict[str, list[float]] = {}
    for run in runs:
        if not run["busy"]:
            idle.setdefault(processor(run), []).append(run["total_s"] / 60)
    took = (f"{statistics.median(times):.2f} ({name})" for name, times in sorted(idle.items()))
    return ", ".join(took) or "not measured"


def processor(run: dict) -> str:
    """Return a short name of the processor that a run was measured on."""
    words = run["machine"].replace("(R)", "").partition(",")[0].split()
    return " ".join(word for word in words if word != "Processor")


def pooled(runs: list[dict]) -> str:
    """Return the share of right answers on dev and test of all runs together."""
    if not runs:
        return "not measured"
    right, of = (sum(run["held_out"][i] for run in runs) for i in (0, 1))
    return f"{right / of:.0%} of {of}"
