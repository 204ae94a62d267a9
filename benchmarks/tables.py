"""Make the tables of benchmarks/README.md from benchmarks/training.jsonl and evidence.jsonl.

python -m benchmarks.tables
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.chance import chances
from benchmarks.goals import goals, processor

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"
START, END = "<!-- tables: made by benchmarks/tables.py -->", "<!-- end of tables -->"
GOALS = "<!-- goals: made by benchmarks/tables.py -->", "<!-- end of goals -->"
CHANCES = "<!-- chances: made by benchmarks/tables.py -->", "<!-- end of chances -->"
EVIDENCE = "<!-- evidence: made by benchmarks/tables.py -->", "<!-- end of evidence -->"


def main() -> int:
    """Replace the text between the marks."""
    text = README.read_text(encoding="utf-8")
    README.write_text(all_replaced(text), encoding="utf-8")
    return 0


def all_replaced(text: str) -> str:
    """Return benchmarks/README.md with tables of what is measured now."""
    runs = rows_of("training.jsonl")
    own = [run for run in runs if is_of_the_world(run)]
    text = replaced(text, *GOALS, goals(own))
    text = replaced(text, *CHANCES, chances(own))
    text = replaced(text, START, END, tables(runs))
    return replaced(text, *EVIDENCE, evidence(rows_of("evidence.jsonl")))


def is_of_the_world(run: dict) -> bool:
    """Return whether a run used a generated world and its recipe, both as they are today."""
    changed = run["changes"] or run["corruption"] or run.get("earlier")
    return run["dataset"] == "world" and run["recipe"] is None and not changed


def rows_of(name: str) -> list[dict]:
    """Return the measurements in a file."""
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def replaced(text: str, start: str, end: str, table: str) -> str:
    """Return a text with a new table between two marks."""
    before, _, rest = text.partition(start)
    return f"{before}{start}\n{table}\n{end}{rest.partition(end)[2]}"


def evidence(runs: list[dict]) -> str:
    """Return the table of each training's evidence, from two measurements with different seeds."""
    machines = sorted({run["machine"] for run in runs})
    lines = [f"Measured on: {'; '.join(machines)}.\n"]
    lines.append("| | trained in | dev | loss | p | likeliest of four | least cosine |")
    lines.append("|---|---|---|---|---|---|---|")
    cases = list(dict.fromkeys(run["case"] for run in runs))
    for case in cases:
        rows = [run for run in runs if run["case"] == case]
        loss = " to ".join(f"{loss:.2f}" for loss in sorted(run["loss"] for run in rows))
        p = " to ".join(f"1e{p:.0f}" for p in sorted(run["log10_p"] for run in rows))
        likeliest = min(run["likeliest_of_four"] for run in rows)
        first = rows[0]
        lines.append(
            f"| {first['variant']}: {first['words']} | {first['dtype']} | {first['dev']:.0%} | "
            f"{loss} | {p} | {likeliest:.0%} | {first['cosine']:.3f} |"
        )
    return "\n".join(lines) + "\n"


def tables(runs: list[dict]) -> str:
    """Return all tables of trainings, in Markdown."""
    earlier = [run for run in runs if run.get("earlier")]
    today = [run for run in runs if not run.get("earlier")]
    plain = [run for run in today if not run["changes"]]
    parts = [
        ("The data sets' recipes", [run for run in plain if not run["corruption"]], variant),
        ("Students' own corruptions", [run for run in plain if run["corruption"]], corruption),
        ("What was tried", [run for run in today if run["changes"]], tried),
        ("With the earlier world of 600 people and its recipe", earlier, tried),
    ]
    machines = sorted({run["machine"] for run in runs})
    head = f"Measured on: {'; '.join(machines)}.\n"
    return "\n".join([head, *(table(title, rows, name) for title, rows, name in parts if rows)])


def table(title: str, runs: list[dict], name: Callable[[dict], str]) -> str:
    """Return a table with a row for each configuration and processor, which combines its seeds."""
    rows: dict[tuple[str, str], list[dict]] = {}
    for run in runs:
        rows.setdefault((name(run), processor(run)), []).append(run)
    heads = "| | on | computed in | dev, each run | median | dev and test | minutes | CPU s | MiB |"
    lines = [f"### {title}\n", heads, "|---|---|---|---|---|---|---|---|---|"]
    for (key, on), group in rows.items():
        dev = [run["dev"] for run in sorted(group, key=lambda run: run["seed"])]
        # If other work shared the machine, the run's times are not meaningful.
        idle = [run["total_s"] / 60 for run in group if not run.get("busy")]
        minutes = f"{statistics.median(idle):.1f}" if idle else "not timed"
        paces = "; ".join(sorted({run["pace"] for run in group}))
        each = ", ".join(f"{share:.0%}" if share >= 0.2 else f"{share:.1%}" for share in dev)
        middle = statistics.median(dev)
        held_out = [
            sum(column)
            for column in zip(*(run.get("held_out") or () for run in group), strict=False)
        ]
        of_all = f"{held_out[0] / held_out[1]:.0%} of {held_out[1]}" if held_out else ""
        cpu = [run["cpu_s"] for run in group if "cpu_s" in run]
        cpu_s = f"{statistics.median(cpu):.0f}" if cpu else ""
        lines.append(
            f"| {key} | {on} | {paces} | {each} | {middle:.1%} | {of_all} | "
            f"{minutes} | {cpu_s} | {max(run['peak_mib'] for run in group)} |"
        )
    return "\n".join(lines) + "\n"


def variant(run: dict) -> str:
    """Return the name of a run's row in the first table."""
    # The recipe of the real data has the same name.
    recipe = f", {run['recipe']}" if run["recipe"] not in (None, run["dataset"]) else ""
    isa = ", AVX2" if run["isa"] == "avx2" else ""
    made = ""
    if run.get("world") is not None:
        people = run["people"] or (600 if run.get("earlier") else 400)
        made = f", {people} people, sentences {run['sentences']}"
    names = {"nopretrain": "vanilla without pretraining"}
    return f"{run['dataset']}{recipe}: {names.get(run['pipeline'], run['pipeline'])}{made}{isa}"


def corruption(run: dict) -> str:
    """Return the name of a run's row in the second table."""
    return f"{variant(run)}, {run['corruption'].replace('_', ' ')}"


def tried(run: dict) -> str:
    """Return the name of a run's row in the tables of what was tried."""
    name = corruption(run) if run["corruption"] else variant(run)
    changes = ", ".join(f"{key} {value}" for key, value in run["changes"].items())
    return f"{name}: {changes}" if changes else name


if __name__ == "__main__":
    sys.exit(main())
