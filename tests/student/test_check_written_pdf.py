"""Written answers as a PDF: the source is required, and what Gradescope rejects is named."""

import pytest

import check_written

PDF = b"%PDF-1.5\n1 0 obj\n<< /Type /Catalog >>\nendobj\n%%EOF\n"


def heard(paper, content: bytes, name: str = "answers.pdf") -> str:
    path = paper.root / name
    path.write_bytes(content)
    code, out, err = paper.check(str(path))
    assert (code, err) == (1, "")
    assert out.startswith(f"{name}: a PDF of ") and "can't check answers in a PDF" in out
    return out


def test_of_a_pdf_the_source_is_asked_for(paper):
    out = heard(paper, PDF + b" " * 10**6)
    assert out.startswith("answers.pdf: a PDF of 1.0 MB.\n")
    assert "check its source: python src/check_written.py written/submission.tex\n" in out
    assert "Tag the pages" in out and "Too large" not in out


def test_too_large_a_pdf_is_named(paper, monkeypatch):
    monkeypatch.setattr(check_written, "MAX_UPLOAD_BYTES", 10**6)
    out = heard(paper, PDF + b" " * 10**6, name="GROSS.PDF")
    assert "Too large: Gradescope accepts 1 MB" in out


@pytest.mark.parametrize("content", [b"", b"\xff\xd8\xff\xe0 a photo"])
def test_what_is_no_pdf_is_one_line(paper, content):
    (paper.root / "a.pdf").write_bytes(content)
    assert "a.pdf: not a PDF, in spite of its name" in paper.refused(str(paper.root / "a.pdf"))


def test_a_missing_pdf_is_one_line(paper):
    assert "a.pdf: No such file" in paper.refused(str(paper.root / "a.pdf"))
