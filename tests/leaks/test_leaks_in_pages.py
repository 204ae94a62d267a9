"""The leak check reads each part of PDFs, web pages, notebooks and pictures."""

import base64
import json
import subprocess
import zlib
from io import BytesIO

import pytest

from tests.leaks.leaking import (
    CODE,
    LINE,
    SEED,
    SENTENCE,
    chunk,
    in_utf16,
    notebook,
    pdf,
    png,
    stream,
    zipped,
)
from tools import leaks

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
    # Hyphenated, with other line lengths, and with soft hyphens.
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
