"""`similar` ranks pairs by what few others have, and nothing on its pages can run."""

import re
import resource
import subprocess
import sys
from html import unescape

import numpy as np
import pytest
import torch

import grading
from autograder import solutions
from classroom import __main__ as classroom
from classroom.exports import read_export
from classroom.similar import command
from classroom.similar.ranking import Entry, Index, Ranking, authors_of, comparable
from classroom.similar.texts import NAMES, SHAPE, VIEWS, Known, Text, tokens_of
from classroom.submissions import Student, Submission, id_of
from submission.model import GPT
from tests.accessible import WINDOWS, check_files
from tests.classroom import similar
from tests.classroom.disguises import disguised

# The headings in index.html, and what is below each.
SECTION = re.compile(r"<h2[^>]*>(.*?)</h2>(.*?)(?=<h2|</main>)", re.DOTALL)
ROW = re.compile(r"<tr><td.*?</tr>", re.DOTALL)
NAME = re.compile(r"<bdi>(.*?)</bdi>")
STUDENTS = [f"{n:02}" for n in range(10)]
STUDENTS += ["10-of-00", "11-of-01", "12-of-02", "13-nasty", "14-nasty", *similar.COPIES]
NAMES_OF = {id_of("upload", name): name for name in STUDENTS}
GROUP = {"05", *similar.COPIES}


class Made:
    """What the command wrote and printed about the class."""

    def __init__(self, folder, output):
        self.folder, self.output = folder, output
        self.pages = folder / "similar"
        self.index = (self.pages / "index.html").read_text(encoding="utf-8")
        self.sections = dict(SECTION.findall(self.index))

    def rows(self, section):
        """Return who is in each row of a section, as sets of students' folders."""
        rows = ROW.findall(self.sections[section])
        return [{NAMES_OF.get(name, name) for name in NAME.findall(row)} for row in rows]

    def page(self, section, row):
        """Return the page of the first pair in a row of a section."""
        link = re.search(r'href="(.*?)"', ROW.findall(self.sections[section])[row])[1]
        return (self.pages / link).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the class in `similar.py`, compared with itself and with two references."""
    root = tmp_path_factory.mktemp("similar")
    similar.make(root / "class")
    similar.write(root / "class" / "staff", similar.solution(9))
    similar.write(root / "references" / "public <i>", similar.solution(9))
    similar.write(root / "references" / "2025", similar.solution(700))
    similar.write(root / "references" / "notes", {"readme.md": "nothing"})
    similar.write(root / "results", similar.results())
    rows = [f"Where was P{i} born?\t{place}\n" for i, place in enumerate(similar.PLACES)]
    similar.write(root / "data", {"birth_dev.tsv": "".join(rows)})
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


def test_copies_come_first_and_ten_are_one_row(made):
    copies = [{"00", "10-of-00"}, {"02", "12-of-02"}, {"13-nasty", "14-nasty"}, GROUP]
    rows = made.rows("Code of the class, with names")
    assert len(rows) == 30 and all(copy in rows[:4] for copy in copies)
    assert re.search(r"Group of 10:", made.sections["Code of the class, with names"])
    assert re.search(r"Not listed: \d+ pairs", made.sections["Code of the class, with names"])
    rows = made.rows("Code of the class, without names")
    assert all(copy in rows[:4] for copy in [*copies[:3], {"01", "11-of-01"}]) and GROUP in rows
    for view in VIEWS:
        first = made.rows(f"Code and references, {view}")[0]
        assert first == {"09", "references/public &lt;i&gt;"}


def test_equal_and_disguised_parameters_are_listed(made):
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


def test_rare_wrong_answers_are_listed(made):
    assert made.rows("Wrong predictions")[0] == {"05", "08"}
    assert "Of the wrong predictions that both have" in made.page("Wrong predictions", 0)


def test_our_own_results_and_those_of_a_constant_are_never_listed(made):
    for section in ("Identical tensors", "Trained parameters", "Wrong predictions"):
        assert not [row for row in made.rows(section) if row in ({"01", "02"}, {"06", "07"})]


def test_what_is_left_out_is_noted(made):
    notes = re.findall("note: (.*)", made.output)
    for part in (
        "vanilla.finetune.params",
        "references/notes",
        "predictions for test",
        "--exclude",
    ):
        assert any(part in note for note in notes)
    assert all(note in unescape(made.index) for note in notes)
    assert id_of("upload", "staff") not in made.index


def test_of_many_files_the_first_are_compared_and_of_large_ones_none(tmp_path, monkeypatch):
    monkeypatch.setattr(command.isolation, "is_available", lambda: False)
    monkeypatch.setattr(command, "MOST_FILES", 2)
    monkeypatch.setitem(command.MOST_BYTES, ".py", 20)
    code = {f"submission/{name}.py": f"{name} = 1\n" for name in ("a", "b", "c")}
    similar.write(tmp_path / "class" / "many", code)
    similar.write(tmp_path / "class" / "large", code | {"submission/b.py": "y" * 21})
    (tmp_path / "class" / "large" / "submission" / "c.py").unlink()
    notes, texts = [], {}
    reading = command.Reading(tmp_path, notes.append)
    for one in read_export(tmp_path / "class").submissions:
        name = one.students[0].name
        texts[name] = [text.file for text in reading.entry(one, name, frozenset("1")).texts]
    assert texts == {"many": ["a.py", "b.py"], "large": ["a.py"]}
    assert "many: only the first 2 files are compared" in notes
    assert [note for note in notes if "large" in note and "more than 20 bytes" in note]


def test_a_group_is_left_out_only_if_all_its_authors_are():
    ada, bob = Student("a@x", "Ada", "a@x", "007"), Student("b@x", "Bob", "b@x")
    group, alone = Submission("submission_1", (ada, bob)), Submission("submission_2", (bob,))
    for words, remaining in (
        (["BOB"], [group]),
        (["b@x", "007"], []),
        (["submission_1"], [alone]),
    ):
        assert command._without(words, (group, alone)) == remaining


def test_pages_are_private_and_name_nobody(made):
    files = [made.folder, *made.folder.rglob("*")]
    assert len(files) > 20
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    assert not list(made.folder.glob("similar.*"))
    pages = "".join(path.read_text(encoding="utf-8") for path in made.pages.rglob("*.html"))
    assert not [name for name in STUDENTS if len(name) > 2 and name in pages]
    words = re.compile(r"plagiar|cheat|suspicious|guilty|misconduct", re.IGNORECASE)
    assert not words.search(pages)


def test_a_page_shows_both_texts_and_what_they_share(made):
    section = "Code of the class, with names"
    page = made.page(section, made.rows(section).index({"13-nasty", "14-nasty"}))
    assert "<script" not in page and "\u202e" not in page
    assert page.count("script&gt;&lt;script&gt;alert(1)&lt;/script&gt; [U+202E]") == 2
    assert page.count('<mark class="exact">') > 20 and "<sub>2</sub>" in page
    copied = made.page(section, made.rows(section).index({"00", "10-of-00"}))
    assert "NotImplementedError" not in copied  # code that nobody changed


@pytest.mark.parametrize(
    "words, says",
    [
        (["--references", "none"], "can't be read"),
        (["--references", "empty"], "contains no submissions"),
        (["--exclude", "Nobody"], "nobody in this class has this name"),
        (["--into", str(grading.ROOT / "build" / "class")], "is inside the repository"),
    ],
)
def test_bad_input_is_one_line(tmp_path, monkeypatch, capsys, words, says):
    monkeypatch.chdir(tmp_path)
    similar.write(tmp_path / "class" / "00", {"submission/dataset.py": "x = 1\n"})
    (tmp_path / "empty").mkdir()
    assert classroom.main(["similar", "class", "--into", "out", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and says in error


# Disguises and copies -----------------------------------------------------------------------------


def test_disguises_keep_what_a_model_computes():
    state, ids, outputs = similar.parameters(0), torch.randint(0, 40, (4, 16)), []
    for each in (state, disguised(state, 1)):
        model = GPT(similar.CONFIG).eval()
        model.load_state_dict({n: t.float() for n, t in each.items()}, strict=False)
        outputs.append(model(ids)[0])
    assert (outputs[1] - outputs[0]).abs().max() < 0.1 * outputs[0].std()


# Tokens, weights and groups -----------------------------------------------------------------------


def seen(text, view=NAMES):
    return [
        t.text if view == NAMES else t.shape for t in tokens_of(text) if view == NAMES or t.shape
    ]


def test_layout_quotes_and_comments_leave_the_codes_tokens_as_they_are():
    one, two = "y = f(x, 'a')  # Sum it up\nz = y.view(2)", 'y=f( x,\n  "a")\nz = y.view(2)'
    assert [text for text in seen(one) if not text.startswith("#")] == seen(two)
    assert seen(one)[-3:] == ["#sum", "#it", "#up"]
    assert seen("att = F.softmax(scores, dim=-1) if n > 8 else None", SHAPE) == (
        "· = F . softmax ( · , · = - 1 ) if · > 8 else None".split()
    )


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


def test_no_file_takes_long_or_much_memory():
    """Files of 128 KB are read within seconds and 200 MB; lines `\\\"""` once took minutes."""
    lines = ['\\"""\n', '"\\', "'''\\\"", "r'", "1e", "# a\n", "x = (\n"]
    lines.append("### START CODE HERE ###\n")
    program = (
        "import resource\n"
        "from classroom.similar.ranking import Entry\n"
        "from classroom.similar.texts import Known, Text\n"
        "known = Known()\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"for line in {lines!r}:\n"
        "    Entry('a').add(Text('a.py', line * ((1 << 17) // len(line)), known), known)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": f"{grading.SRC}:{grading.ROOT}"},
        capture_output=True,
        encoding="utf-8",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (30, 30)),
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 200_000  # KiB


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
    assert Index(entries, NAMES, 30).counts == {"x": 2, "y": 1, "z": 0}


def test_a_score_is_the_share_of_the_smaller_ones_weight():
    common, rare = [f"c{i}" for i in range(50)], [f"r{i}" for i in range(50)]
    entries = [entry(str(i), common) for i in range(8)]
    entries += [entry("x", common + rare), entry("y", [*rare, "own1", "own2", "own3"])]
    scores = Index(entries, NAMES, 30).scores()
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


@pytest.mark.requires_tool("chromium")
def test_pages_are_for_everybody(made):
    section = "Code of the class, with names"
    row = ROW.findall(made.sections[section])[made.rows(section).index({"13-nasty", "14-nasty"})]
    nasty = re.search(r'href="(.*?)"', row)[1]
    check_files([made.pages / "index.html", made.pages / nasty], WINDOWS[:2])
