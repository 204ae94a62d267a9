"""Writes what inspection.py found as one self-contained HTML file: no network, no script.

jinja2 escapes all text. Attention maps are small grey pictures; the text next to them says what
they show.
"""

from __future__ import annotations

import base64
import io

import jinja2
import torch

from .inspection import Inspected

SHOWN = 3  # positions that the text names
CELL = 14  # pixels of a weight in a large map
MARGIN = 18  # pixels next to a large map, for its characters
VISIBLE = {" ": "␣", "\n": "↵"}

TEMPLATE = """\
{% macro large(picture, characters, name) %}
{% set inner = cell * characters | length %}
{% set size = inner + margin %}
<svg width="{{ size }}" height="{{ size }}" viewBox="0 0 {{ size }} {{ size }}" role="img" \
aria-label="{{ name }}: each row's position looks at the columns' positions">
<image class="map" href="{{ picture }}" x="{{ margin }}" y="{{ margin }}" \
width="{{ inner }}" height="{{ inner }}"/>
{% for character in characters %}
{% set middle = margin + cell * (loop.index0 + 0.5) %}
<text x="{{ middle }}" y="{{ margin - 5 }}">{{ character | visible }}</text>\
<text x="{{ margin / 2 }}" y="{{ middle + 4 }}">{{ character | visible }}</text>
{% endfor %}
</svg>
{% endmacro %}
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ question }}</title>
<style>
:root { color-scheme: light dark; --line: #767676; --ink: #1a1a1a; --paper: #fff; --bar: #9cc3e6 }
@media (prefers-color-scheme: dark) {
  :root { --line: #9a9a9a; --ink: #f0f0f0; --paper: #161616; --bar: #24527a }
  .map { filter: invert(1) } }
* { box-sizing: border-box }
body { font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 84rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.5rem; overflow-wrap: anywhere } h2 { font-size: 1.3rem }
h3 { font-size: 1.1rem; margin: 1.5rem 0 .5rem } h4 { font-size: 1rem; margin: 1rem 0 .3rem }
.models { display: grid; gap: 0 2.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)) }
.models > section { min-width: 0 }
.answer { font-size: 1.2rem; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% }
caption { text-align: left }
th, td { text-align: left; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere }
.number { text-align: right; white-space: nowrap }
.number + * { padding-left: .8rem }
.bar { background: linear-gradient(var(--bar) 0 0) left / var(--share) 100% no-repeat }
code { font-family: ui-monospace, monospace }
.heads { display: grid; gap: .6rem;
  grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)) }
details { border: 1px solid var(--line); border-radius: .3rem; padding: .4rem; min-width: 0 }
details[open] { grid-column: 1 / -1 }
summary { cursor: pointer; font-size: .9rem }
summary img { display: block; width: 100%; max-width: 12rem; aspect-ratio: 1; margin-top: .3rem;
  border: 1px solid var(--line) }
.map { image-rendering: pixelated }
.wide { overflow-x: auto; margin: .6rem 0 }
.wide svg { display: block }
.wide text { font: 11px ui-monospace, monospace; fill: currentColor; text-anchor: middle }
.scale { display: inline-block; width: 8rem; height: .8rem; vertical-align: middle;
  border: 1px solid var(--line); background: linear-gradient(to right, #fff, #000) }
@media print { details { break-inside: avoid } }
</style>
</head>
<body>
<main>
<h1>{{ question }}</h1>
<p>
{% if recorded %}
The tables of people say {{ recorded }}.
{% else %}
The tables of people don't contain this question.
{% endif %}
Below, <code>{{ mask }}</code> is the MASK, which ends the question and the answer, and
<code>␣</code> is a space.
</p>
<div class="models">
{% for model in models %}
<section aria-labelledby="m{{ loop.index }}">
<h2 id="m{{ loop.index }}">{{ model.name }}</h2>
<p class="answer">{{ model.answer | visible or "(nothing)" }}</p>
<p>The probability of this answer is {{ model.probability | percent }}: the product of the
probabilities of its characters{% if model.ended %}, including the MASK that ends it{% else %}. It
does not end: the model wrote {{ model.steps | length }} characters without a MASK{% endif %}.</p>
<h3>Character by character</h3>
<table>
<thead><tr><th scope="col">Written</th><th scope="col" class="number">Probability</th>
<th scope="col">Next likeliest</th></tr></thead>
<tbody>
{% for step in model.steps %}
<tr><th scope="row"><code>{{ step.character | visible }}</code></th>
<td class="number bar" style="--share: {{ step.probability | width }}">\
{{ step.probability | percent }}</td>
<td>{% for character, probability in step.rivals %}\
<code>{{ character | visible }}</code> {{ probability | percent }}\
{{ ", " if not loop.last }}{% endfor %}</td></tr>
{% endfor %}
</tbody>
</table>
<h3>The likeliest places</h3>
{% if model.likeliest %}
<p>These are the likeliest of the {{ model.known }} places in the tables of people. All of these
places together have a probability of {{ model.known_share | percent }}; the rest belongs to all
other texts that the model might write.</p>
<table>
<thead><tr><th scope="col">Place</th><th scope="col" class="number">Probability</th></tr></thead>
<tbody>
{% for place, probability in model.likeliest %}
<tr><th scope="row">{{ place }}</th>
<td class="number bar" style="--share: {{ probability | width }}">{{ probability | percent }}</td>
</tr>
{% endfor %}
</tbody>
</table>
{% else %}
<p>The tables of people have no place that this model can write.</p>
{% endif %}
<h3>Attention</h3>
<p>Each row of a map is a position: question, MASK, answer, from top to bottom. It shows how much
that position looks at each position from left to right. Weights range from 0, the left end of
<span class="map scale" role="img" aria-label="a scale of greys"></span>, to 1, the right end.
(The grey level shows the square root, so that small weights are visible.) Click on a map to enlarge
it.</p>
{% for layer in model.layers %}
{% set number = loop.index %}
<h4>Layer {{ number }}</h4>
{% if layer.note %}
<p><strong>{{ layer.note }}</strong></p>
{% endif %}
{% if layer.weights is not none %}
<div class="heads">
{% for head in layer.weights %}
{% set name = "Layer " ~ number ~ ", head " ~ loop.index %}
{% set picture = head | png %}
<details>
<summary>Head {{ loop.index }}. The answer begins at <code>{{ mask }}</code>, which looks most at
{{ head[model.prompt - 1] | most(model.characters) }}.
<img class="map" src="{{ picture }}" alt="{{ name }}: a small map of its weights"></summary>
<div class="wide" role="group" tabindex="0" aria-label="{{ name }}, large">
{{ large(picture, model.characters, name) }}
</div>
<table>
<thead><tr><th scope="col">Writes</th><th scope="col">Looks most at</th></tr></thead>
<tbody>
{% for step in model.steps %}
{% set row = model.prompt - 1 + loop.index0 %}
<tr><th scope="row"><code>{{ step.character | visible }}</code></th>
<td>{{ head[row] | most(model.characters) }}</td></tr>
{% endfor %}
</tbody>
</table>
</details>
{% endfor %}
</div>
{% endif %}
{% else %}
<p>This model has no blocks to examine.</p>
{% endfor %}
</section>
{% endfor %}
</div>
</main>
</body>
</html>
"""


def page(question: str, recorded: str | None, mask: str, models: list[Inspected]) -> str:
    """Return the whole file.

    Args:
        question: the question, in words.
        recorded: the place in the tables of people, or None.
        mask: the MASK character.
        models: one, or several to show side by side.
    """
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "most": most,
        "percent": percent,
        "png": png,
        "visible": visible,
        "width": lambda share: f"{100 * share:.1f}%",
    }
    values = {"question": question, "recorded": recorded, "mask": mask, "models": models}
    return environment.from_string(TEMPLATE).render(values, cell=CELL, margin=MARGIN)


def visible(text: str) -> str:
    """Return a text with visible spaces and newlines."""
    return "".join(VISIBLE.get(character, character) for character in text)


def percent(share: float) -> str:
    """Return a share as a percentage: `93.1 %`, `< 0.1 %`."""
    return "< 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def most(weights: torch.Tensor, characters: list[str]) -> str:
    """List the positions with the largest weights of a row, shape (T,): `B (11) 45.0 %, ...`.

    Positions are counted from 1.
    """
    places = weights.argsort(descending=True, stable=True)[:SHOWN].tolist()
    return ", ".join(
        f"{visible(characters[place])} ({place + 1}) {percent(float(weights[place]))}"
        for place in places
    )


def png(weights: torch.Tensor) -> str:
    """Return weights, shape (T, T), as a grey picture of T by T pixels: a data URI."""
    from matplotlib import image

    data = io.BytesIO()
    shades = weights.clamp(0, 1).sqrt().cpu().numpy()
    image.imsave(data, shades, format="png", cmap="gray_r", vmin=0, vmax=1)
    return "data:image/png;base64," + base64.b64encode(data.getvalue()).decode("ascii")
