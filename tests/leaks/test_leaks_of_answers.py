"""The leak check finds sentences and formulas of written answers, however they are set."""

from tests import pinned
from tests.leaks.leaking import FORMULA, SENTENCE, WRITTEN
from tools import leaks
from tools.leaks import kept


def test_sentences_of_written_answers_are_found_however_they_are_set(secrets):
    first, small, rubric = (
        f"holds solutions/written/averaging.tex.j2, line {n}" for n in (4, 10, 14)
    )
    cases = [
        (first, SENTENCE),
        (first, SENTENCE.upper().replace(" ", "\n")),
        (first, SENTENCE.replace("two", r"\textbf{two}").replace("keys", r"\emph{keys}")),
        (first, SENTENCE.replace("two values", "**two** values")),
        (first, f"% {SENTENCE}"),
        (small, "any other values receive a weight that is exponentially small"),
        (
            rubric,
            r"Says that the query is some \mbox{large} multiple of the keys\textquotesingle sum",
        ),
        (
            "holds solutions/written/slips.tex.j2, line 1",
            "The sheets of two courses write the mean",
        ),
    ]
    for words, text in cases[:-1]:
        for name in ("a.tex", "a.md"):
            assert leaks.find(name, text.encode(), secrets) == [f"{name}: {words}"], text
    # No longer a sentence, or one with fewer letters than are searched for.
    assert leaks.find("a.tex", SENTENCE.replace("two", "three").encode(), secrets) == []
    assert leaks.find("a.tex", cases[-1][1].encode(), secrets) == []


def test_formulas_of_written_answers_are_found(secrets):
    words = "holds solutions/written/averaging.tex.j2, line 7"
    for text in (
        rf"\begin{{equation}}{FORMULA}\end{{equation}}",
        "$" + FORMULA.replace(" ", "") + "$",
        f"<annotation>{FORMULA.replace('&', '&amp;')}</annotation>",
    ):
        assert leaks.find("a.tex", text.encode(), secrets) == [f"a.tex: {words}"]
    assert leaks.find("a.tex", rb"\(q = \beta\,(k_a + k_b)\)", secrets) == []


def test_an_answer_to_practice_is_kept_once_an_edition_gives_points_for_it(tmp_path):
    answer = tmp_path / "handout/answers/blocks_heads.tex.j2"
    answer.parent.mkdir(parents=True)
    answer.write_text(WRITTEN, encoding="utf-8")
    described = tmp_path / "assignment.toml"
    described.write_text(pinned.text(), encoding="utf-8")
    assert leaks.secrets_of(tmp_path) == []
    last = '  { number = "3c", topic = "consider_unseen", written = 2 },\n'
    for points in ("written = 1", "coding = 6"):
        line = f'  {{ number = "4b", topic = "blocks_heads", {points} }},\n'
        text = pinned.text()
        assert last in text
        described.write_text(text.replace(last, last + line), encoding="utf-8")
        found = leaks.find("a.md", SENTENCE.encode(), leaks.secrets_of(tmp_path))
        assert found == ["a.md: holds handout/answers/blocks_heads.tex.j2, line 4"]


def test_what_is_looked_for_is_what_stands_in_print():
    """No letters of commands, formulas or jinja are included, and none in between are left out."""
    source = r"""
Short. Shorter. % A comment, which is never printed, holds nothing that could be found.
A na\"{i}ve r\'eader of this \emph{first sentence} would pass 100\% of it on. The second sentence of
the paragraph stands in another line, and ends here.  Short again, which is
not enough. And this one, too. It is cut short by what \(E = m c^2\) stands for, and then by
something else of that kind <<by.jinja>> but for all that there are letters enough to look for here,
and at last by \unknown{something that sets \textit{its own} argument elsewhere} and goes on
with all that is left to say after this~\cite{somebody} before an end that comes
as a surprise to many readers of \LaTeX
The cell on the left of this table's row stands here
& and its second cell stands over there on its right
\begin{align*}
  a &= b_1 + b_2 + b_3 + b_4 + b_5 + b_6,  % why \\
  \label{eq:name} c &= d \\
    &= e_1 + e_2 << "jinja" >> + e_3 + e_4 + e_5 + e_6 + e_7 + e_8 + e_9. \\
\end{align*}
"""
    prose = [
        (3, "A naive reader of this first sentence would pass of it on"),
        (3, "The second sentence of the paragraph stands in another line and ends here"),
        (4, "Short again which is not enough And this one too It is cut short by what"),
        (5, "stands for and then by something else of that kind"),
        (6, "but for all that there are letters enough to look for here and at last by"),
        (7, "something that sets its own argument elsewhere"),
        (7, "and goes on with all that is left to say after this"),
        (8, "before an end that comes as a surprise to many readers of"),
        (10, "The cell on the left of this table's row stands here"),
        (11, "and its second cell stands over there on its right"),
    ]
    formulas = [(13, "a&=b_1+b_2+b_3+b_4+b_5+b_6"), (15, "+e_3+e_4+e_5+e_6+e_7+e_8+e_9")]
    expected = [(line, leaks.letters(text)) for line, text in prose] + formulas
    found = [(secret.source, secret.text) for secret in kept.of_latex(source, "x")]
    assert found == [(f"x, line {line}", text) for line, text in expected]
