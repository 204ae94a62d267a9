"""The leak check finds what students mustn't get, wherever it hides, and passes on what they do."""

import base64
import json
import random
import struct
import subprocess
import zipfile
import zlib
from io import BytesIO

import pytest
from project import ROOT, python

from tools import leaks, starter, world
from tools.leaks import allowed, kept, search

# Long enough to be looked for by itself; as of the reference.
LINE = "prefix, masked = text[:start], text[start : start + length]"
CODE = "holds solutions/submission/part.py, line 3"
SEED = "123456789012"
SENTENCE = "Averaging two values needs a query that points halfway between their keys."
FORMULA = r"q = \beta\,(k_a + k_b), \qquad \beta \gg 0,"
SCRIPT = "".join(f"x{i} = {i}\n" for i in range(10, 99))  # lines of six characters and white space
WRITTEN = rf"""
<# staff only #>
\begin{{solution}}
Averaging \emph{{two}} values needs a query that points half\-way between  % a comment
their keys. So <<scale>> is large, and with an infinite one the weights are equal:
\[
{FORMULA} \label{{eq:q}}
\]
<% if extra %>
Any other values receive a weight that is exponentially small: \(a_c \approx 0\).
<% endif %>
\end{{solution}}
\begin{{rubric}}
\criterion{{1 point}}{{Says that the query is some large multiple of the keys' sum.}}
\end{{rubric}}
"""


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    """A project with one solution, one hidden test, one written answer, and a data set."""
    repo = tmp_path_factory.mktemp("repo")
    texts = {
        "submission/part.py": "def f(text, start, length):\n"
        "    ### START CODE HERE ###\n"
        f"    {LINE}\n"
        "    a = start + 1\n"
        "    b = a * length\n"
        "    return b\n"
        "    ### END CODE HERE ###\n",
        "hidden/part.py": "def judge(case, got):\n    case.expect(got.mean() > 0.22, 'too_small')\n"
        "    return case.arguments('--seed', '--mask', '\u2047')\n",
        "written/averaging.tex.j2": WRITTEN,
        "written/slips.tex.j2": r"\item The sheets of two courses write the mean $\mu$ as $\pi$.",
        "written/plots.py": SCRIPT,
    }
    for name, text in texts.items():
        (repo / "solutions" / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / "solutions" / name).write_text(text, encoding="utf-8")
    assert world.main(["--dataset", "smoke", "--seed", SEED, "--out", str(repo)]) == 0
    return repo


@pytest.fixture(scope="module")
def secrets(repo):
    return leaks.secrets_of(repo)


@pytest.fixture(scope="module")
def answer(repo):
    """A question of the test split, and its place."""
    rows = (repo / "solutions/data/birth_test.tsv").read_text(encoding="utf-8").splitlines()
    return rows[3].split("\t")


def zipped(name, content):
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as writer:
        writer.writestr(name, content)
    return packed.getvalue()


def notebook(**output):
    cell = {"cell_type": "code", "outputs": [output], "source": ["x = 1\n"], "metadata": {}}
    return json.dumps({"cells": [cell], "metadata": {}}).encode()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(*chunks):
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + chunk(b"IEND", b"")


def pdf(page="", info="", objects=(), catalog=""):
    """A PDF of one page, by hand; `objects` are numbered from 6."""
    shown = f"BT /F1 9 Tf 40 700 Td 12 TL {page} ET".encode("latin-1")
    bodies = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>".encode(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
        b" /Resources << /Font << /F1 << /Subtype /Type1 /BaseFont /Courier >> >> >> >>",
        stream(shown),
        f"<< {info} >>".encode(),
        *objects,
    ]
    written, places = b"%PDF-1.7\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(bodies) + 1
    end = b"trailer << /Size %d /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    start = len(written)
    return written + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + end % (size, start)


def stream(data, entries=b""):
    """Packed, so that nothing stands in the file's bytes."""
    data = zlib.compress(data)
    start = b"<< /Length %d /Filter /FlateDecode %s >>\nstream\n" % (len(data), entries)
    return start + data + b"\nendstream"


def in_utf16(text):
    return f"<{text.encode('utf-16').hex()}>"


# ---------------------------------------------------------------- texts, zips, compiled code


def test_each_kind_of_leak_is_found(secrets, answer):
    cases = {
        "a.py": f"if x:\n  {LINE}\n",
        "spaces.py": LINE.replace(" ", "   "),
        "wrapped.tex": LINE.replace(", ", ",\n"),
        "short lines in a row.py": "a = start+1\nb = a*length",
        "hidden.txt": "case.expect(got.mean() > 0.22, 'too_small')",
        "typeset.txt": "case.expect(got.mean() > 0.22, \u2019too_small\u2019)",
        "escaped.tex": r"\code{case.expect(got.mean() > 0.22, 'too\_small')}",
        "answer.md": f"as in {answer[0]}\t{answer[1]}.",
        "pairs.txt": str([tuple(answer)]),
        "seed.toml": f"# made with {SEED}",
        "result.json": json.dumps({"output": f'got "x"\n{LINE}'}),
        "lines.log": json.dumps("    a = start + 1\n    b = a * length")[1:],
        "quotes.log": json.dumps("return case.arguments('--seed', '--mask', '\u2047')")[1:],
        "dashes.md": "return case.arguments('\u2013seed', '\u2013mask', '\u2047')",
        "typeset.bin": b"\0\1\2" + "case.expect(got.mean() > 0.22, \u2019too_small\u2019)".encode(),
        "utf-16.txt": LINE.encode("utf-16"),
        "script.py": SCRIPT[90:243],
    }
    for name, text in cases.items():
        content = text if isinstance(text, bytes) else text.encode()
        found = leaks.find(name, content, secrets)
        assert len(found) == 1 and ": holds solutions/" in found[0], (name, found)
        assert found[0].startswith(name), found


def test_zips_in_zips_their_names_and_comments_are_opened(secrets):
    inner = zipped("deep.txt", LINE)
    assert leaks.find("a.zip", zipped("b.zip", inner), secrets) == [f"a.zip/b.zip/deep.txt: {CODE}"]
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as writer:
        writer.writestr(f"{SEED}.txt", "")
        writer.comment = LINE.encode()
    assert leaks.find("a.zip", packed.getvalue(), secrets) == [
        f"a.zip/{SEED}.txt (name): holds solutions/data/seed.txt",
        f"a.zip (comment): {CODE}",
    ]


def test_what_is_not_to_be_read_is_refused_whatever_it_holds(secrets):
    assert leaks.find("m.pyc", b"\0", secrets) == ["m.pyc: compiled Python"]
    assert "packed with gzip" in leaks.find("a.svgz", b"\x1f\x8b\x08", secrets)[0]
    broken = bytearray(zipped("x.txt", b"y" * 100))
    broken[40] ^= 255
    (found,) = leaks.find("a.zip", bytes(broken), secrets)
    assert found.startswith("a.zip: a zip that can't be read: Bad CRC")


def test_harmless_texts_pass(repo, secrets):
    question = (repo / "src/data/birth_test_inputs.tsv").read_text(encoding="utf-8")
    wiki = (repo / "src/data/wiki.txt").read_text(encoding="utf-8")
    for text in (question, wiki, "a = start + 1", "b = a * length", "return b", SEED[:-1]):
        assert leaks.find("x", text.encode(), secrets) == []
        assert leaks.find("x.ipynb", notebook(text=text), secrets) == []
    # What is meant to be unreadable is beyond a comparison of texts.
    assert leaks.find("x", base64.b64encode(LINE.encode()), secrets) == []


def test_all_texts_that_contain_a_secret_are_found_and_no_others():
    draw = random.Random(1)
    texts = {"".join(draw.choices("ab", k=draw.randint(8, 30))) for _ in range(300)}
    known = [kept.Secret(text, text) for text in sorted(texts)]
    index = search.Index(known)
    counted = 0
    for _ in range(50):
        text = "".join(draw.choices("ab", k=draw.randint(0, 700)))
        expected = {secret for secret in known if secret.text in text}
        assert index.found(text) == expected
        counted += len(expected)
    assert counted > 100


# ---------------------------------------------------------------- PDFs


def test_each_part_of_a_pdf_is_read(secrets):
    escaped = LINE.replace("(", r"\(")
    note = b"<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI (x?%s) >> >>"
    attached = b"<< /Type /Filespec /F (notes.txt) /EF << /F 7 0 R >> >>"
    shown = {
        "page 1": pdf(page=f"({escaped}) Tj"),
        "metadata": pdf(info=f"/Keywords {in_utf16(LINE)}"),
        "bookmark": pdf(objects=[f"<< /Title {in_utf16(LINE)} /Parent 1 0 R >>".encode()]),
        "annotation": pdf(objects=[note % LINE.encode()]),
    }
    for where, content in shown.items():
        assert leaks.find("a.pdf", content, secrets) == [f"a.pdf ({where}): {CODE}"]
    xmp = pdf(objects=[stream(f"<x:p>{LINE}</x:p>".encode(), b"/Type /Metadata /Subtype /XML")])
    assert leaks.find("a.pdf", xmp, secrets) == [f"a.pdf (metadata): {CODE}"]
    alternative = pdf(objects=[f"<< /S /Figure /Alt {in_utf16(LINE)} >>".encode()])
    assert leaks.find("a.pdf", alternative, secrets) == [f"a.pdf: {CODE}"]
    unused = pdf(objects=[stream(LINE.encode())])
    assert leaks.find("a.pdf", unused, secrets) == [f"a.pdf: {CODE}"]
    files = pdf(objects=[attached, stream(zipped("inner.txt", LINE))])
    assert leaks.find("a.pdf", files, secrets) == [f"a.pdf/notes.txt/inner.txt: {CODE}"]
    assert leaks.find("a.pdf", pdf(page="(nothing) Tj") + b"% " + LINE.encode(), secrets)


def test_pdf_pages_are_compared_as_they_read(secrets, answer):
    # Hyphenated, in lines of other lengths, with soft hyphens.
    wrapped = (
        "(Averaging two values needs a query that points half-) Tj T* (way between) Tj T* (their"
    )
    pages = {
        "holds solutions/written/averaging.tex.j2, line 4": f"{wrapped} keys.) Tj",
        "holds solutions/data/seed.txt": f"(# made with {SEED[:6]}-) Tj T* ({SEED[6:]}) Tj",
        "holds solutions/data/birth_test.tsv, line 4": f"({answer[0]}) Tj T* ({answer[1]}) Tj",
    }
    for words, page in pages.items():
        assert leaks.find("a.pdf", pdf(page=page), secrets) == [f"a.pdf (page 1): {words}"]
    assert leaks.find("a.pdf", pdf(page=f"({answer[0]}) Tj"), secrets) == []


def test_a_pdf_that_cannot_be_read_is_found(secrets):
    whole = pdf(page="(nothing) Tj")
    assert leaks.find("a.pdf", whole, secrets) == []
    locked = BytesIO()
    import pypdf

    writer = pypdf.PdfWriter(clone_from=BytesIO(whole))
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(locked)
    for content in (b"", b"%PDF-1.7\n", whole.replace(b"/Kids [3 0 R]", b"/Kids []"), locked):
        content = content if isinstance(content, bytes) else content.getvalue()
        (found,) = leaks.find("a.pdf", content, secrets)
        assert found.startswith("a.pdf: a PDF that can't be read: "), found


@pytest.mark.requires_tool("pdflatex")
@pytest.mark.parametrize("fonts", ["", r"\usepackage[T1]{fontenc}\usepackage{lmodern,microtype}"])
def test_what_latex_sets_is_found(secrets, answer, tmp_path, fonts):
    """A solution line in a listing, an answer in the metadata, a sentence, a seed in a comment."""
    (tmp_path / "sheet.tex").write_text(
        r"\documentclass{article}"
        + fonts
        + r"\usepackage{listings}\usepackage[unicode]{hyperref}"
        + rf"\hypersetup{{pdfsubject={{{' '.join(answer)}}}}}"
        + rf"""
\begin{{document}}
\section{{The query is some large multiple of the keys' sum: says that}}
\begin{{lstlisting}}[language=Python]
    {LINE}
\end{{lstlisting}}
\newpage
\begin{{verbatim}}
case.expect(got.mean() > 0.22, 'too_small')  # {SEED}
\end{{verbatim}}
\newpage
\parbox{{2.1cm}}{{{SENTENCE}}}
\newpage\section{{says that the query is some large multiple of the keys' sum}}
Any other values receive a weight \newpage that is exponentially small
\end{{document}}
""",
        encoding="utf-8",
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "sheet.tex"]
    for _ in range(2):  # bookmarks come with the second run
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        assert ran.returncode == 0, ran.stdout.decode("utf-8", errors="replace")[-800:]
    found = leaks.find("sheet.pdf", (tmp_path / "sheet.pdf").read_bytes(), secrets)
    rubric = "holds solutions/written/averaging.tex.j2, line 14"
    assert found == [
        f"sheet.pdf (page 1): {CODE}",
        "sheet.pdf (page 2): holds solutions/hidden/part.py, line 2",
        "sheet.pdf (page 2): holds solutions/data/seed.txt",
        "sheet.pdf (page 3): holds solutions/written/averaging.tex.j2, line 4",
        f"sheet.pdf (page 4): {rubric}",
        "sheet.pdf: holds solutions/written/averaging.tex.j2, line 10",
        "sheet.pdf (metadata): holds solutions/data/birth_test.tsv, line 4",
        f"sheet.pdf (bookmark): {rubric}",
    ]


# ---------------------------------------------------------------- web pages, notebooks, pictures


def test_web_pages_are_read_without_their_markup(secrets):
    encoded = base64.b64encode(LINE.encode()).decode()
    coloured = "".join(f"<span class='n'>{word}</span> " for word in LINE.split())
    texts = {
        "": [
            f"<p>{LINE[:9]}<em>{LINE[9:20]}</em>{LINE[20:]}</p>",
            coloured,
            LINE.replace(" ", "<br>"),
            LINE.replace("[", "&#91;").replace(" ", "&nbsp;"),
            f"<p><img alt='{LINE.replace(']', '&#x5d;')}'></p>",
            f"<!-- {LINE} -->",
        ],
        " (data 1)": [
            f'<img src="data:image/svg+xml;base64,{encoded}">',
            f'<img src="data:image/svg+xml;charset=utf-8;base64,{encoded}">',
            "<img src='data:image/svg+xml,%3Ctext%3E" + LINE.replace(" ", "%20") + "%3C/text%3E'>",
        ],
    }
    for where, pages in texts.items():
        for page in pages:
            assert leaks.find("a.html", page.encode(), secrets) == [f"a.html{where}: {CODE}"], page
    picture = base64.b64encode(png(chunk(b"tEXt", b"Comment\0" + LINE.encode()))).decode()
    page = f'<img src="data:image/png;base64,{picture}">'
    assert leaks.find("a.html", page.encode(), secrets) == [f"a.html (data 1, tEXt): {CODE}"]


def test_each_part_of_a_notebook_is_read(secrets):
    picture = base64.b64encode(png(chunk(b"zTXt", b"C\0\0" + zlib.compress(LINE.encode()))))
    red = "\x1b[0;31m".join([LINE[:5], LINE[5:30], LINE[30:]])
    outputs = {
        "text": ({"name": "stderr", "text": ["x\n", LINE[:20], LINE[20:]]}),
        "data.text/plain": {"data": {"text/plain": repr({"a": LINE})}},
        "data.text/html": {"data": {"text/html": [f"<td>{LINE[:9]}</td>", f"<td>{LINE[9:]}</td>"]}},
        "data.image/svg+xml": {"data": {"image/svg+xml": f"<svg><title>{LINE}</title></svg>"}},
        "data.image/png, zTXt": {"data": {"image/png": picture.decode() + "\n"}},
        "traceback": {"ename": "E", "traceback": ["Traceback", red]},
    }
    for place, output in outputs.items():
        found = leaks.find("a.ipynb", notebook(**output), secrets)
        assert found == [f"a.ipynb (cells[0].outputs[0].{place}): {CODE}"]
    tree = json.loads(notebook(text=""))
    tree["metadata"]["note"] = LINE
    tree["cells"][0]["source"] = ["if x:\n", f"    {LINE}\n"]
    tree["cells"][0]["attachments"] = {"a.png": {"image/png": picture.decode()}}
    found = leaks.find("a.ipynb", json.dumps(tree).encode(), secrets)
    places = ["cells[0].source", "cells[0].attachments.a.png.image/png, zTXt", "metadata.note"]
    assert found == [f"a.ipynb ({place}): {CODE}" for place in places]


def test_a_label_in_the_output_of_a_notebook_is_found(secrets, answer):
    label = "holds solutions/data/birth_test.tsv, line 4"
    printed = [f"{answer[0]}\t{answer[1]}\n", f"{tuple(answer)}", f"{answer[0]} -> {answer[1]}"]
    for text in [*printed, repr("\t".join(answer))]:
        found = leaks.find("a.ipynb", notebook(text=["epoch 1\n", text]), secrets)
        assert found == [f"a.ipynb (cells[0].outputs[0].text): {label}"]


def test_the_notes_in_a_picture_are_read(secrets):
    line = LINE.encode()
    cases = {
        "tEXt": b"Comment\0" + line,
        "zTXt": b"Comment\0\0" + zlib.compress(line),
        "iTXt": b"Comment\0\1\0en\0Note\0" + zlib.compress(line),
        "eXIf": b"MM\0*" + LINE.encode("utf-16-be"),
    }
    for kind, data in cases.items():
        picture = png(chunk(b"IHDR", bytes(13)), chunk(kind.encode(), data))
        assert leaks.find("a.png", picture, secrets) == [f"a.png ({kind}): {CODE}"]
    assert leaks.find("a.png", png() + line, secrets) == [f"a.png: {CODE}"]
    assert leaks.find("a.jpg", b"\xff\xd8\xff\xe1" + line, secrets) == [f"a.jpg: {CODE}"]
    assert leaks.find("a.png", png(chunk(b"tEXt", b"Software\0TeX")), secrets) == []


# ---------------------------------------------------------------- written answers


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
    # Not a sentence any more, or one of fewer letters than are looked for.
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


def test_what_is_looked_for_is_what_stands_in_print():
    """No letters of a command, of mathematics or of jinja, and none left out between two."""
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


# ---------------------------------------------------------------- paths


@pytest.mark.parametrize(
    "text, path",
    [
        ("see solutions/submission/dataset.py.", "solutions/submission/dataset.py"),
        ("../solutions/hidden/a.py", "solutions/hidden/a.py"),
        ("<b>solutions/</b>data/", "solutions/data"),
        ("solutions/\nwritten", "solutions/written"),
        (r"C:\x\solutions\hidden.py", r"solutions\hidden"),
        (r'x = "solutions\/data"', "solutions/data"),
    ],
)
def test_a_path_among_the_solutions_is_found(secrets, text, path):
    assert leaks.find("a.txt", text.encode(), secrets) == [f"a.txt: names {path}"]
    hidden = leaks.find("a.pdf", pdf(info=f"/Title {in_utf16(text)}"), secrets)
    assert hidden == [f"a.pdf (metadata): names {path}"]


def test_a_file_from_the_solutions_is_found_by_its_name(secrets, tmp_path):
    packed = zipped("x/solutions/data/", b"")
    assert leaks.find("a.zip", packed, secrets) == [
        "a.zip/x/solutions/data/ (name): names solutions/data"
    ]
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "a.py").touch()
    (found,) = leaks.check([tmp_path], secrets)
    assert found.endswith("a.py (name): names solutions/a.py")


def test_the_folder_alone_or_another_of_that_name_is_no_path(secrets):
    for text in (
        "`solutions/`",
        "with_solutions/sheet.pdf",
        "solutions/, which",
        r"with solutions\footnote{x}",
        "solutions / 2",
    ):
        assert leaks.find("a.txt", text.encode(), secrets) == []


def test_a_path_is_allowed_in_its_file_only(secrets):
    text = b"judged by solutions/hidden/"
    assert leaks.find("/x/src/grading/cases.py", text, secrets) == []
    assert leaks.find("a.zip/src/grading/cases.py", text, secrets) == []
    assert leaks.find("other/cases.py", text, secrets)
    assert leaks.find("src/grading/cases.py", b"solutions/hidden/a.pyc", secrets)


# ---------------------------------------------------------------- the project as it is


def committed(*names):
    command = ["git", "ls-files", "-z", *names]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    paths = [ROOT / name for name in listed.decode("utf-8").split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_what_students_get_today_passes():
    """The starter, as generated, and what is committed for students."""
    secrets = leaks.secrets_of(ROOT)
    assert len(secrets) > 300
    for name, content in starter.starter_files(ROOT).items():
        assert leaks.find(name, content, secrets) == []
    files = committed("src", "assignment.toml", "handout", "mingpt-demo")
    assert len(files) > 40 and leaks.check(files, secrets) == []


def test_every_exception_is_needed():
    """An exception whose line is gone, or no longer with students, would only hide leaks."""
    paths = committed("src", "handout")
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    read = {leaks.squeezed: leaks.squeezed(text), leaks.letters: leaks.letters(text)}
    secrets = leaks.secrets_of(ROOT, allowed={})
    known = {
        False: {s.text for s in secrets if not s.prose},
        True: {s.text for s in secrets if s.prose},
    }
    for line in (line for lines in allowed.ALLOWED.values() for line in lines.splitlines()):
        if not line.strip():
            continue
        forms = [f for f in read if f(line) in known[f is leaks.letters]]
        assert forms, f"{line} is nothing that is looked for"
        assert any(f(line) in read[f] for f in forms), f"{line} is nowhere that students see"
    for files in allowed.PATHS.values():
        for name, path in files.items():
            assert path in (ROOT / name).read_text(encoding="utf-8"), f"{name} does not name {path}"


def test_the_command(tmp_path):
    clean = tmp_path / "clean.txt"
    clean.write_text("nothing", encoding="utf-8")
    assert python(ROOT, "-m", "tools.leaks", str(clean)).returncode == 0
    leaking = python(ROOT, "-m", "tools.leaks", "solutions/hidden/training.py")
    assert leaking.returncode == 1 and "holds solutions/hidden/training.py, line" in leaking.stdout
    for wrong in ([], [str(tmp_path / "none")]):
        refused = python(ROOT, "-m", "tools.leaks", *wrong)
        assert refused.returncode == 2 and refused.stderr.startswith("error: ")
