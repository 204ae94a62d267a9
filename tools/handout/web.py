"""Convert the sheet to one self-contained HTML file with MathML, using pandoc.

pandoc reads LaTeX, but knows neither our style file nor equation numbers, so both are replaced by
LaTeX that it knows. Figures are drawn by TeX and embedded as SVG, with the alternative texts of
figures.toml.
"""

import base64
import html
import re
import shutil
import subprocess
from pathlib import Path

import pypandoc  # type: ignore[import-untyped]  # it has no annotations

from .answers import folded
from .templates import HandoutError
from .typeset import MISSING, typeset

# Our environments, and those that pandoc knows.
ENVIRONMENTS = {
    "shell": "verbatim",
    "listing": "verbatim",
    "dialogue": "description",
    "shortlist": "itemize",
    "references": "enumerate",
}
TABLES = {"worked": "ll", "overview": "llll"}
COMMANDS = r"""
\newcommand{\file}[1]{\texttt{#1}}
\newcommand{\code}[1]{\texttt{#1}}
\newcommand{\lit}[1]{\texttt{#1}}
\newcommand{\command}[1]{\texttt{#1}}
\newcommand{\maskchar}{⁇}
\newcommand{\padchar}{□}
\newcommand{\sheettitle}[4]{}
\newcommand{\handinhead}{}
\newcommand{\textvisiblespace}{␣}
\newcommand{\sheetpart}[3]{\section{#1 #2}\label{#3}}
\newcommand{\frontsection}[1]{\section{#1}}
\newcommand{\question}[5]{\subsection{#1(#2) #3 [#4]}\label{#5}}
\newcommand{\subquestion}[3]{\subsubsection{Part #1 [#2]}\label{#3}}
\newcommand{\answerspace}[2][]{}
\newcommand{\incode}[1]{\textbf{In code.} #1}
\newcommand{\glued}[1]{#1}
\newcommand{\keepon}{}
\newcommand{\keepoff}{}
\newcommand{\mayendpage}{}
"""
# A page's own files, in handout/web/: NAME.html and, where there is one, NAME.js.
STYLE = "style.css"
INTERACTIVE = re.compile(r"<p>@interactive:(\w+)@</p>")
# Code of up to so many characters stays on one line, even on a phone; longer code may break.
WHOLE = 30
POINTS = re.compile(r"\s*\[[^]]*\]\s*$")  # at the end of a question's heading
RANGE = re.compile(r"(?<=[>\s])(\d+–\d+)(?=[<:])")  # `8–11` in a cell, `4–5: 1.5` of tests
BREAKS = re.compile(r"(?<=[_/.])(?=[\w-])")
# `sin` and `log` as pandoc writes them, with their neighbours; not `log_2`, with two children.
FUNCTION = re.compile(
    r"(</(?:mi|mn|msub|msup)>)?(?<!<msub>)(?<!<msup>)(?<!<munder>)"
    r'(<mrow><mi mathvariant="normal">\w+</mi><mo>&#8289;</mo></mrow>)'
    r"(?=(<(?:mi|mn|msub|msup)\b)?)"
)
THIN = '<mspace width="0.167em"></mspace>'
# An inline formula, with the punctuation that must not be separated from it.
PUNCTUATED = re.compile(r'[(“]?<math display="inline".*?</math>[.,;:?!)”’]*', re.DOTALL)


def page(
    source: str, title: str, intro: str, figures: dict[str, dict], folder: Path, given: Path
) -> str:
    """Return the text of the HTML file.

    Args:
        source: the sheet, rendered for the web.
        title, intro: plain text: the page's title, and the line below it.
        figures: as in figures.toml.
        folder: has figures/NAME.tex and handout.sty; drawings are made there.
        given: handout/web/, with the page's style and its interactive figures.

    Raises:
        HandoutError: a tool is missing, or the sheet uses what pandoc can't read.
    """
    body = folded(_convert(prepare(source)))
    for name, figure in figures.items():
        body = _with_figure(body, name, figure["alt"], folder)
    if left := re.findall(r"figures/\S+|\\[a-zA-Z]+\{[^<]{0,30}", _without_math(body)):
        raise HandoutError(f"the web page still contains LaTeX: {left[0]!r}")
    body = _with_anchors(_punctuated(_unbroken(_scrolling(_spaced(body)))))
    contents = _contents(body)
    body, scripts = _with_interactive(body, given)
    style = (given / STYLE).read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#sheet">Skip to the text</a>
<header>
<h1>{html.escape(title)}</h1>
<p>{html.escape(intro)}</p>
</header>
<nav aria-label="Contents">
{contents}
</nav>
<main id="sheet">
{body}
</main>
{scripts}</body>
</html>
"""


def prepare(source: str) -> str:
    """Return the sheet with environments, numbers and commands that pandoc knows."""
    source = source.replace("\\begin{document}", "\\begin{document}\n", 1)
    for ours, theirs in ENVIRONMENTS.items():
        source = re.sub(rf"\\(begin|end)\{{{ours}\}}", rf"\\\1{{{theirs}}}", source)
    for ours, columns in TABLES.items():
        # The environment itself stays around the table: pandoc makes it a class, for style.css.
        begins, ends = rf"\begin{{{ours}}}", rf"\end{{{ours}}}"
        source = source.replace(begins, rf"{begins}\begin{{tabular}}{{{columns}}}")
        source = source.replace(ends, rf"\end{{tabular}}{ends}")
    source = re.sub(r"\\(incode|glued)\b", r"\n\n\\\1", source)
    source = re.sub(r"\\paragraph\{([^{}]*)\}", r"\n\n\\textbf{\1}", source)
    # -{}-: two hyphens in print.
    source = source.replace("-{}-", "--")
    source = re.sub(r"\\setlength\{\\answerheight\}\{\S+\}\n", "", source)
    return COMMANDS + _numbered(source)


def _numbered(source: str) -> str:
    """Give equations and figures the numbers that they have in print, and link to them."""
    equations = re.findall(r"\\label\{(eq:[^}]+)\}", source)
    figures = re.findall(r"\\label\{(fig:[^}]+)\}", source)
    for number, label in enumerate(equations, 1):
        source = source.replace(rf"\eqref{{{label}}}", rf"\hyperref[{label}]{{({number})}}")
        pattern = rf"(\\label\{{{label}\}}.*?)\\end\{{equation\}}"
        found = re.search(pattern, source, re.DOTALL)
        if found is None:
            raise HandoutError(f"the label {label} is outside an equation")
        inside = rf"{found[1].rstrip()} \qquad ({number})" + "\n" + r"\end{equation}"
        source = source[: found.start()] + inside + source[found.end() :]
    for number, label in enumerate(figures, 1):
        source = source.replace(rf"\ref{{{label}}}", rf"\hyperref[{label}]{{{number}}}")
        before, _, after = source.partition(rf"\label{{{label}}}")
        start, _, caption = before.rpartition(r"\caption{")
        if not start:
            raise HandoutError(f"the label {label} is outside a figure")
        source = rf"{start}\caption{{Figure {number}: {caption}\label{{{label}}}{after}"
    return source


def _convert(source: str) -> str:
    try:
        return pypandoc.convert_text(
            source,
            "html5",
            format="latex",
            extra_args=["--mathml", "--shift-heading-level-by=1", "--wrap=none"],
        )
    except RuntimeError as error:
        raise HandoutError(f"pandoc: {str(error).strip()[-300:]}") from None


def _with_figure(body: str, name: str, alt: str, folder: Path) -> str:
    source = f'src="figures/{name}.svg"'
    if source not in body:
        return body
    drawn = base64.b64encode(draw(name, folder)).decode("ascii")
    tag = re.compile(rf"<img [^>]*{re.escape(source)}[^>]*>")
    image = f'<img src="data:image/svg+xml;base64,{drawn}" alt="{html.escape(alt)}">'
    body = tag.sub(lambda _: image, body)
    # pandoc hides captions from screen readers, as copies of the image's text; ours has its own.
    return body.replace('<figcaption aria-hidden="true">', "<figcaption>")


def draw(name: str, folder: Path) -> bytes:
    """Draw a figure as SVG."""
    if shutil.which("pdftocairo") is None:
        raise HandoutError(MISSING.format("pdftocairo"))
    text = r"\documentclass{standalone}\usepackage{handout}\begin{document}"
    text += rf"\input{{figures/{name}.tex}}\end{{document}}"
    (folder / f"{name}.tex").write_text(text, encoding="utf-8")
    pdf = typeset(folder, f"{name}.tex")
    drawn = subprocess.run(["pdftocairo", "-svg", str(pdf), "-"], capture_output=True, check=True)
    return drawn.stdout


def _scrolling(body: str) -> str:
    """Make what may be wider than a small screen reachable and scrollable by keyboard."""
    body = body.replace("<pre", '<pre tabindex="0"')
    body = body.replace('<math display="block"', '<math tabindex="0" display="block"')
    body = body.replace(
        "<table", '<div class="wide" tabindex="0" role="group" aria-label="Table">\n<table'
    )
    return body.replace("</table>", "</table>\n</div>")


def _unbroken(body: str) -> str:
    """Keep short code on one line; mark where longer code may break."""

    def marked(found: re.Match[str]) -> str:
        text = found[1]
        if len(html.unescape(text)) <= WHOLE:
            return f'<code class="whole">{text}</code>'
        return f"<code>{BREAKS.sub('<wbr>', text)}</code>"

    outside = re.split(r"(<pre.*?</pre>)", body, flags=re.DOTALL)
    outside[::2] = [re.sub(r"<code>([^<]*)</code>", marked, text) for text in outside[::2]]
    outside[::2] = [RANGE.sub(r'<span class="whole">\1</span>', t) for t in outside[::2]]
    return "".join(outside)


def _spaced(body: str) -> str:
    """Add TeX's thin spaces around functions: `cos i`, where pandoc gives `cosi`."""

    def apart(found: re.Match[str]) -> str:
        before, function, after = found.groups()
        return (before + THIN if before else "") + function + (THIN if after else "")

    return FUNCTION.sub(apart, body)


def _punctuated(body: str) -> str:
    """Keep punctuation on the line of its formula: browsers would break the line before it."""

    def kept(found: re.Match[str]) -> str:
        text = found[0]
        alone = text.startswith("<") and text.endswith("</math>")
        return text if alone else f'<span class="whole">{text}</span>'

    return PUNCTUATED.sub(kept, body)


def _with_anchors(body: str) -> str:
    """Give each labelled equation an id to link to."""
    pieces = body.split('<math tabindex="0" display="block"')
    for place, piece in enumerate(pieces[1:], 1):
        label = re.search(r"\\label\{(eq:[^}]+)\}", piece.partition("</math>")[0])
        anchor = f' id="{label[1]}"' if label else ""
        pieces[place] = f'<math tabindex="0" display="block"{anchor}{piece}'
    return "".join(pieces)


def _with_interactive(body: str, given: Path) -> tuple[str, str]:
    """Insert interactive figures; return the body, and the scripts that follow it."""
    scripts = []

    def placed(found: re.Match[str]) -> str:
        script = given / f"{found[1]}.js"
        if script.is_file():
            scripts.append(f"<script>\n{script.read_text(encoding='utf-8')}</script>\n")
        return (given / f"{found[1]}.html").read_text(encoding="utf-8")

    return INTERACTIVE.sub(placed, body), "".join(scripts)


def _contents(body: str) -> str:
    """Return links to the sections, and below each to its questions."""
    items: list[tuple[str, list[str]]] = []
    for level, key, title in re.findall(
        r'<h([23])[^>]* id="([^"]+)"[^>]*>(.*?)</h\1>', body, re.DOTALL
    ):
        link = f'<a href="#{key}">{POINTS.sub("", title)}</a>'
        if level == "2":
            items.append((link, []))
        else:
            items[-1][1].append(f"<li>{link}</li>")
    rows = [
        f"<li>{link}" + (f"<ul>{''.join(below)}</ul>" if below else "") + "</li>"
        for link, below in items
    ]
    return "\n".join(["<ul>", *rows, "</ul>"])


def _without_math(body: str) -> str:
    body = re.sub(r"<annotation.*?</annotation>", "", body, flags=re.DOTALL)
    return re.sub(r"<(pre|code).*?</\1>", "", body, flags=re.DOTALL)
