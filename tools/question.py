"""Begin a coding question: write all of its files, as a working example to edit.

    python -m tools.question TOPIC                       (make question TOPIC=repeated_tokens)

Writes the tests, the judge of the hidden test, the reference and its starter, the sheet's text, the
answer for staff, and a right and a wrong variant. Adds the question to the default edition in
assignment.toml, after the last one that is not practice. `EDIT:` marks what has to be edited. The
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
from grading.edition import Question

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
    """Write a question's files, or raise UsageError; return their names, and its number."""
    described = load_assignment(root)
    refuse_name(root, described, topic)
    questions = [q for q in described.edition(None).questions if not q.is_practice]
    if not questions:
        raise UsageError(
            f"the edition {described.default_edition} has no question to put the new one after"
        )
    last = questions[-1]
    values = names_of(topic) | {"PART": described.tables.topics[last.topic].part}
    files = new_files(values)
    for name in files:
        if (root / name).exists():
            raise UsageError(
                f"{name} exists: delete the files of that question, or choose another name"
            )
    for name in TABLES:  # python -m tests.golden_verdicts and tests.mutants sort these
        text = (root / name).read_text(encoding="utf-8")
        if f'"{topic}/' in text:
            raise UsageError(
                f"{name} still has entries of {topic}: delete those of that earlier question"
            )
        files[name] = f"{text.rstrip()}\n\n{template(f'{name}.txt', values)}"
    files[ASSIGNMENT], number = described_with(root, described, last, values)
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
    for path in (path for folder in FOLDERS for path in (root / folder).rglob("*.py")):
        if topic in (path.stem, path.parent.name):
            name = path.relative_to(root).as_posix()
            raise UsageError(f"the name {topic} is taken by {name}")


def names_of(topic: str) -> dict[str, str]:
    """Return a topic's name in each form that the templates use."""
    words = topic.replace("_", " ")
    return {
        "TOPIC": topic,
        "ID": topic.replace("_", "-"),
        "WORDS": words,
        "WORDS_CAPITAL": words.capitalize(),
        "CLASS": words.title().replace(" ", ""),
        "TEX": topic.replace("_", r"\_"),
    }


def filled(text: str, values: dict[str, str]) -> str:
    """Return a text with each @NAME@ replaced by its value."""
    return re.sub("@([A-Z_]+)@", lambda match: values[match[1]], text)


def template(name: str, values: dict[str, str]) -> str:
    """Return a file of tools/question_files with the values filled in."""
    return filled((FILES / name).read_text(encoding="utf-8"), values)


def new_files(values: dict[str, str]) -> dict[str, str]:
    """Return the question's own files by name, including those that students get."""
    names = [path.relative_to(FILES).as_posix() for path in sorted(FILES.rglob("*.txt"))]
    files = {
        filled(name.removesuffix(".txt"), values): template(name, values)
        for name in names
        if not name.endswith(".toml.txt")
    }
    module = f"{values['TOPIC']}.py"
    truth = (TRUTH / module).as_posix()
    return files | {(STARTER / module).as_posix(): strip(files[truth], truth)}


def described_with(
    root: Path, described: StaffAssignment, last: Question, values: dict[str, str]
) -> tuple[str, str]:
    """Return assignment.toml with the topic, after `last` in the default edition; and its number.

    This is the first number that no edition with the question has given to another one.

    Raises:
        UsageError: the file isn't laid out as expected, or every number makes a mistake in it.
    """
    text = (root / ASSIGNMENT).read_text(encoding="utf-8")
    edition = max(text.find(f"\n[editions.{described.default_edition}]\n"), 0)
    lines = LINE.finditer(text, edition, text.find("\n[", edition + 1))
    line = next((match for match in lines if match[1] == last.topic), None)
    # A table ends where a blank line and another table, or a comment, follow.
    pattern = rf"^\[topics\.{last.topic}[.\]](?:.|\n(?!\n[\[#]))*"
    tables = list(re.finditer(pattern, text, re.MULTILINE))
    if line is None or not tables:
        raise UsageError(
            f"assignment.toml: {last.topic} has no line and table to put the new ones after"
        )
    end = tables[-1].end()
    table, rest = template("topic.toml.txt", values).rstrip(), text[end:] or "\n"
    section, letter = last.number[:-1], last.number[-1]
    refusal = UsageError(f"section {section} already has a question for each letter")
    for following in string.ascii_lowercase[string.ascii_lowercase.index(letter) + 1 :]:
        number = section + following
        entry = template("line.toml.txt", values | {"NUMBER": number})
        head = f"{text[: line.end()]}{entry}{text[line.end() : end]}"
        made = f"{head.rstrip()}\n\n{table}{rest}"
        try:
            check(made, described, values["TOPIC"])
            return made, number
        except UsageError as refused:
            refusal = refused
    raise refusal


def check(text: str, before: StaffAssignment, topic: str) -> None:
    """Raise UsageError if assignment.toml has a mistake, or other changes than one more topic."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / ASSIGNMENT).write_text(text, encoding="utf-8")
        after = load_assignment(Path(folder))
    for name, was in before.editions.items():
        others = [q for q in after.edition(name).questions if q.topic != topic]
        if others != list(was.questions):
            raise UsageError(
                f"assignment.toml: its layout doesn't show where to put {topic} in {name}"
            )


@with_one_line_errors
def main(arguments: list[str] | None = None, root: Path = REPO) -> int:
    """Run the command line; return the exit code."""
    parser = OneLineParser("python -m tools.question", __doc__)
    parser.add_argument("topic", help="the question's name, such as repeated_tokens")
    names, number = begin(root, parser.parse_args(arguments).topic)
    print("\n".join(f"wrote {name}" for name in names))
    print(f"Question {number} works as it is; now edit what EDIT: marks in these files.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
