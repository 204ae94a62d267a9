"""Written answers as a PDF: the source is asked for, and what can't be read is named."""

import subprocess
import zlib

import pytest

import check_written

TEXT = b"BT /F1 12 Tf 72 700 Td [(Be)-3(cause.)] TJ ET"
PICTURE = b"q 595 0 0 842 0 0 cm /Im1 Do Q"


def stream(content: bytes, entries: bytes = b"", packed: bool = True) -> bytes:
    if packed:
        content, entries = zlib.compress(content), entries + b"/Filter /FlateDecode "
    head = b"7 0 obj\n<< " + entries + b"/Length %d >>\n" % len(content)
    return head + b"stream\n" + content + b"\nendstream\nendobj\n"


def pdf(*objects: bytes, tree: bytes = b"<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>") -> bytes:
    pages = b"2 0 obj\n" + tree + b"\nendobj\n"
    return b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n" + pages + b"".join(objects) + b"%%EOF\n"


def heard(paper, content: bytes, name: str = "answers.pdf") -> str:
    path = paper.root / name
    path.write_bytes(content)
    code, out, err = paper.check(str(path))
    assert (code, err) == (1, "")
    assert out.startswith(f"{name}: ") and "Nothing was checked." in out
    return out


@pytest.mark.parametrize("packed", [True, False])
def test_of_a_typeset_pdf_the_source_is_asked_for(paper, packed):
    out = heard(paper, pdf(stream(TEXT, packed=packed)))
    assert out.startswith("answers.pdf: 2 pages, 0.0 MB.\n")
    assert "check the source: python src/check_written.py" in out
    assert "scanned" not in out


@pytest.mark.parametrize(
    "content",
    [
        pdf(stream(PICTURE), stream(TEXT, b"/Subtype /Image ")),
        pdf(stream(PICTURE), stream(TEXT, b"/Subtype/Image ", packed=False)),
        pdf(stream(PICTURE, packed=False), stream(TEXT, b"/Subtype/Image ", packed=False)),
        pdf(stream(b"BT ET" + PICTURE)),
        pdf(stream(b"(no text) TJ")),
        pdf(),
        pdf(stream(TEXT)[:60]),  # cut off
        pdf(stream(TEXT).replace(b"x\x9c", b"\x00\x01")),  # encrypted, say
    ],
)
def test_a_scanned_pdf_can_not_be_read(paper, content):
    assert "No text in it: probably scanned, which can't be read by machine.\n" in heard(
        paper, content
    )


def test_pages_are_counted_in_packed_objects_and_trees(paper):
    tree = b"<< /Count 12 /Kids [1 0 R 2 0 R] /Type /Pages >> << /Type /Pages /Count 7 >>"
    assert "answers.pdf: 12 pages" in heard(paper, pdf(stream(tree), tree=b"<< >>"))
    assert "answers.pdf: 1 page," in heard(paper, pdf(tree=b"<</Type/Pages/Count 1/Kids[3 0 R]>>"))
    assert "pages could not be counted" in heard(paper, pdf(tree=b"<< /Count 5 >>"))


def test_too_large_a_pdf_is_named(paper, monkeypatch):
    monkeypatch.setattr(check_written, "MAX_UPLOAD_BYTES", 10**6)
    assert "Too large" not in heard(paper, pdf())
    out = heard(paper, pdf(b" " * 10**6), name="GROSS.PDF")
    assert "Too large: Gradescope takes 1 MB" in out


def test_a_stream_that_unpacks_to_no_end_is_not_unpacked(paper, monkeypatch):
    monkeypatch.setattr(check_written, "MAX_STREAM_BYTES", 1000)
    assert "probably scanned" in heard(paper, pdf(stream(b" " * 10**6 + TEXT)))


@pytest.mark.parametrize("content", [b"", b"\xff\xd8\xff\xe0 a photo"])
def test_what_is_no_pdf_is_one_line(paper, content):
    (paper.root / "a.pdf").write_bytes(content)
    assert "a.pdf: no PDF, though its name says so" in paper.refused(str(paper.root / "a.pdf"))


def test_a_missing_pdf_is_one_line(paper):
    assert "a.pdf: No such file" in paper.refused(str(paper.root / "a.pdf"))


@pytest.mark.requires_tool("pdflatex")
def test_what_latex_sets_is_text_and_what_holds_pictures_is_none(paper, tmp_path):
    body = {
        "typed": "Because.\\newpage Therefore.",
        "drawn": "\\pagestyle{empty}\\noindent\\rule{9cm}{9cm}",
    }
    for name, text in body.items():
        source = f"\\documentclass{{article}}\\begin{{document}}{text}\\end{{document}}"
        (tmp_path / f"{name}.tex").write_text(source, encoding="utf-8")
        command = ["pdflatex", "-interaction=batchmode", f"{name}.tex"]
        subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL, timeout=120)
    typed = heard(paper, (tmp_path / "typed.pdf").read_bytes())
    assert "2 pages" in typed and "check the source" in typed
    drawn = heard(paper, (tmp_path / "drawn.pdf").read_bytes())
    assert "1 page," in drawn and "probably scanned" in drawn
