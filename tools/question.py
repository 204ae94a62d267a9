"""Begin a coding question: write all of its files, as a working example to edit.

    python -m tools.question TOPIC                       (make question TOPIC=common_prefix)

Writes the tests, the judge of the hidden test, the reference and its starter, the sheet's text, the
answer for staff, and a right and a wrong variant. Adds the question to the default edition in
assignment.toml, after the last one that is not practice. `EDIT:` marks each place to edit. The
templates are in tools/question_files/. See docs/add-a-question.md.

Exit codes: 0 written; 2 bad input, and nothing was written.
"""

import keyword
import re
import string
import sys
import tempfile
from pathlib import Path

from autograder.description import ASSIGNMENT, REPO, StaffAssignment, UsageError, load_assignment

from .arguments import OneLineParser, with_one_line_errors
from .datafiles import write_all
from .regions import strip
from .starter import STARTER, TRUTH

FILES = Path(__file__).resolve().parent / "question_files"
TABLES = ("tests/golden/verdicts.toml", "tests/golden/killers.toml")
FOLDERS = ("src", "solutions", "tools", "benchmarks")  # whose modules' names are taken
LONGEST = 20  # letters of a name: lines that contain it twice stay within 100
NAME = re.compile("[a-z]+(_[a-z]+)*")
LINE = re.compile(r'^  \{ number = "\d+[a-z]", topic = "(\w+)".*\n', re.MULTILINE)


def begin(root: Path, topic: str) -> tuple[list[str], str]:
    """Write a question's files; return their names, and the question's number.

    Raises:
        UsageError: the question can't be begun; nothing was written.
    """
    described = load_assignment(root)
    refuse_name(root, described, topic)
    before, numbers = place(described)
    words = topic.replace("_", " ")
    values = {
        "TOPIC": topic,
        "ID": topic.replace("_", "-"),
        "WORDS": words,
        "WORDS_CAPITAL": words.capitalize(),
        "CLASS": words.title().replace(" ", ""),
        "TEX": topic.replace("_", r"\_"),
        "PART": described.tables.topics[before].part,
    }
    files = new_files(values)
    for name in files:
        if (root / name).exists():
            raise UsageError(
                f"{name} exists: delete the files of that question, or choose another name"
            )
    for name in TABLES:
        files[name] = with_sections(root, name, filled(FILES / f"{name}.txt", values), topic)
    files[ASSIGNMENT], number = numbered(root, described, before, values, numbers)
    write_all(root, files)
    return list(files), number


def refuse_name(root: Path, described: StaffAssignment, topic: str) -> None:
    """Raise UsageError unless a topic may have this name."""
    is_name = NAME.fullmatch(topic) and not keyword.iskeyword(topic)
    if not is_name or len(topic) > LONGEST:
        raise UsageError(
            f"the name {topic!r} should consist of words of a to z joined by _, with at most "
            f"{LONGEST} letters"
        )
    topics = described.tables.topics
    if topic in topics:
        raise UsageError(f"assignment.toml already has a topic {topic}")
    for other in topics:
        # Judges are called TOPIC_TEST: rope_x_random would be a judge of rope's test x_random.
        if topic.startswith(f"{other}_") or other.startswith(f"{topic}_"):
            raise UsageError(
                f"{topic} and the topic {other} begin with the same words, so their judges' names "
                "could clash"
            )
    for folder in FOLDERS:
        for path in (root / folder).rglob("*.py"):
            if topic in (path.stem, path.parent.name):
                name = path.relative_to(root).as_posix()
                raise UsageError(f"the name {topic} is taken by {name}")


def place(described: StaffAssignment) -> tuple[str, list[str]]:
    """Return the default edition's last topic that is not practice, and the numbers after it."""
    asked = [q for q in described.edition(None).questions if not q.is_practice]
    if not asked:
        raise UsageError(
            f"the edition {described.default_edition} has no question to put the new one after"
        )
    last = asked[-1]
    section, letter = last.number[:-1], last.number[-1]
    letters = string.ascii_lowercase[string.ascii_lowercase.index(letter) + 1 :]
    if not letters:
        raise UsageError(f"section {section} already has a question for each letter")
    return last.topic, [section + following for following in letters]


def filled(file: Path, values: dict[str, str]) -> str:
    """Return a file of tools/question_files with the question's names filled in."""
    return replaced(file.read_text(encoding="utf-8"), values)


def replaced(text: str, values: dict[str, str]) -> str:
    """Return a text with each @NAME@ replaced by its value."""
    return re.sub("@([A-Z_]+)@", lambda match: values[match[1]], text)


def new_files(values: dict[str, str]) -> dict[str, str]:
    """Return the question's own files by name, including those that students get."""
    files = {}
    for path in sorted(FILES.rglob("*.txt")):
        name = path.relative_to(FILES).as_posix().removesuffix(".txt")
        if not name.endswith(".toml"):
            files[replaced(name, values)] = filled(path, values)
    module = f"{values['TOPIC']}.py"
    truth = (TRUTH / module).as_posix()
    files[(STARTER / module).as_posix()] = strip(files[truth], truth)
    return files


def with_sections(root: Path, name: str, added: str, topic: str) -> str:
    """Return a table of tests/golden with a question's sections added; its own command sorts it."""
    text = (root / name).read_text(encoding="utf-8")
    if f'"{topic}/' in text:
        raise UsageError(
            f"{name} still has entries of {topic}: delete those of that earlier question"
        )
    return f"{text.rstrip()}\n\n{added}"


def described_with(
    root: Path, described: StaffAssignment, before: str, values: dict[str, str]
) -> str:
    """Return assignment.toml with the topic, and with its line in the default edition.

    Args:
        before: the topic after which both are put.

    Raises:
        UsageError: the file isn't laid out as expected, or the result has a mistake.
    """
    text = (root / ASSIGNMENT).read_text(encoding="utf-8")
    edition = max(text.find(f"\n[editions.{described.default_edition}]\n"), 0)
    lines = LINE.finditer(text, edition, text.find("\n[", edition + 1))
    line = next((match for match in lines if match[1] == before), None)
    # A table ends where a blank line and another table, or a comment, follow.
    pattern = rf"^\[topics\.{before}[.\]](?:.|\n(?!\n[\[#]))*"
    tables = list(re.finditer(pattern, text, re.MULTILINE))
    if line is None or not tables:
        raise UsageError(
            f"assignment.toml: {before} has no line and table to put the new ones after"
        )
    end = tables[-1].end()
    added = {name: filled(FILES / f"{name}.toml.txt", values) for name in ("line", "topic")}
    head = f"{text[: line.end()]}{added['line']}{text[line.end() : end].rstrip()}"
    rest = text[end:] or "\n"
    made = f"{head}\n\n{added['topic'].rstrip()}{rest}"
    expect_addition(described, made, values["TOPIC"])
    return made


def numbered(
    root: Path, described: StaffAssignment, before: str, values: dict[str, str], numbers: list[str]
) -> tuple[str, str]:
    """Return assignment.toml with the topic, and its number, the first that can be given.

    A number can't be given if an edition that inherits the question has another one of that number.

    Raises:
        UsageError: see `described_with`.
    """
    for number in numbers:
        try:
            return described_with(root, described, before, values | {"NUMBER": number}), number
        except UsageError as refused:
            refusal = refused
    raise refusal


def expect_addition(before: StaffAssignment, text: str, topic: str) -> None:
    """Raise UsageError unless the new assignment.toml differs only by the added question."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / ASSIGNMENT).write_text(text, encoding="utf-8")
        after = load_assignment(Path(folder))
    for name, edition in before.editions.items():
        others = tuple(q for q in after.edition(name).questions if q.topic != topic)
        if others != edition.questions:
            raise UsageError(
                f"assignment.toml: its layout doesn't show where to put {topic} in {name}"
            )


@with_one_line_errors
def main(arguments: list[str] | None = None, root: Path = REPO) -> int:
    """Run the command line; return the exit code."""
    parser = OneLineParser("python -m tools.question", __doc__)
    parser.add_argument("topic", help="the question's name, such as common_prefix")
    asked = parser.parse_args(arguments)
    names, number = begin(root, asked.topic)
    print("\n".join(f"wrote {name}" for name in names))
    print(f"Question {number} works as it is; now edit what EDIT: marks in these files.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
