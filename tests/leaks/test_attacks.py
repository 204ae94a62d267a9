"""Each kind of secret is planted in each kind of file that students get, and found."""

import base64
import json
import struct
import subprocess
import zipfile
import zlib
from io import BytesIO

import pypdf
import pytest

from tests import pinned
from tests.project import write_files
from tools import leaks, world

# A project with one solution, one judge, one written answer, and a data set ----------------------

LINE = "prefix, masked = text[:start], text[start : start + length]"
SEED = "123456789012"
SECRET = "c0ffee" * 10
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
# What stands in print: without letters of commands, formulas and jinja, and with all in between.
PRINT = r"""
Short. Shorter. % A comment, which is never printed, holds nothing that could be found.
A reader of this \emph{first sentence} would pass 100\% of it on to \textbf{all \emph{the} others}.
Short again, which is not enough. And this one, too. It is cut short by what \(E = m c^2\)
stands for, and then by
something else of that kind <<by.jinja>> but for all that there are letters enough to look for here,
and at last by \unknown{something that sets \textit{its own} argument elsewhere} and goes on

The cell on the left of this table's row stands here
& and its second cell stands over there on its right \\
while another row has a cell that is long enough, too
\begin{align*}
  a &= b_1 + b_2 + b_3 + b_4 + b_5 + b_6 + b_7,  % why \\
  \label{eq:name} c &= d \\
    &= e_1 + e_2 << "jinja" >> + e_3 + e_4 + e_5 + e_6 + e_7 + e_8 + e_9. \\
\end{align*}
"""
# Below solutions/.
PROJECT = {
    "submission/part.py": f"""import torch
@decorated(by="something of this file alone")
def f(text, start, length):
    ### START CODE HERE ###
    {LINE}
    a = start + 1  # the first one behind the marker
    # The mask is wider than the span, as its ends belong to it.
    b = a * length
    return b
    ### END CODE HERE ###
    ### START CODE HERE ###
    return 100.0 * keys[j]
    ### END CODE HERE ###
""",
    "hidden/part.py": """from __future__ import annotations
from grading.cases import (
    AttentionCase,
    ManyOtherCases,
)
TOLERANCE = 1.25e-4
SHORT = 1e-6
def judge(case: AttentionCase, got: float) -> None:
    case.expect(got.mean() > 0.22, 'too_small')
    return case.arguments('--seed', '--mask', '\u2047')
""",
    "written/averaging.tex.j2": WRITTEN,
    "written/print.tex.j2": PRINT,
    "written/slips.tex.j2": r"\item The sheets of two courses write the mean $\mu$ as $\pi$.",
    "written/plots.py": SCRIPT,
    "data/grading_secret": SECRET,
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    repo = tmp_path_factory.mktemp("repo")
    write_files(repo / "solutions", PROJECT)
    assert world.main(["--dataset", "smoke", "--seed", SEED, "--out", str(repo)]) == 0
    return repo


@pytest.fixture(scope="module")
def secrets(repo):
    return leaks.secrets_of(repo)


@pytest.fixture(scope="module")
def answers(repo):
    """The rows of the test split: question and place."""
    text = (repo / "solutions/data/birth_test.tsv").read_text(encoding="utf-8")
    return [row.split("\t") for row in text.splitlines()]


# Files that leak ---------------------------------------------------------------------------------


def zipped(files, comment=b""):
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as writer:
        for name, content in files.items():
            writer.writestr(name, content)
        writer.comment = comment
    return packed.getvalue()


def notebook(**output):
    cell = {"cell_type": "code", "outputs": [output], "source": ["x = 1\n"], "metadata": {}}
    return json.dumps({"cells": [cell], "metadata": {}}).encode()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(*chunks):
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + chunk(b"IEND", b"")


def pdf(page="", info="", objects=()):
    """Return a PDF of one page, written by hand; `objects` are numbered from 6."""
    shown = f"BT /F1 9 Tf 40 700 Td 12 TL {page} ET".encode("latin-1")
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
        b" /Resources << /Font << /F1 << /Subtype /Type1 /BaseFont /Courier >> >> >> >>",
        stream(shown),
        f"<< {info} >>".encode(),
        *objects,
    ]
    written = b"".join(b"%d 0 obj\n%s\nendobj\n" % body for body in enumerate(bodies, 1))
    end = b"trailer << /Size 9 /Root 1 0 R /Info 5 0 R >>\nstartxref\n0\n%%EOF"
    return b"%PDF-1.7\n" + written + end  # without a table, which readers rebuild


def stream(data):
    """Return a compressed stream, whose text is not in the file's bytes."""
    data = zlib.compress(data)
    return b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(data), data)


def in_utf16(text):
    return f"<{text.encode('utf-16').hex()}>"


# What is planted ---------------------------------------------------------------------------------

CODE = "holds solutions/submission/part.py, line 5"
JUDGE = "case.expect(got.mean() > 0.22, 'too_small')"
ARGUMENTS = "return case.arguments('--seed', '--mask', '\u2047')"
OF_PART = "holds solutions/submission/part.py, line "
OF_JUDGE = "holds solutions/hidden/part.py, line "
WRITTEN_BY = "holds solutions/written/averaging.tex.j2, line "
SMALL = "Any other values receive a weight that is exponentially small"
RUBRIC = "says that the query is some large multiple of the keys' sum"
OF_TEST = "holds solutions/data/birth_test.tsv, line "
OF_SEED, OF_SECRET = "holds solutions/data/seed.txt", "holds solutions/data/grading_secret"

# What is planted, by what is done to it: the text, and what is said about it. Each stands alone.
TEXTS = {
    "reformatted": (
        'prefix,masked=(\n    text[ : start ],\n    text[\n        start : start+length\n    ],\n)',
        CODE,
    ),
    "with a comment within": (LINE.replace(", text[start", ",  # why\n text[start"), CODE),
    "short lines in a row": (
        "a = start+1\n\n  b = (a*length)  # why\nreturn b",
        OF_PART + "6",
    ),
    "a comment of a region": (
        "The mask is wider than the span, as its\n# ends belong to it.",
        OF_PART + "7",
    ),
    "all of a short region": ("q = 1\nreturn 100.0*keys[ j ]", OF_PART + "12"),
    "a judge's line": (JUDGE, OF_JUDGE + "9"),
    "with printed quotes": (JUDGE.replace("'", "\u2019"), OF_JUDGE + "9"),
    "with printed dashes": (ARGUMENTS.replace("--", "\u2013"), OF_JUDGE + "10"),
    "escaped as JSON": (json.dumps(ARGUMENTS)[1:], OF_JUDGE + "10"),
    "a judge's constant": ("we allow TOLERANCE = 1.25E-4", OF_JUDGE + "6"),
    "a staff's script": (SCRIPT[90:243], "holds solutions/written/plots.py, line 11"),
    "a test answer": ("as in {row[0]}\t{row[1]}.", OF_TEST + "4"),
    "a column of test answers": ("{places}", OF_TEST + "3"),
    "names with test answers": ("{names}", OF_TEST + "3"),
    "the seed": (f"# made with {SEED}", OF_SEED),
    "the seed with separators": ("123_456_789_012", OF_SEED),
    "the seed in hex": (f"random.seed({int(SEED):#X})", OF_SEED),
    "the secret": (f"SECRET={SECRET}", OF_SECRET),
    "the secret in decimal": (str(int(SECRET, 16)), OF_SECRET),
    "a sentence": (SENTENCE, WRITTEN_BY + "4"),
    "a sentence in LaTeX": (SENTENCE.replace("two", r"\textbf{two}"), WRITTEN_BY + "4"),
    "a hyphenated sentence": (SENTENCE.replace("query", "que-\nry"), WRITTEN_BY + "4"),
    "a sentence before a formula": (SMALL, WRITTEN_BY + "10"),
    "a rubric": (RUBRIC.replace("large", r"\mbox{large}"), WRITTEN_BY + "14"),
    "a formula": ("$" + FORMULA.replace(" ", "") + "$", WRITTEN_BY + "7"),
    "a formula in a page": (f"<annotation>{FORMULA}</annotation>", WRITTEN_BY + "7"),
}  # fmt: skip
# Texts that tell nothing.
HARMLESS = [
    "the mask is wider than the",
    "{row[0]}",
    "a = start + 1\nb = a * length",
    "return b",
    SEED[:-1],
    "SHORT = 1e-6",
    "from grading.cases import (\n    AttentionCase,\n    ManyOtherCases,\n)",
    "def judge(case: AttentionCase, got: float) -> None:",
    '@decorated(by="something of this file alone")',
    SENTENCE.replace("two", "three"),
    "The sheets of two courses write the mean",  # fewer letters than are searched for
    r"\(q = \beta\,(k_a + k_b)\)",
    "see solutions/hidden/part.py",
]
PICTURE = png(chunk(b"IHDR", bytes(13)), chunk(b"zTXt", b"C\0\0" + zlib.compress(LINE.encode())))
ENCODED = base64.b64encode(PICTURE).decode()
LARGE = base64.b64encode(bytes(range(256)) * 9).decode()
ATTACHED = b"<< /Type /Filespec /F (notes.txt) /EF << /F 7 0 R >> >>"
# Files that hold LINE, and what is found in them.
FILES = {
    "a.bin": (b"\0\1\2" + LINE.encode(), "a.bin"),
    "utf-16.txt": (LINE.encode("utf-16"), "utf-16.txt"),
    "a zip in a zip": (zipped({"b.zip": zipped({"deep.txt": LINE})}), "{}/b.zip/deep.txt"),
    "a page of a PDF": (pdf(page=f"({LINE.replace('(', chr(92) + '(')}) Tj"), "{} (page 1)"),
    "a PDF's metadata": (pdf(info=f"/Keywords {in_utf16(LINE)}"), "{} (metadata)"),
    "a PDF's bookmark": (pdf(objects=[f"<< /Title {in_utf16(LINE)} >>".encode()]), "{}"),
    "a PDF's attachment": (pdf(objects=[ATTACHED, stream(zipped({"i.txt": LINE}))]), "{}/i.txt"),
    "behind a PDF": (pdf(page="(nothing) Tj") + b"% " + LINE.encode(), "{}"),
    "a page with markup": (f"<p>{LINE[:9]}<em>{LINE[9:20]}</em>{LINE[20:]}</p>", "{}"),
    "an alternative text": (f"<p><img alt='{LINE.replace(']', '&#x5d;')}'></p>", "{}"),
    "a picture in a page": (f'<img src="data:image/png;base64,{ENCODED}">', "{}"),
    "behind a large picture": (f'<img src="data:image/png;base64,{LARGE}"><p>{LINE}</p>', "{}"),
    "a large text in base64": (base64.encodebytes(LINE.encode() * 40), "{}"),
    "a drawing in a page": (
        "<img src='data:image/svg+xml,%3Ctext%3E" + LINE.replace(" ", "%20") + "%3C/text%3E'>",
        "{}",
    ),
    "base64": (base64.encodebytes(LINE.encode() * 4), "{}"),
    "a notebook's output": (notebook(text=["x\n", LINE[:20], LINE[20:]]), "{}"),
    "a notebook's table": (
        notebook(data={"text/html": [f"<td>{LINE[:9]}</td>", f"<td>{LINE[9:]}</td>"]}),
        "{}",
    ),
    "a notebook's picture": (
        notebook(data={"image/png": base64.encodebytes(PICTURE).decode()}),
        "{}",
    ),
    "a notebook's traceback": (
        notebook(traceback=["E", "\x1b[0;31m".join([LINE[:5], LINE[5:30], LINE[30:]])]),
        "{}",
    ),
    "a picture's note": (png(chunk(b"tEXt", b"Comment\0" + LINE.encode())), "{}"),
    "a picture's EXIF": (png(chunk(b"eXIf", b"MM\0*" + LINE.encode("utf-16-be"))), "{}"),
}


@pytest.fixture
def filled(answers):
    """Return a function that puts the test split's answers into a text."""
    rows = answers[2:14]
    values = {
        "{row[0]}": answers[3][0],
        "{row[1]}": answers[3][1],
        "{places}": "\n".join(place for _, place in rows),
        "{names}": "\n".join(f"{question[10:-6]}\t{place}" for question, place in rows),
    }

    def filled(text: str) -> str:
        for name, value in values.items():
            text = text.replace(name, value)
        return text

    return filled


# How a text is planted, by the name of the file.
FORMATS = {
    "a.txt": str.encode,
    "a.zip": lambda text: zipped({"x/a.txt": text}),
    "a.ipynb": lambda text: notebook(text=[f"{line}\n" for line in text.split("\n")]),
    "a.pdf": lambda text: pdf(objects=[stream(text.encode())]),
    "result.json": lambda text: json.dumps({"output": text}).encode(),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_each_secret_is_found_in_each_format(secrets, filled, kind):
    text, words = TEXTS[kind]
    for name, planted in FORMATS.items():
        lines = leaks.Search(secrets).find(name, planted(filled(text)))
        assert any(line.endswith(f": {words}") for line in lines), (name, lines)


@pytest.mark.parametrize("kind", FILES)
def test_a_secret_is_found_in_each_kind_of_file(secrets, kind):
    content, place = FILES[kind]
    content = content if isinstance(content, bytes) else content.encode()
    assert leaks.Search(secrets).find(kind, content) == [f"{place.format(kind)}: {CODE}"]


def test_harmless_texts_and_the_data_that_students_get_pass(repo, secrets, filled):
    assert len(secrets) > 40
    assert leaks.Search(secrets).check([repo / "src/data"]) == []
    for text in HARMLESS:
        for name, content in ("a.py", filled(text).encode()), ("a.ipynb", notebook(text=text)):
            assert leaks.Search(secrets).find(name, content) == [], text


def test_what_pages_show_is_compared_as_it_reads(secrets, answers):
    question, place = answers[3]
    first, last = SENTENCE.split("halfway between")
    pages = {
        WRITTEN_BY + "4": f"({first}half-) Tj T* (way between) Tj T* ({last}) Tj",
        OF_SEED: f"(# made with {SEED[:6]}-) Tj T* ({SEED[6:]}) Tj",
        OF_TEST + "4": f"({question}) Tj T* ({place}) Tj",
    }
    for words, page in pages.items():
        assert leaks.Search(secrets).find("a.pdf", pdf(page=page)) == [f"a.pdf (page 1): {words}"]
    assert leaks.Search(secrets).find("a.pdf", pdf(page=f"({question}) Tj")) == []


def test_names_and_comments_in_a_zip_are_read(secrets):
    packed = zipped({f"{SEED}.txt": "", "x/solutions/a.txt": ""}, LINE.encode())
    assert leaks.Search(secrets).find("a.zip", packed) == [
        f"a.zip/{SEED}.txt (name): {OF_SEED}",
        "a.zip/x/solutions/a.txt (name): lies in `solutions`",
        f"a.zip (comments): {CODE}",
    ]
    assert leaks.Search(secrets).find("a.zip", zipped({"with_solutions/sheet.pdf": b""})) == []


def test_what_cannot_be_read_is_found(secrets):
    locked = BytesIO()
    whole = pdf(page="(nothing) Tj")
    assert leaks.Search(secrets).find("a.pdf", whole) == []
    writer = pypdf.PdfWriter(clone_from=BytesIO(whole))
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(locked)
    broken = bytearray(zipped({"x.txt": b"y" * 100}))
    broken[40] ^= 255
    encrypted = bytearray(zipped({"x.txt": b"y" * 100}))
    encrypted[encrypted.index(b"PK\1\2") + 8] |= 1
    tar = b"x.txt".ljust(257, b"\0") + b"ustar"
    for name, content, words in (
        ("a.pyc", b"\0", "compiled Python"),
        ("a.svgz", b"\x1f\x8b\x08", "a tar, gzip, bzip2, xz, 7z, rar or zstd, which is not opened"),
        ("a.tar", tar, "a tar, gzip, bzip2, xz, 7z, rar or zstd, which is not opened"),
        ("a.zip", bytes(broken), "a zip that can't be read: Bad CRC"),
        ("a.zip", bytes(encrypted), "a zip that can't be read: File"),
        ("a.pdf", b"%PDF-1.7\n", "a PDF that can't be read: "),
        ("a.pdf", locked.getvalue(), "a PDF that can't be read: "),
    ):
        (found,) = leaks.Search(secrets).find(name, content)
        assert found.startswith(f"{name}: {words}"), found
        assert len(leaks.Search(secrets).find("b.zip", zipped({name: content}))) == 1


def test_what_is_looked_for_is_what_stands_in_print(secrets):
    for line, text in {
        3: "A reader of this first sentence would pass 100 % of it on to all the others",
        4: "Short again, which is not enough. And this one, too. It is cut short by what",
        5: "stands for, and then by something else of that kind",
        6: "but for all that there are letters enough to look for here, and at last by",
        7: "something that sets its own argument elsewhere",
        9: "The cell on the left of this table's row stands here",
        10: "and its second cell stands over there on its right",
        11: "while another row has a cell that is long enough, too",
        13: "a = b1 + b2 + b3 + b4 + b5 + b6 + b7",
        15: "+ e3 + e4 + e5 + e6 + e7 + e8 + e9.",
    }.items():
        found = leaks.Search(secrets).find("a.txt", text.encode())
        assert found == [f"a.txt: holds solutions/written/print.tex.j2, line {line}"]
        for less in (text.partition(" ")[2], text.rpartition(" ")[0]):
            assert leaks.Search(secrets).find("a.txt", less.encode()) == [], less


@pytest.mark.requires_tool("pdflatex")
def test_what_latex_sets_is_found(secrets, answers, tmp_path):
    """A solution line in a listing, an answer in the metadata, a sentence, a seed in a comment."""
    (tmp_path / "sheet.tex").write_text(
        r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{lmodern,microtype}"
        + r"\usepackage{listings}\usepackage[unicode]{hyperref}"
        + rf"\hypersetup{{pdfsubject={{{' '.join(answers[3])}}}}}"
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
    assert leaks.Search(secrets).find("sheet.pdf", (tmp_path / "sheet.pdf").read_bytes()) == [
        f"sheet.pdf (page 1): {CODE}",
        f"sheet.pdf (page 2): {OF_SEED}",
        f"sheet.pdf (page 2): {OF_JUDGE}9",
        f"sheet.pdf (page 3): {WRITTEN_BY}4",
        f"sheet.pdf (page 4): {WRITTEN_BY}14",
        f"sheet.pdf: {WRITTEN_BY}10",
        f"sheet.pdf (metadata): {OF_TEST}4",
    ]


def test_an_answer_to_practice_is_kept_once_an_edition_gives_points_for_it(tmp_path):
    described = tmp_path / "assignment.toml"
    answer = {"handout/answers/blocks_heads.tex.j2": WRITTEN}
    write_files(tmp_path, answer | {described.name: pinned.text()})
    assert leaks.secrets_of(tmp_path) == []
    last = '  { number = "3c", topic = "consider_unseen", written = 2 },\n'
    for points in ("written = 1", "coding = 6"):
        line = f'  {{ number = "4b", topic = "blocks_heads", {points} }},\n'
        text = pinned.text()
        assert last in text
        described.write_text(text.replace(last, last + line), encoding="utf-8")
        found = leaks.Search(leaks.secrets_of(tmp_path)).find("a.md", SENTENCE.encode())
        assert found == ["a.md: holds handout/answers/blocks_heads.tex.j2, line 4"]
