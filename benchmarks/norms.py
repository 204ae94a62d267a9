"""Plot how the gradient at initialisation changes with depth, for pre- and post-norm.

    python -m benchmarks.norms        takes seconds on one thread; writes the sheet's figure

The blocks are those of solutions/submission/building_blocks.py with Xavier-initialised weights (a
small version of the setting in section 3 of Xiong et al. 2020). The loss is the cross-entropy with
random classes; the gradient is taken with respect to the second matrix of the feed-forward part.
The picture, with the numbers as comments, is written to handout/figures/gradient_over_depth.tex.
"""

import math
import sys

import torch

from . import reference

reference.come_first()

from submission import building_blocks as blocks  # noqa: E402

FIGURE = reference.ROOT / "handout/figures/gradient_over_depth.tex"
DEPTHS = (1, 2, 4, 8, 16, 32)
SEEDS = range(8)
BATCH, LENGTH, CHANNELS, HEADS, CLASSES = 16, 16, 64, 4, 100
NORMS = ("pre", "post")
ENDS = ("first", "last")
TICKS = (0.05, 0.1, 0.2, 0.5)
COLOURS = {"pre": "blue!70!black", "post": "red!75!black"}
MARKS = {"pre": "+(-2pt, -2pt) rectangle +(2pt, 2pt)", "post": "circle[radius=2pt]"}

Rows = dict[tuple[str, str], list[float]]


def matrix(rows: int, columns: int, generator: torch.Generator) -> torch.Tensor:
    """Return a Xavier-initialised matrix: uniform with variance 2 / (rows + columns)."""
    limit = math.sqrt(6 / (rows + columns))
    drawn = torch.rand(rows, columns, generator=generator, dtype=torch.float64)
    return ((2 * drawn - 1) * limit).requires_grad_()


def gradients(norm: str, depth: int, seed: int) -> list[float]:
    """Return each block's gradient norm with respect to its second feed-forward matrix."""
    generator = torch.Generator().manual_seed(seed)
    size = (BATCH, LENGTH, CHANNELS)
    x = torch.randn(size, generator=generator, dtype=torch.float64)
    targets = torch.randint(CLASSES, (BATCH * LENGTH,), generator=generator)
    seconds = []
    for _ in range(depth):
        query, key, value, out = (matrix(CHANNELS, CHANNELS, generator) for _ in range(4))
        first = matrix(CHANNELS, 4 * CHANNELS, generator)
        second = matrix(4 * CHANNELS, CHANNELS, generator)
        seconds.append(second)

        def attention(z, query=query, key=key, value=value, out=out):
            q, k, v = (blocks.split_heads(z @ m, HEADS) for m in (query, key, value))
            return blocks.merge_heads(blocks.scaled_dot_product_attention(q, k, v)) @ out

        def mlp(z, first=first, second=second):
            return (z @ first).relu() @ second

        x = blocks.block(x, attention, mlp, norm)
    if norm == "pre":  # pre-norm models end with a final norm
        x = blocks.layer_norm(x)
    scores = (x @ matrix(CHANNELS, CLASSES, generator)).flatten(0, 1)
    torch.nn.functional.cross_entropy(scores, targets).backward()
    return [weight.grad.norm().item() for weight in seconds]


def measure(depths: tuple[int, ...] = DEPTHS) -> Rows:
    """Return means over seeds for each depth, by kind of norm and for the first and last block.

    They are rounded to three significant digits, because further digits may differ by machine.
    """
    rows: Rows = {(norm, end): [] for norm in NORMS for end in ENDS}
    for norm in NORMS:
        for depth in depths:
            drawn = [gradients(norm, depth, seed) for seed in SEEDS]
            for end, place in zip(ENDS, (0, -1), strict=True):
                mean = sum(one[place] for one in drawn) / len(drawn)
                rows[norm, end].append(float(f"{mean:.3g}"))
    return rows


def picture(rows: Rows) -> str:
    """Draw the figure with logarithmic axes: 1.6 cm per doubling of depth, 5 cm per decade."""
    lines = [
        "% Made by benchmarks/norms.py. Lines differ by marks and dashes, not by colour alone.",
        f"% blocks: {' '.join(map(str, DEPTHS))}",
        *(f"% {n} {e}: {' '.join(map(str, row))}" for (n, e), row in rows.items()),
        r"\begin{tikzpicture}",
        r"  \draw[thin] (-0.3, -0.2) rectangle (10.1, 5.8);",
        r"  \node at (4.9, -1.1) {number of blocks};",
        r"  \node[rotate=90] at (-1.5, 2.8) {norm of the gradient};",
    ]
    for depth in DEPTHS:
        place = f"({right(depth):.2f}, -0.2)"
        lines.append(rf"  \draw {place} -- +(0, 0.12) node[below=5pt] {{{depth}}};")
    for gradient in TICKS:
        place = f"(-0.3, {up(gradient):.2f})"
        lines.append(rf"  \draw {place} -- +(0.12, 0) node[left=5pt] {{{gradient}}};")
    for (norm, end), row in rows.items():
        places = [f"({right(d):.2f}, {up(g):.2f})" for d, g in zip(DEPTHS, row, strict=True)]
        style = f"{COLOURS[norm]}{', densely dashed' * (end == 'first')}"
        # Move the labels of lines that end close to each other apart.
        label = rf"node[black, right=4pt, yshift={3 * (end == 'last')}pt] {{{norm}, {end}}}"
        lines.append(rf"  \draw[thick, {style}] {' -- '.join(places)} {label};")
        lines += [rf"  \fill[{COLOURS[norm]}] {place} {MARKS[norm]};" for place in places]
    return "\n".join([*lines, r"\end{tikzpicture}", ""])


def right(depth: int) -> float:
    """Return the horizontal position of a depth, in cm."""
    return 1.6 * math.log2(depth)


def up(gradient: float) -> float:
    """Return the vertical position of a gradient norm, in cm."""
    return 5 * math.log10(gradient / TICKS[0])


def main() -> int:
    """Measure, and write the figure."""
    torch.set_num_threads(1)
    FIGURE.write_text(picture(measure()), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
