"""`similar` ranks pairs by what few others have, and nothing on its pages can run."""

import io
import random
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import torch

import grading
from autograder import solutions
from classroom import __main__ as classroom
from classroom.similar import command
from classroom.similar.ranking import Entry, Ranking, authors_of, comparable, weigh
from classroom.similar.texts import NAMES, VIEWS, Known, Text, tokens_of
from classroom.submissions import Student, Submission, id_of
from grading.errors import UsageError
from submission.model import GPT, GPTConfig
from tests import peak
from tests.accessible import WINDOWS, check_files
from tests.classroom.disguises import HEADS, State, disguised
from tests.classroom.independent import solution

NASTY = "</script><script>alert(1)</script> \u202e <b>&amp; {{ 7 * 7 }}"
PLACES = [f"City {i % 17}" for i in range(60)]
COPIES = [f"{number}-of-05" for number in range(15, 20)]
CONFIG = GPTConfig(40, 16, n_layer=2, n_head=HEADS, n_embd=32)
Files = dict[str, "str | bytes"]


def write(folder: Path, files: Files) -> None:
    """Write files to a folder that may not exist yet."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def without_comments(body: list[str]) -> list[str]:
    return [line for line in body if not line.lstrip().startswith("#")]


def reordered(body: list[str]) -> list[str]:
    """Swap each line with its neighbour; nothing parses the code."""
    code = without_comments(body)
    return [code[n ^ 1 if n ^ 1 < len(code) else n] for n in range(len(code))]


def commented(files: dict[str, str], comment: str) -> dict[str, str]:
    """Return a solution with a comment in each region."""
    start = "### START CODE HERE ###\n"
    return {name: text.replace(start, f"{start}# {comment}\n") for name, text in files.items()}


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


def lines(answers: list[str]) -> str:
    return "".join(f"{answer}\n" for answer in answers)


def results_of_ours() -> Files:
    """Return the files of the reference's own training."""
    return {
        "synthesizer.finetune.params": saved(parameters(99)),
        "synthesizer.pretrain.dev.predictions": lines(predicted(99)),
    }


def make(source: Path) -> None:
    """Make a class in a folder: 00 to 09 wrote their own code, the others copied, five from 05."""
    for number in range(10):
        write(source / f"{number:02}", solution(number))
    write(source / "10-of-00", solution(0, change=without_comments))
    write(source / "11-of-01", solution(1, "my_", without_comments))
    write(source / "12-of-02", solution(2, change=reordered))
    for name in ("13-nasty", "14-nasty"):  # a module only: axe looks at each mark of a pair's page
        module = "submission/dataset.py"
        write(source / name, commented({module: solution(13)[module]}, NASTY))
    for name in COPIES:
        write(source / name, solution(5))
    for name, seed in (("03", 3), ("04", 4), ("05", 5)):
        file = saved(parameters(seed))
        write(source / name, {"vanilla.finetune.params": file})
        write(source / name, {"vanilla.pretrain.dev.predictions": lines(predicted(seed))})
    # As pages and the staff's model store parameters: in float16.
    same = {f"module.{name}": t.half().double() for name, t in parameters(3).items()}
    write(source / "06", {"vanilla.finetune.params": saved({"state_dict": same})})
    write(source / "07", {"vanilla.finetune.params": saved(disguised(parameters(4), 7))})
    write(source / "08", {"vanilla.finetune.params": b"no zip"})
    write(source / "01", results_of_ours())  # the reference's own
    rounded = {name: tensor.half() for name, tensor in parameters(99).items()}
    write(source / "02", results_of_ours() | {"synthesizer.finetune.params": saved(rounded)})
    copied = [*predicted(5)[:50], *predicted(8)[50:]]
    write(source / "08", {"vanilla.pretrain.dev.predictions": lines(copied)})
    for name in ("06", "07"):
        write(source / name, {"vanilla.pretrain.dev.predictions": "City 1\n" * 60})


# The headings in index.html, and what is below each.
SECTION = re.compile(r"<h2[^>]*>(.*?)</h2>(.*?)(?=<h2|</main>)", re.DOTALL)
ROW = re.compile(r"<tr><td.*?</tr>", re.DOTALL)
NAME = re.compile(r"<bdi>(.*?)</bdi>")
STUDENTS = [f"{n:02}" for n in range(10)]
STUDENTS += ["10-of-00", "11-of-01", "12-of-02", "13-nasty", "14-nasty", *COPIES]
NAMES_OF = {id_of("upload", name): name for name in STUDENTS}
GROUP = {"05", *COPIES}
NAMED = "Code of the class, with names"


class Made:
    """What the command wrote and printed about the class."""

    def __init__(self, folder, output):
        self.folder, self.output, self.pages = folder, output, folder / "similar"
        self.index = (self.pages / "index.html").read_text(encoding="utf-8")
        self.sections = dict(SECTION.findall(self.index))

    def rows(self, section):
        """Return who is in each row of a section, as sets of students' folders."""
        rows = ROW.findall(self.sections[section])
        return [{NAMES_OF.get(name, name) for name in NAME.findall(row)} for row in rows]

    def page(self, section, *names):
        """Return the page of the first pair in the row with these students."""
        row = ROW.findall(self.sections[section])[self.rows(section).index({*names})]
        return self.pages / re.search(r'href="(.*?)"', row)[1]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a class, compared with itself and with two references."""
    root = tmp_path_factory.mktemp("similar")
    make(root / "class")
    write(root / "class" / "staff", solution(9))
    write(root / "references" / "public <i>", solution(9))
    write(root / "references" / "2025", solution(700) | {f"{n}.py": "" for n in range(401)})
    write(root / "references" / "2025", {"0.py": "y" * ((1 << 20) + 1)})
    write(root / "references" / "notes", {"readme.md": "nothing"})
    write(root / "results", results_of_ours())
    rows = [f"Where was P{i} born?\t{place}\n" for i, place in enumerate(PLACES)]
    write(root / "data", {"birth_dev.tsv": "".join(rows)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grading, "DATA", root / "data")
        patch.setattr(solutions, "ANSWERS", root / "data")
        patch.setattr(command, "RESULTS", root / "results")
        said = []
        patch.setattr("builtins.print", lambda *words, **_: said.append(" ".join(map(str, words))))
        words = ["similar", str(root / "class"), "--into", str(root / "out"), "--exclude", "staff"]
        words += ["--references", str(root / "references")]
        assert classroom.main(words) == 0, said
    return Made(root / "out", "\n".join(said))


def test_copies_come_first_and_six_are_one_row(made):
    copies = [{"00", "10-of-00"}, {"02", "12-of-02"}, {"13-nasty", "14-nasty"}, GROUP]
    rows = made.rows(NAMED)
    assert len(rows) == 30 and all(copy in rows[:4] for copy in copies)
    assert re.search(r"Group of 6:", made.sections[NAMED])
    assert re.search(r"Not listed: \d+ pairs", made.sections[NAMED])
    rows = made.rows("Code of the class, without names")
    assert all(copy in rows[:4] for copy in [*copies[:3], {"01", "11-of-01"}]) and GROUP in rows
    for view in VIEWS:
        first = made.rows(f"Code and references, {view}")[0]
        assert first == {"09", "references/public &lt;i&gt;"}


def test_equal_and_disguised_parameters_and_rare_wrong_answers_are_listed(made):
    assert made.rows("Identical tensors") == [{"03", "06"}]
    rows = ROW.findall(made.sections["Trained parameters"])
    assert {frozenset(row) for row in made.rows("Trained parameters")[:2]} == {
        frozenset({"03", "06"}),
        frozenset({"04", "07"}),
    }
    scores = [float(re.search(r"<td class=\"number\">(\d\.\d\d)</td>", row)[1]) for row in rows]
    # 512 entries each: independent correlations have a standard deviation of .05. They are the
    # same in each run.
    assert scores[1] > 0.98 and all(score < 0.4 for score in scores[2:])
    assert made.rows("Wrong predictions")[0] == {"05", "08"}
    page = made.page("Wrong predictions", "05", "08").read_text(encoding="utf-8")
    assert "Of the wrong predictions that both have" in page
    # Our own results, and those of a constant, never are.
    for section in ("Identical tensors", "Trained parameters", "Wrong predictions"):
        assert not [row for row in made.rows(section) if row in ({"01", "02"}, {"06", "07"})]


def test_what_is_left_out_is_noted(made):
    notes = re.findall("note: (.*)", made.output)
    for part in (
        "vanilla.finetune.params",
        "references/notes",
        "predictions for test",
        "--exclude",
        "2025: 0.py is not compared: more than 1048576 bytes",
        "2025: only the first 400 files",
    ):
        assert any(part in note for note in notes)
    assert all(note in unescape(made.index) for note in notes)
    assert id_of("upload", "staff") not in made.index


def test_a_group_is_left_out_only_if_all_its_authors_are():
    ada, bob = Student("a@x", "Ada", "a@x", "007"), Student("b@x", "Bob", "b@x")
    group, alone = Submission("submission_1", (ada, bob)), Submission("submission_2", (bob,))
    for words, remaining in (
        (["BOB"], [group]),
        (["b@x", "007"], []),
        (["submission_1"], [alone]),
    ):
        assert command._without(words, (group, alone)) == remaining
    with pytest.raises(UsageError, match="--exclude Ad: nobody in this class has this name or ID"):
        command._without(["Ad"], (group, alone))


def test_pages_are_private_name_nobody_and_show_both_texts_and_what_they_share(made):
    files = [made.folder, *made.folder.rglob("*")]
    assert len(files) > 20
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    pages = "".join(path.read_text(encoding="utf-8") for path in made.pages.rglob("*.html"))
    assert not [name for name in STUDENTS if len(name) > 2 and name in pages]
    words = re.compile(r"plagiar|cheat|suspicious|guilty|misconduct", re.IGNORECASE)
    assert not words.search(pages)
    page = made.page(NAMED, "13-nasty", "14-nasty").read_text(encoding="utf-8")
    assert "<script" not in page and "\u202e" not in page
    assert page.count("script&gt;&lt;script&gt;alert(1)&lt;/script&gt; [U+202E]") == 2
    assert page.count('<mark class="exact">') > 20 and "<sub>2</sub>" in page
    copied = made.page(NAMED, "00", "10-of-00").read_text(encoding="utf-8")
    assert "NotImplementedError" not in copied  # code that nobody changed


@pytest.mark.requires_tool("chromium")
def test_pages_are_for_everybody(made):
    check_files([made.pages / "index.html"], WINDOWS[:2])
    check_files([made.page(NAMED, "13-nasty", "14-nasty")], WINDOWS[1:2])


def test_disguises_keep_what_a_model_computes():
    state, ids, outputs = parameters(0), torch.randint(0, 40, (4, 16)), []
    for each in (state, disguised(state, 1)):
        model = GPT(CONFIG).eval()
        model.load_state_dict({n: t.float() for n, t in each.items()}, strict=False)
        outputs.append(model(ids)[0])
    assert (outputs[1] - outputs[0]).abs().max() < 0.1 * outputs[0].std()


def test_layout_quotes_and_comments_leave_the_codes_tokens_as_they_are():
    one, two = "y = f(x, 'a')  # Sum it up\nz = y.view(2)", 'y=f( x,\n  "a")\nz = y.view(2)'
    texts, others = ([token.text for token in tokens_of(text)] for text in (one, two))
    assert texts == [*others, "#sum", "#it", "#up"]
    shapes = [t.shape for t in tokens_of("att = F.softmax(scores, dim=-1) if n > 8 else None")]
    assert shapes == "· = F . softmax ( · , · = - 1 ) if · > 8 else None".split()


def test_what_somebody_wrote_is_between_the_markers_or_not_the_starters():
    starter = (grading.SRC / "submission" / "dataset.py").read_text(encoding="utf-8")
    known = Known()
    assert Text("dataset.py", starter, known).own == set()
    place = starter.index("### END CODE HERE ###")
    mine = "def mine():\n    '''Not the starter's.\n\n    Nor this.'''\n"
    changed = f"{mine}{starter[:place]}y = 3  # it\n{starter[place:]}"
    text = Text("dataset.py", changed, known)
    assert {1, 2, 4} < text.own and 3 not in text.own
    assert {"mine", "#nor", "y", "#it"} <= {token.text for token in text.tokens}


READ = r"""
import resource
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
sys.path.insert(0, sys.argv[2])
from classroom.similar.ranking import Entry
from classroom.similar.texts import Known, Text
known, before, quotes = Known(), peak_kib(), 3 * chr(34)
for line in ("\\" + quotes, chr(34) + "\\", "'''\\" + chr(34), "r'", "1e", "# a", "x = (", MARKER):
    text = (line + "\n") * ((1 << 17) // (len(line) + 1))
    Entry("a").add(Text("a.py", text, known), known)
print(peak_kib() - before)
"""


def test_no_file_takes_long_or_much_memory():
    """Files of 128 KB are read within seconds and 200 MB; lines `\\\"""` once took minutes."""
    code = READ.replace("MARKER", repr("### START CODE HERE ###"))
    assert peak.growth_kib(code, grading.ROOT) < 200_000


def entry(name, features, authors=None):
    made = Entry(name, frozenset([name] if authors is None else authors))
    made.features[NAMES] = set(features)
    return made


def test_groups_are_one_author_and_references_are_compared_with_the_class_alone():
    entries = [entry("a", "xy", "AB"), entry("b", "xy", "BC"), entry("c", "x", "C")]
    entries += [entry("d", "x")]
    entries += [entry("r", "xz", ""), entry("s", "xz", "")]
    pairs = set(zip(*np.nonzero(comparable(entries)), strict=True))
    assert pairs == {(0, 2), (0, 3), (1, 3), (2, 3)} | {(i, j) for i in range(4) for j in (4, 5)}
    assert len(set(authors_of(entries))) == 4
    assert weigh(entries, NAMES, 30)[1] == {"x": 2, "y": 1, "z": 0}


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


def test_a_group_fills_one_row_and_all_other_pairs_are_listed_or_counted(monkeypatch):
    """0 to 9 are copies, 10 shares a little with all of them, 11 and 12 share most of a text."""
    scores = np.full((14, 14), 0.05)
    scores[:10, :10], scores[:10, 10], scores[11, 12] = 0.99, 0.3, 0.6
    may = np.triu(np.ones((14, 14), dtype=bool), 1)
    monkeypatch.setattr("classroom.similar.ranking.MOST", 3)
    ranking = Ranking(np.maximum(scores, scores.T), may)
    assert [sorted(row.members) for row in ranking.rows][::2] == [[*range(10)], [0, 10]]
    assert [(row.rank, row.pairs) for row in ranking.rows] == [(1, 45), (46, 1), (47, 10)]
    assert ranking.left_out == 14 * 13 // 2 - 45 - 1 - 10
