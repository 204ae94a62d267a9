"""The sheet as one self-contained HTML file, by pandoc, with MathML.

pandoc reads LaTeX but knows neither our style file nor numbers of equations: both are put in its
words first. Figures are drawn by TeX and set in as SVG, with the words of figures.toml for those
who can't see them.
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

# Our environments in pandoc's words.
ENVIRONMENTS = {
    "shell": "verbatim",
    "listing": "verbatim",
    "dialogue": "description",
    "shortlist": "itemize",
    "references": "enumerate",
}
COMMANDS = r"""
\newcommand{\file}[1]{\texttt{#1}}
\newcommand{\code}[1]{\texttt{#1}}
\newcommand{\lit}[1]{\texttt{#1}}
\newcommand{\maskchar}{⁇}
\newcommand{\padchar}{□}
\newcommand{\sheettitle}[4]{}
\newcommand{\handinhead}{}
\newcommand{\textvisiblespace}{␣}
\newcommand{\sheetpart}[3]{\section{#1 #2}\label{#3}}
\newcommand{\frontsection}[1]{\section{#1}}
\newcommand{\question}[5]{\subsection{#1(#2) #3 [#4]}\label{#5}}
\newcommand{\subquestion}[3]{\subsubsection{Part #1 [#2]}\label{#3}}
\newcommand{\answerspace}[1]{}
"""
STYLE = """
:root { --ink: #1a1a1a; --link: #003c8c; --line: #8a8a8a; --shade: #f2f2f2; }
body { color: var(--ink); background: #fff; font: 1.05rem/1.55 Georgia, serif; margin: 0 auto;
  max-width: 46rem; padding: 1.5rem; }
h1, h2, h3, h4 { font-family: system-ui, sans-serif; line-height: 1.25; margin: 1.8em 0 .5em; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.35rem; } h3 { font-size: 1.1rem; }
h4 { font-size: 1rem; }
a { color: var(--link); } a:focus, pre:focus { outline: 3px solid var(--link); }
code, pre { font: .92em/1.5 ui-monospace, Consolas, monospace; }
code { overflow-wrap: anywhere; }
pre code { overflow-wrap: normal; }
pre { background: var(--shade); border-left: 4px solid var(--line); overflow-x: auto;
  padding: .7rem 1rem; }
table { border-collapse: collapse; } td { padding: .15rem .8rem .15rem 0; vertical-align: top; }
figure { margin: 1.5rem 0; text-align: center; } figure img { max-width: 100%; }
details { border-left: 4px solid var(--line); margin: 1rem 0; padding-left: 1rem; }
summary { cursor: pointer; font-weight: bold; } summary:focus { outline: 3px solid var(--link); }
math[display="block"] { margin: .8rem 0; overflow-x: auto; }
.skip { position: absolute; left: -999rem; } .skip:focus { position: static; }
nav ul { list-style: none; padding-left: 1rem; }
@media (prefers-color-scheme: dark) { :root { --ink: #eaeaea; --link: #9cc4ff; --line: #999;
  --shade: #262626; } body { background: #141414; } figure img { background: #fff; } }
"""


def page(source: str, title: str, intro: str, figures: dict[str, dict], folder: Path) -> str:
    """Return the text of the HTML file.

    Args:
        source: the sheet, rendered for the web.
        title, intro: plain text: the page's title, and the line below it.
        figures: as in figures.toml.
        folder: holds figures/NAME.tex and handout.sty; drawings are made there.

    Raises:
        HandoutError: a tool is missing, or the sheet uses what pandoc can't read.
    """
    body = folded(_convert(prepare(source)))
    for name, figure in figures.items():
        body = _with_figure(body, name, figure["alt"], folder)
    if left := re.findall(r"figures/\S+|\\[a-zA-Z]+\{[^<]{0,30}", _without_math(body)):
        raise HandoutError(f"the web page still holds LaTeX: {left[0]!r}")
    # What may be wider than a small screen can be reached, and scrolled, by the keyboard.
    body = body.replace("<pre", '<pre tabindex="0"')
    body = body.replace('<math display="block"', '<math tabindex="0" display="block"')
    contents = _contents(body)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<a class="skip" href="#sheet">To the text</a>
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
</body>
</html>
"""


def prepare(source: str) -> str:
    """Put the sheet in pandoc's words: environments, numbers of equations and figures, commands."""
    source = source.replace("\\begin{document}", "\\begin{document}\n", 1)
    for ours, theirs in ENVIRONMENTS.items():
        source = re.sub(rf"\\(begin|end)\{{{ours}\}}", rf"\\\1{{{theirs}}}", source)
    source = source.replace(r"\begin{worked}", r"\begin{tabular}{ll}")
    source = source.replace(r"\end{worked}", r"\end{tabular}")
    source = re.sub(r"\\paragraph\{([^{}]*)\}", r"\n\n\\textbf{\1}", source)
    # -{}-: two hyphens in print.
    source = source.replace("-{}-", "--")
    source = re.sub(r"\\setlength\{\\answerheight\}\{\S+\}\n", "", source)
    return COMMANDS + _numbered(source)


def _numbered(source: str) -> str:
    equations = re.findall(r"\\label\{(eq:[^}]+)\}", source)
    figures = re.findall(r"\\label\{(fig:[^}]+)\}", source)
    for number, label in enumerate(equations, 1):
        source = source.replace(rf"\eqref{{{label}}}", f"({number})")
        pattern = rf"\\label\{{{label}\}}(.*?)\\end\{{equation\}}"
        found = re.search(pattern, source, re.DOTALL)
        if found is None:
            raise HandoutError(f"the label {label} stands outside of an equation")
        inside = rf"{found[1].rstrip()} \qquad ({number})" + "\n" + r"\end{equation}"
        source = source[: found.start()] + inside + source[found.end() :]
    for number, label in enumerate(figures, 1):
        source = source.replace(rf"\ref{{{label}}}", str(number))
        source = source.replace(r"\caption{", rf"\caption{{Figure {number}: ", 1)
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
    # pandoc repeats the caption for screen readers where there is no other text; ours has one.
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


def _contents(body: str) -> str:
    """Return links to the sections."""
    found = re.findall(r'<h2[^>]* id="([^"]+)"[^>]*>(.*?)</h2>', body, re.DOTALL)
    items = [f'<li><a href="#{key}">{title}</a></li>' for key, title in found]
    return "\n".join(["<ul>", *items, "</ul>"])


def _without_math(body: str) -> str:
    body = re.sub(r"<annotation.*?</annotation>", "", body, flags=re.DOTALL)
    return re.sub(r"<(pre|code).*?</\1>", "", body, flags=re.DOTALL)
