"""Convert the sheet to one self-contained HTML file with MathML, using pandoc.

pandoc reads LaTeX, but doesn't know our style file, so it gets commands and environments that it
knows. handout/web/ has its filter, page.lua, and the page's template. Figures are drawn by TeX and
embedded as SVG, with the alternative texts of figures.toml.
"""

import base64
import html
import json
import re
import subprocess
from pathlib import Path
from threading import Lock

import pypandoc  # type: ignore[import-untyped]  # it has no annotations

from .description import Figure
from .templates import HandoutError
from .typeset import require, typeset

# Our environments, and those that pandoc knows.
ENVIRONMENTS = {
    "shell": "verbatim",
    "listing": "verbatim",
    "dialogue": "description",
    "shortlist": "itemize",
    "references": "enumerate",
}
TABLES = {"worked": "ll", "overview": "llllll", "practicelist": "lllll", "commandtable": "lllll"}
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
SVG = "data:image/svg+xml;base64,"
# They refer to nothing, so one run of TeX is enough: it leaves no files to read in a second one.
DRAWINGS = r"""\nofiles
\documentclass[multi=drawing]{standalone}
\usepackage{handout}
\newenvironment{drawing}{}{}
\begin{document}"""
_drawn: dict[tuple[tuple[str, bytes], ...], dict[str, bytes]] = {}  # by what they are made from
_DRAWING = Lock()
# Of a page: what isn't words.
NOT_WORDS = re.compile(r"<(annotation|pre|code|style|script)\b.*?</\1>", re.DOTALL)


def page(
    source: str, title: str, intro: str, figures: dict[str, Figure], folder: Path, given: Path
) -> str:
    """Return the text of the HTML file.

    Args:
        source: the sheet, rendered for the web.
        title, intro: plain text: the page's title, and the line below it.
        figures: by name, those that the sheet may have.
        folder: has figures/NAME.tex and handout.sty; drawings are made there.
        given: handout/web/, with the page's template, filter and style, and interactive figures.

    Raises:
        HandoutError: a tool is missing, or the sheet uses what pandoc can't read.
    """
    names = [name for name in figures if f"figures/{name}.svg" in source]
    drawings = {
        name: {"alt": figures[name].alt, "source": SVG + base64.b64encode(drawn).decode()}
        for name, drawn in (draw(names, folder) if names else {}).items()
    }
    variables = {
        "title": html.escape(title),
        "intro": html.escape(intro),
        "style": (given / "style.css").read_text(encoding="utf-8"),
        "scripts": [
            path.read_text(encoding="utf-8")
            for path in sorted(given.glob("*.js"))
            if f"@interactive:{path.stem}@" in source
        ],
    }
    known = folder / "page.json"
    known.write_text(json.dumps({"given": str(given), "figures": drawings}), encoding="utf-8")
    options = ["--shift-heading-level-by=1", "--wrap=none", f"--metadata=page={known}"]
    options += [f"--lua-filter={given / 'page.lua'}", f"--template={given / 'template.html'}"]
    options += [f"--variable-json={name}={json.dumps(value)}" for name, value in variables.items()]
    try:
        text = pypandoc.convert_text(prepare(source), "html5", "latex", extra_args=options)
    except RuntimeError as error:
        words = str(error).partition("\nstack traceback")[0].split()  # of the filter
        raise HandoutError(f"pandoc: {' '.join(words)[-300:]}") from None
    text = re.sub(r"<th\b[^>]*></th>", "<td></td>", text)  # a table's empty corner heads nothing
    if left := re.findall(r"figures/\S+|\\[a-zA-Z]+\{[^<]{0,30}", NOT_WORDS.sub("", text)):
        raise HandoutError(f"the web page still contains LaTeX: {left[0]!r}")
    return text


def prepare(source: str) -> str:
    """Return the sheet with environments and commands that pandoc knows."""
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
    return COMMANDS + source


def draw(names: list[str], folder: Path) -> dict[str, bytes]:
    """Return figures as SVG; those that a folder has are drawn once for all documents."""
    given = [*sorted(folder.glob("figures/*.tex")), folder / "handout.sty", folder / "letters.tex"]
    known = tuple((path.name, path.read_bytes()) for path in given)
    with _DRAWING:
        if known not in _drawn:
            _drawn[known] = _draw([path.stem for path in given[:-2]], folder)
        return {name: _drawn[known][name] for name in names}


def _draw(names: list[str], folder: Path) -> dict[str, bytes]:
    """Draw figures: TeX makes a page of each."""
    require("pdftocairo")
    pages = [
        rf"\begin{{drawing}}\input{{figures/{name}.tex}}\unskip\end{{drawing}}" for name in names
    ]
    text = "\n".join([DRAWINGS, *pages, r"\end{document}", ""])
    (folder / "drawings.tex").write_text(text, encoding="utf-8")
    pdf = typeset(folder, "drawings.tex")
    drawn = {}
    for number, name in enumerate(names, 1):
        command = ["pdftocairo", "-svg", "-f", f"{number}", "-l", f"{number}", str(pdf), "-"]
        drawn[name] = subprocess.run(command, capture_output=True, check=True).stdout
    return drawn
