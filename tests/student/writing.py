"""A student's written answers, and check_written in their folder."""

import shutil
from pathlib import Path

import check_written
from check_written import END, START
from tests.student.folder import Folder

SHEET = r"""\documentclass{article}
\newcommand{\answerspace}[1]{\begin{samepage}#1\end{samepage}}
% \answerspace{9z} is no question
\begin{document}
Report it. \answerspace{1d}
\answerspace{3c-i}
\answerspace{3c-ii}  \answerspace{3d}
\end{document}
"""
IDS = ["1d", "3c-i", "3c-ii", "3d"]
# Answers that LaTeX prints (tests/handout/test_pages.py), so that nothing is wrong with them.
FINE = [
    r"\(x_1 \leq x^2\), $y_1$, $$z_{1}^2$$, \[a_b\] and $a_1$$b_2$",
    "\\begin{equation*}\na_1 = b^2\n\\end{equation*}",
    "\\begin{align}\na_1 &= b^2 \\\\\nc &= d\n\\end{align}",
    "\\begin{tabular}{ll}%\na & b \\\\\nc & d\n\\end{tabular}",
    r"$\begin{pmatrix} a_1 & b \\ c & d \end{pmatrix}$",
    r"\verb|94% a_b & #|, \url{https://example.org/a_b?c=%20&d#e} and \label{a_b}\ref{a_b}",
    "\\begin{verbatim}\n94% a_b & c # $\n\\end{verbatim}",
    r"It prints ⁇Havana⁇□□, $x_{⁇}$ and $\mathrm{a}_b$",
    r"94\,\%, a\_b, b \& c, \#1, \$5 and \^{}",
    r"\newcommand{\half}[1]{\frac{#1}{2}}",
    r"Nguyễn Văn An, Trần Thị Hương, Łukasz, “so” – 2×3 … ½ €",
    r"$\text{if $x_1$ and } y_2$ and \ensuremath{x_1}",
    "{\\small%\n  small}",
]


def block(begin: str, end: str, text: str) -> str:
    return f"{begin}\n{START}\n{text}\n{END}\n{end}\n"


def submission(text: str = "Because.", declared: str = "none") -> str:
    """Return submission.tex with the same text in every place for an answer."""
    parts = ["% Type between the markers.\n"]
    parts += [block(f"\\{name}{{", "}", declared) for name in ("collaborators", "aitools")]
    parts += [
        f"% {name}: A question, \\begin{{answer}}{{no}}\n"
        + block(f"\\begin{{answer}}{{{name}}}", r"\end{answer}", text)
        for name in IDS
    ]
    return "\n".join(parts)


class Paper(Folder):
    """A folder of written answers."""

    @property
    def file(self) -> Path:
        return self.root / "written" / "submission.tex"

    def renew(self) -> None:
        """Create the folder again, with a sheet and an answer to each of its questions."""
        shutil.rmtree(self.root, ignore_errors=True)
        (self.root / "written").mkdir(parents=True)
        (self.root / "written" / "sheet.tex").write_text(SHEET, encoding="utf-8")
        self.write(submission())

    def write(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8", newline="\n")

    def check(self, *arguments: str) -> tuple[int, str, str]:
        return self.run(check_written.main, *arguments)

    def findings(self, text: str, answered: int) -> list[str]:
        """Return the findings on a text with so many answers that carry points."""
        self.write(text)
        code, out, err = self.check()
        *found, last = out.splitlines()
        assert last.startswith(f"{answered} of 4 questions are answered")
        assert (code, err) == (1 if found else 0, "")
        return found
