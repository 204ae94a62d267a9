"""Remove from the students' code what their edition does not ask for.

Lines between two comment lines belong to a topic of assignment.toml:

    # <rope>
    def initialize_rope_model(mconf: GPTConfig) -> GPT:
        ...
    # </rope>

Editions with a question on this topic keep the lines, and all others lose them. No student gets the
comment lines themselves; only src/submission has them, with every topic. Used by tools/student.py.
"""

import re
from collections.abc import Collection

from .regions import RegionError

BORDER = re.compile(r"[ \t]*# <(/?)([a-z][a-z_]*)>")
# A line that may have been meant as one, with other spaces, letters or brackets.
RESEMBLES = re.compile(r"[ \t]*#+[ \t]*<[ \t]*/?[ \t]*[\w-]+[ \t]*/?[ \t]*>?[ \t]*")


def cut(text: str, name: str, kept: Collection[str], topics: Collection[str]) -> str:
    """Return a file without these comment lines, and without the lines of other topics.

    Args:
        text: a file of src/submission or solutions/submission.
        name: its name in messages.
        kept: the topics of the edition.
        topics: all topics.

    Raises:
        RegionError: a comment line has no partner or names no topic, or the result is not Python.
    """
    left, faults = [], []
    opened: tuple[int, str] | None = None  # line and topic
    for number, line in enumerate(text.split("\n"), start=1):
        border = BORDER.fullmatch(line)
        if border is None:
            if RESEMBLES.fullmatch(line):
                faults.append(f"{name}:{number}: {line.strip()!r} looks like `# <topic>`")
            if opened is None or opened[1] in kept:
                left.append(line)
            continue
        closes, topic = border.groups()
        if topic not in topics:
            faults.append(f"{name}:{number}: assignment.toml has no topic {topic!r}")
        if closes and (opened is None or opened[1] != topic):
            faults.append(f"{name}:{number}: `# </{topic}>` without its `# <{topic}>`")
        if not closes and opened is not None:
            faults.append(f"{name}:{number}: `# <{topic}>` inside `# <{opened[1]}>`")
        opened = None if closes else (number, topic)
    if opened is not None:
        faults.append(f"{name}:{opened[0]}: `# <{opened[1]}>` without its `# </{opened[1]}>`")
    if faults:
        raise RegionError(faults)
    result = "\n".join(left)
    try:
        compile(result, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        number = getattr(error, "lineno", None) or 1
        place = f"{name}, with the topics {', '.join(sorted(kept)) or 'none'}, line {number}"
        raise RegionError([f"{place}: not valid Python: {error.args[0]}"]) from None
    return result
