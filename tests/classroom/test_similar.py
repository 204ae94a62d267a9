"""`similar` ranks pairs by what few others have, and nothing on its pages can run."""

import re
import shutil
from html import unescape

import pytest

from autograder import solutions
from grading import paths
from tests.classroom import similar
from tools.classroom import __main__ as classroom
from tools.classroom.similarity import command
from tools.classroom.submissions import id_of

# The headings in index.html, and what is below each.
SECTION = re.compile(r"<h2[^>]*>(.*?)</h2>(.*?)(?=<h2|</main>)", re.DOTALL)
PAIR = re.compile(r'<a href="(pairs/[^"]+)"><bdi>(.*?)</bdi> and <bdi>(.*?)</bdi></a>')


class Made:
    """What the command wrote and printed about the class."""

    def __init__(self, folder, output):
        self.folder, self.output = folder, output
        self.pages = folder / "similar"
        self.index = (self.pages / "index.html").read_text(encoding="utf-8")
        self.sections = dict(SECTION.findall(self.index))

    def pairs(self, section, before=""):
        """Return the pairs in a section, as sets of students' folders, up to a word if given."""
        text = self.sections[section]
        found = PAIR.findall(text[: text.index(before)] if before else text)
        return [{NAMES.get(one, one), NAMES.get(two, two)} for _, one, two in found]

    def page(self, one, two):
        wanted = {one, two}
        found = {p: {NAMES.get(a, a), NAMES.get(b, b)} for p, a, b in PAIR.findall(self.index)}
        name = next(path for path, names in found.items() if names == wanted)
        return (self.pages / name).read_text(encoding="utf-8")


STUDENTS = [f"{n:02}" for n in range(10)]
STUDENTS += ["10-of-00", "11-of-01", "12-of-02", "13-nasty", "14-nasty"]
NAMES = {id_of("upload", name): name for name in STUDENTS}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the class in `similar.py`, compared with itself and with two references."""
    root = tmp_path_factory.mktemp("similar")
    similar.make(root / "class")
    similar.write(root / "references" / "public <i>", similar.solution(9))
    similar.write(root / "references" / "2025", similar.solution(700))
    similar.write(root / "references" / "notes", {"readme.md": "nothing"})
    similar.write(root / "results", similar.results())
    rows = [f"Where was P{i} born?\t{place}\n" for i, place in enumerate(similar.PLACES)]
    similar.write(root / "data", {"birth_dev.tsv": "".join(rows)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "DATA", root / "data")
        patch.setattr(solutions, "ANSWERS", root / "data")
        patch.setattr(command, "RESULTS", root / "results")
        said = []
        patch.setattr("builtins.print", lambda *words, **_: said.append(" ".join(map(str, words))))
        words = ["similar", str(root / "class"), "--into", str(root / "out")]
        code = classroom.main([*words, "--references", str(root / "references")])
    assert code == 0, said
    return Made(root / "out", "\n".join(said))


def test_copies_come_first(made):
    with_names = made.pairs("Pairs of the class, with names")
    assert with_names[0] in ({"00", "10-of-00"}, {"13-nasty", "14-nasty"})
    assert {"00", "10-of-00"} in with_names[:3] and {"02", "12-of-02"} in with_names[:3]
    without = made.pairs("Pairs of the class, without names")
    copies = [{"00", "10-of-00"}, {"01", "11-of-01"}, {"02", "12-of-02"}]
    assert all(pair in without[:4] for pair in copies)
    for view in ("with names", "without names"):
        against = made.pairs(f"Against references, {view}")
        assert against[0] == {"09", "references/public &lt;i&gt;"}


def test_parameters_that_are_the_same_or_of_one_pretraining_are_listed(made):
    section = "Trained parameters"
    assert made.pairs(section, "Similarity of") == [{"03", "06"}]
    assert '<td class="number">8 of 8</td>' in made.sections[section]
    alike = made.sections[section].partition("Similarity of")[2]
    first, second, *_ = ({NAMES[a], NAMES[b]} for _, a, b in PAIR.findall(alike))
    assert [first, second] == [{"03", "06"}, {"04", "07"}]
    cosines = [float(text) for text in re.findall(r">(\d\.\d\d)</td></tr>", alike)]
    # A sample of 256 numbers from each of four matrices: a median above .4 is more than 6 standard
    # deviations off. The parameters are the same in each run.
    assert cosines[1] > 0.99 and all(cosine < 0.4 for cosine in cosines[2:])


def test_rare_wrong_answers_are_listed(made):
    assert made.pairs("Predictions")[0] == {"05", "08"}
    page = made.page("05", "08")
    count, _ = map(
        int, re.search(r"Identical wrong answers: (\d+), out of (\d+) and", page).groups()
    )
    assert count > 15


def test_our_own_results_and_those_of_a_constant_are_never_listed(made):
    for section in ("Trained parameters", "Predictions"):
        assert {"01", "02"} not in made.pairs(section)
        assert {"06", "07"} not in made.pairs(section)


def test_what_could_not_be_read_is_noted(made):
    notes = re.findall("note: (.*)", made.output)
    for named in ("vanilla.finetune.params", "references/notes", "predictions for test"):
        assert any(named in note for note in notes)
    assert all(note in unescape(made.index) for note in notes)


def test_pages_are_private_and_name_nobody(made):
    files = [made.folder, *made.folder.rglob("*")]
    assert len(files) > 20
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    assert not list(made.folder.glob("similar-*"))
    pages = "".join(path.read_text(encoding="utf-8") for path in made.pages.rglob("*.html"))
    assert not [name for name in STUDENTS if len(name) > 2 and name in pages]


def test_a_page_shows_both_texts_and_what_they_share(made):
    page = made.page("13-nasty", "14-nasty")
    assert "<script" not in page and "\u202e" not in page
    assert page.count("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt; [U+202E]") >= 4
    # "2 of 15" is the share of the class that has a match.
    assert "2 of 15 (13 %)" in page
    anchors = re.findall(r' id="([ab]\d+)"', page)  # of marks
    links = re.findall(r'href="#([ab]\d+)"', page)
    assert len(anchors) == len(set(anchors)) > 10 and set(links) <= set(anchors)
    rarest = [int(n) for n in re.findall(r'<td class="number">(\d+) of 15 \(', page)]
    assert rarest and rarest == sorted(rarest)
    assert "NotImplementedError" not in made.page("00", "10-of-00")  # code that nobody changed


def test_questions_with_few_lines_are_shown_and_not_ranked(made):
    page = made.page("00", "10-of-00")
    row = re.search(r'<th scope="row">no pretraining</th>(.*?)</tr>', page, re.DOTALL)[1]
    assert "few lines" in row and "rank" not in row
    row = re.search(r'<th scope="row">span corruption</th>(.*?)</tr>', page, re.DOTALL)[1]
    assert "rank 1" in row
    assert "<h3>Span corruption</h3>" in made.index
    (text,) = re.findall(r"<h3>No pretraining</h3>(.*?)<h[23]", made.index, re.DOTALL)
    ranked = {NAMES[name] for _, *pair in PAIR.findall(text) for name in pair}
    assert "13-nasty" in ranked and not ranked & {"00", "10-of-00"}  # it has more lines


def test_there_is_no_verdict(made):
    texts = [made.index, *(p.read_text(encoding="utf-8") for p in made.pages.rglob("*.html"))]
    words = re.compile(r"plagiar|cheat|suspicious|guilty|misconduct", re.IGNORECASE)
    assert not [text for text in texts if words.search(text)]


def test_forgetting_somebody_removes_the_pages(made, tmp_path, capsys):
    folder = shutil.copytree(made.folder, tmp_path / "copy")
    assert classroom.main(["forget", "13-nasty", "--in", str(folder)]) == 0
    assert "similar/ removed" in capsys.readouterr().out
    assert not (folder / "similar").exists()


@pytest.mark.parametrize(
    "words, says",
    [
        (["--pairs", "0"], "--pairs 0 should be a number from 1 to 1000"),
        (["--references", "class/00/submission/none"], "can't be read"),
        (["--references", "empty"], "contains no references"),
        (["--into", str(paths.ROOT / "build" / "class")], "is inside the repository"),
    ],
)
def test_bad_input_is_one_line(tmp_path, monkeypatch, capsys, words, says):
    monkeypatch.chdir(tmp_path)
    similar.write(tmp_path / "class" / "00", {"submission/dataset.py": "x = 1\n"})
    (tmp_path / "empty").mkdir()
    assert classroom.main(["similar", "class", "--into", "out", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and says in error


@pytest.mark.requires_tool("chromium")
@pytest.mark.filterwarnings("ignore::EncodingWarning")  # axe's package reads its own file
def test_pages_are_for_everybody(made):
    """Axe finds no fault in light and dark mode, on desktop and phone; nothing runs or loads."""
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    nasty = next(p for p, a, b in PAIR.findall(made.index) if NAMES.get(a) == "13-nasty")
    with sync_playwright() as started:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        shown, asked, said = browser.new_page(), [], []
        shown.on("request", lambda request: asked.append(request.url))
        shown.on("console", lambda message: said.append(message.text))
        for name in ("index.html", nasty):
            for scheme, width in (("light", 1280), ("dark", 390)):
                shown.emulate_media(color_scheme=scheme)
                shown.set_viewport_size({"width": width, "height": 900})
                shown.goto((made.pages / name).as_uri())
                found = Axe().run(shown)
                assert found.violations_count == 0, found.generate_report()
                assert len(found.response["passes"]) > 10
                wide = shown.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, "the page scrolls sideways"
                colour = "getComputedStyle(document.body).backgroundColor"
                assert shown.evaluate(colour) != "rgba(0, 0, 0, 0)"  # the policy allows the styles
        assert len(asked) == 4 and all(url.startswith("file:") for url in asked)
        assert said == []
        shown.evaluate("document.body.insertAdjacentHTML('beforeend', '<b style=\"color:red\">')")
        assert any("Content Security Policy" in text for text in said)  # and no other styles
        browser.close()
