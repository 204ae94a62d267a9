"""`similar` ranks pairs by what few others have, and nothing on its pages can run."""

import io
import random
import re
import textwrap
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import torch

import grading
from autograder import solutions
from classroom import __main__ as classroom
from classroom.similar import command as similar
from classroom.similar.ranking import Entry, weigh
from classroom.similar.texts import NAMES, VIEWS
from grading.release import END, START
from submission.model import GPT, GPTConfig
from tests import peak
from tests.accessible import WINDOWS, check_files
from tests.classroom.contents import Files, export, lay

NASTY = "</script><script>alert(1)</script> \u202e <b>&amp; {{ 7 * 7 }}"
MINE = f"def mine():\n    '''Not the starter's.\n\n    Nor {NASTY}'''\n"
PLACES = [f"City {i % 17}" for i in range(60)]
State = dict[str, torch.Tensor]
WIDTH, HEADS = 32, 4
CONFIG = GPTConfig(40, 16, n_layer=2, n_head=HEADS, n_embd=WIDTH)
PARAMETERS, DEV = "vanilla.finetune.params", "vanilla.pretrain.dev.predictions"
GROUP = {5, *range(15, 20)}
# Who handed in each submission, if not its own student. Bea and Ada were a group, then Bea left.
AUTHORS = {20: ["Bea", "Ada"], 21: ["Bea"], 22: ["Cleo", "Dan"], 23: ["Staff"]}
NAMED, UNNAMED = (f"Code of the class, {view}" for view in VIEWS)


QUESTIONS = {"span corruption": "submission/dataset.py", "synthesizer": "submission/attention.py"}
NOUNS = "doc limit length short span start stop prefix middle scores mask heads".split()


def solution(
    author: int, prefix: str = "", change: Callable[[list[str]], list[str]] = list
) -> Files:
    """Return a submission whose author calls one of six functions in each step, as others do.

    For a copy, all names of variables get a prefix, or the lines of each body are changed.
    """
    draw = random.Random(author)
    names = [f"{prefix}{noun}_{draw.randrange(20)}" for noun in NOUNS]
    starter = (grading.SRC / "submission").glob("*.py")
    files = {f"submission/{path.name}": path.read_text(encoding="utf-8") for path in starter}
    for topic, file in QUESTIONS.items():
        body = []
        for step in range(20):
            to, one, two = draw.sample(names, 3)
            body.append(f"{to} = torch.step_{step}_{draw.randrange(6)}({one}, {two}[1:]) + {one}")
        before, rest = files[file].split(f"# [{topic}]\n", 1)
        indent, rest = rest.split(f"{START}\n", 1)
        region = textwrap.indent("\n".join(change(body)) + "\n", indent)
        rest = rest.partition(END)[2]
        files[file] = f"{before}# [{topic}]\n{indent}{START}\n{region}{indent}{END}{rest}"
    return {file: text.encode("utf-8") for file, text in files.items()}


def disguised(state: State, seed: int) -> State:
    """Return a model's state with units, heads and channels permuted and scaled, in float16.

    Up to rounding, it computes the same: LayerNorms undo the scale of what they read.
    """
    torch.manual_seed(seed)
    channels, hidden = torch.randperm(WIDTH), torch.randperm(4 * WIDTH)
    heads = torch.arange(WIDTH).view(HEADS, -1)[torch.randperm(HEADS)].flatten()
    reads = {"query": heads, "key": heads, "value": heads, "0": hidden}
    writes, made = {"proj": heads, "2": hidden}, {}
    for name, tensor in state.items():
        layer, is_matrix = f".{name}".split(".")[-2], name.endswith("weight") and tensor.ndim == 2
        if layer in reads:
            tensor = tensor[reads[layer]] * {"query": 2, "key": 0.5}.get(layer, 1)
            tensor = tensor[:, channels] if is_matrix else tensor
        elif layer in writes:
            tensor = 3 * tensor[channels]
            tensor = tensor[:, writes[layer]] if is_matrix else tensor
        elif "mask" not in name:
            tensor = tensor[..., channels] * (3 if "emb" in name else 1)
        made[name] = tensor.half()
    return made


def formatted(body: list[str]) -> list[str]:
    """Change comments, layout and quotes, as formatters do."""
    code = [line.replace("'", '"') for line in body if not line.lstrip().startswith("#")]
    return [re.sub(r"([(,)])", r"\1 ", line) + "  # so" for line in code]


def reordered(body: list[str]) -> list[str]:
    """Swap each line with its neighbour; nothing parses the code."""
    return [body[n ^ 1 if n ^ 1 < len(body) else n] for n in range(len(body))]


def parameters(seed: int) -> State:
    """Return made-up parameters of a GPT with 40 characters, 32 channels and two blocks."""
    torch.manual_seed(seed)
    state = GPT(CONFIG).state_dict()
    for name, tensor in state.items():
        noise, is_scale = torch.randn_like(tensor), "ln" in name and name.endswith("weight")
        if "mask" not in name:
            state[name] = noise.exp() if is_scale else tensor + 0.05 * noise
    return state


def saved(state: object) -> bytes:
    """Return a file written by torch.save."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def predicted(seed: int) -> list[str]:
    """Return answers; about half of them are wrong."""
    draw = random.Random(seed)
    return [place if draw.random() < 0.5 else f"City {draw.randrange(400)}" for place in PLACES]


def lines(answers: list[str]) -> bytes:
    return "".join(f"{answer}\n" for answer in answers).encode()


def results_of_ours() -> Files:
    """Return the files of the reference's own training."""
    return {
        "synthesizer.finetune.params": saved(parameters(99)),
        "synthesizer.pretrain.dev.predictions": lines(predicted(99)),
    }


def make(source: Path) -> None:
    """Make an export of Gradescope: 0 to 9 wrote their own code, the others copied, five from 5."""
    files: dict[int, Files] = {number: solution(number) for number in range(10)}
    files |= {10: solution(0, change=formatted), 11: solution(1, "my_")}
    module = "submission/dataset.py"  # alone: axe looks at each mark of a pair's page
    files |= {12: solution(2, change=reordered)}
    files |= {number: {module: MINE.encode() + solution(13)[module]} for number in (13, 14)}
    files |= {number: solution(5) for number in range(15, 20)}
    files |= {number: solution(20) for number in (20, 21, 22)} | {23: solution(9)}
    for number in (3, 4, 5):
        files[number] |= {PARAMETERS: saved(parameters(number)), DEV: lines(predicted(number))}
    # As pages and the staff's model store parameters: in float16.
    same = {f"module.{name}": t.half().double() for name, t in parameters(3).items()}
    files[6] |= {PARAMETERS: saved({"state_dict": same}), DEV: b"City 1\n" * 60}
    files[7] |= {PARAMETERS: saved(disguised(parameters(4), 7)), DEV: b"City 1\n" * 60}
    copied = [*predicted(5)[:50], *predicted(8)[50:]]
    files[8] |= {PARAMETERS: b"no zip", DEV: lines(copied)}
    rounded = {name: tensor.half() for name, tensor in parameters(99).items()}
    files[1] |= results_of_ours()  # the reference's own
    files[2] |= results_of_ours() | {"synthesizer.finetune.params": saved(rounded)}
    for number, content in files.items():
        names = [f"{name} Byron" for name in AUTHORS.get(number, [f"Student{number}"])]
        export(source, number, names, f"2026-11-02 15:{number:02}:00 Z", content)


# The headings in index.html, and what is below each.
SECTION = re.compile(r"<h2[^>]*>(.*?)</h2>(.*?)(?=<h2|</main>)", re.DOTALL)
ROW = re.compile(r"<tr><td.*?</tr>", re.DOTALL)
NAME = re.compile(r"<bdi>(?:submission_)?(.*?)</bdi>")


class Made:
    """What the command wrote and printed about the class."""

    def __init__(self, folder, output):
        self.folder, self.output, self.pages = folder, output, folder / "similar"
        self.index = (self.pages / "index.html").read_text(encoding="utf-8")
        self.sections = dict(SECTION.findall(self.index))

    def rows(self, section):
        """Return who is in each row of a section: numbers, or the names of references."""
        rows = map(NAME.findall, ROW.findall(self.sections[section]))
        return [{int(name) if name.isdigit() else name for name in row} for row in rows]

    def scores(self, section):
        cells = r"<td class=\"number\">(\d\.\d\d)</td>"
        return [float(score) for score in re.findall(cells, self.sections[section])]

    def page(self, section, *numbers):
        """Return the page of the first pair in the row with these submissions."""
        row = ROW.findall(self.sections[section])[self.rows(section).index({*numbers})]
        return self.pages / re.search(r'href="(.*?)"', row)[1]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a class, compared with itself and with references, without Staff and Cleo."""
    root = tmp_path_factory.mktemp("similar")
    make(root / "class")
    many = {f"{n}.py": b"" for n in range(401)} | {"0.py": b"y" * ((1 << 18) + 1)}
    ours = (grading.SOLUTIONS / "submission" / "attention.py").read_text(encoding="utf-8")
    ours = ours.partition("[synthesizer]")[2].partition("### END")[0].replace(" ", "  ")
    for name, files in (
        ("ours", {"my.py": ours.encode(), "run.py": (grading.SRC / "run.py").read_bytes()}),
        ("public <i>", solution(9)),
        ("mirror", solution(9)),
        ("2025", solution(700) | many),
        ("notes", {"readme.md": b"nothing"}),
    ):
        lay(root / "references" / name, files)
    lay(root / "results", results_of_ours())
    answers = lines([f"Where was P{i} born?\t{place}" for i, place in enumerate(PLACES)])
    lay(root / "data", {"birth_dev.tsv": answers})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grading, "DATA", root / "data")
        patch.setattr(solutions, "ANSWERS", root / "data")
        patch.setattr(similar, "RESULTS", root / "results")
        said = []
        patch.setattr("builtins.print", lambda *words, **_: said.append(" ".join(map(str, words))))
        words = ["similar", str(root / "class"), "--into", str(root / "out")]
        words += ["--exclude", "submission_23", "--exclude", "cleo BYRON"]
        assert classroom.main([*words, "--references", str(root / "references")]) == 0, said
    return Made(root / "out", "\n".join(said))


def test_copies_come_first_and_six_are_one_row(made):
    """A group's copy is one of both who were ever in it, and no page compares the two."""
    copies = [{0, 10}, {2, 12}, {13, 14}, {20, 22}, {21, 22}, GROUP]
    rows = made.rows(NAMED)
    assert len(rows) == 30 and all(copy in rows[:6] for copy in copies)
    assert re.search(r"Group of 6:", made.sections[NAMED])
    assert re.search(r"Not listed: \d+ pairs", made.sections[NAMED])
    assert made.scores(NAMED)[rows.index({0, 10})] == 1  # formatters don't matter
    rows = made.rows(UNNAMED)
    assert all(copy in rows[:7] for copy in [*copies[:3], {1, 11}]) and GROUP in rows
    assert made.scores(UNNAMED)[rows.index({1, 11})] == 1  # nor do chosen names
    assert not any({20, 21} <= row for section in made.sections for row in made.rows(section))
    for view in VIEWS:
        first = made.rows(f"Code and references, {view}")[:2]
        assert {9, "references/mirror"} in first and {9, "references/public &lt;i&gt;"} in first


def test_equal_and_disguised_parameters_and_rare_wrong_answers_are_listed(made):
    assert made.rows("Identical tensors") == [{3, 6}]
    rows, scores = made.rows("Trained parameters"), made.scores("Trained parameters")
    assert {3, 6} in rows[:2] and {4, 7} in rows[:2]
    # 512 entries each: independent correlations have a standard deviation of .05. They are the
    # same in each run.
    assert scores[1] > 0.98 and all(score < 0.4 for score in scores[2:])
    assert made.rows("Wrong predictions")[0] == {5, 8}
    page = made.page("Wrong predictions", 5, 8).read_text(encoding="utf-8")
    assert "Of the wrong predictions that both have" in page
    # Our own results, and those of a constant, never are.
    for section in ("Identical tensors", "Trained parameters", "Wrong predictions"):
        assert {1, 2} not in made.rows(section) and {6, 7} not in made.rows(section)


def test_what_is_left_out_is_noted(made):
    notes, index = re.findall("note: (.*)", made.output), unescape(made.index)
    for part in (
        "submission_8: vanilla.finetune.params is not compared: ",
        "references/notes: nothing to compare",
        "references/ours: nothing to compare",
        "predictions for test",
        "left out with --exclude: 1",
        "2025: 0.py is not compared: more than 262144 bytes",
        "2025: not everything is compared: only the first 400 of",
    ):
        (note,) = [note for note in notes if part in note]
        assert note in index
    assert notes[0] not in index  # the export's, which may name students
    assert "submission_23" not in made.index and "submission_22" in made.index


def test_nobody_is_excluded_by_mistake(made, command):
    words = ["similar", made.folder.parent / "class", "--into", made.folder, "--exclude", "Ad"]
    code, _, error = command(*words)
    assert code == 2 and "--exclude Ad: nobody in this class has this name or ID" in error


def test_pages_are_private_name_nobody_and_show_both_texts_and_what_they_share(made):
    files = [made.folder, *made.folder.rglob("*")]
    assert len(files) > 20
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    pages = "".join(path.read_text(encoding="utf-8") for path in made.pages.rglob("*.html"))
    assert "Byron" not in pages and "Student" not in pages and "x.edu" not in pages
    words = re.compile(r"plagiar|cheat|suspicious|guilty|misconduct", re.IGNORECASE)
    assert not words.search(pages)
    page = made.page(NAMED, 13, 14).read_text(encoding="utf-8")
    assert "<script" not in page and "\u202e" not in page
    assert page.count("script&gt;&lt;script&gt;alert(1)&lt;/script&gt; [U+202E]") == 2
    assert page.count('<mark class="exact">') > 20 and "<sub>2</sub>" in page
    given = made.page("Code and references, with names", 9, "references/mirror")
    assert "<sub>1</sub>" in given.read_text(encoding="utf-8")  # references don't count
    assert page.count("Handed in 2026-11-02 07:1") == 2
    # Of what is outside the markers, only what isn't the starter's.
    assert page.count("def mine") == 2
    others = made.page(NAMED, 0, 10).read_text(encoding="utf-8")  # with regions left as they were
    assert "NotImplementedError" not in page + others
    assert "import" not in page


@pytest.mark.requires_tool("chromium")
def test_pages_are_for_everybody(made):
    check_files([made.pages / "index.html"])
    check_files([made.page(NAMED, 13, 14)], WINDOWS[1:2])


READ = r"""
import resource
from pathlib import Path
from unittest.mock import patch
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
sys.path.insert(0, sys.argv[2])
from autograder import isolation
from classroom.__main__ import main
source, before, quotes = Path(sys.argv[3]), peak_kib(), 3 * chr(34)
for line in ("\\" + quotes, chr(34) + "\\", "'''\\" + chr(34), "r'", "1e", "# a", "x = (", MARKER):
    (source / line).mkdir(parents=True)
    (source / line / "a.py").write_text((line + "\n") * ((1 << 17) // (len(line) + 1)))
with patch.object(isolation, "is_available", lambda: False):
    assert main(["similar", str(source), "--into", sys.argv[4]]) == 0
print(peak_kib() - before)
"""


def test_no_file_takes_long_or_much_memory(tmp_path):
    """Files of 128 KB are read within seconds and 200 MB; lines `\\\"""` once took minutes."""
    code = READ.replace("MARKER", repr("### START CODE HERE ###"))
    growth = peak.growth_kib(code, grading.ROOT, tmp_path / "source", tmp_path / "out")
    assert growth < 200_000


def entry(name, features):
    made = Entry(name, frozenset([name]))
    made.features[NAMES] = set(features)
    return made


def test_a_score_is_the_share_of_the_smaller_ones_weight():
    common, rare = [f"c{i}" for i in range(50)], [f"r{i}" for i in range(50)]
    entries = [entry(str(i), common) for i in range(8)]
    entries += [entry("x", common + rare), entry("y", [*rare, "own1", "own2", "own3"])]
    scores = weigh(entries, NAMES, 30)[0]
    weight = {n: np.log(11 / n) ** 2 for n in (1, 2, 9)}
    smaller = min(50 * (weight[9] + weight[2]), 50 * weight[2] + 3 * weight[1])
    assert scores[8, 9] == pytest.approx(50 * weight[2] / smaller)
    # What all but one have hardly counts: it weighs far less than 30 rare features.
    assert scores[0, 1] == pytest.approx(50 * weight[9] / (30 * weight[2])) and scores[0, 1] < 0.03
    assert scores[0, 9] == 0
