"""A project's secrets, and zips, notebooks, pictures and PDFs that leak them."""

import json
import struct
import zipfile
import zlib
from io import BytesIO

LINE = "prefix, masked = text[:start], text[start : start + length]"
CODE = "holds solutions/submission/part.py, line 5"
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
# The files below solutions/.
FILES = {
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
    "written/slips.tex.j2": r"\item The sheets of two courses write the mean $\mu$ as $\pi$.",
    "written/plots.py": SCRIPT,
    "data/grading_secret": SECRET,
}


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
    written, places = b"%PDF-1.7\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(bodies) + 1
    end = b"trailer << /Size %d /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    start = len(written)
    return written + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + end % (size, start)


def stream(data):
    """Return a compressed stream, whose text is not in the file's bytes."""
    data = zlib.compress(data)
    return b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(data), data)


def in_utf16(text):
    return f"<{text.encode('utf-16').hex()}>"
