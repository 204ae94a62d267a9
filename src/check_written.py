"""Check that every written answer is there before you submit the PDF.

    python src/check_written.py                     checks written/submission.tex
    python src/check_written.py other.tex

The command compares the answers in submission.tex with the questions in sheet.tex in the same
folder, looks for what LaTeX would not print or would stop at, and packs the folder as
overleaf.zip. It does not judge what you wrote.

Exit codes: 0 all answered; 1 something is missing or looks wrong; 2 usage or bad input.
"""

import environment

if __name__ == "__main__":
    environment.check()

import difflib
import io
import re
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import letters
from grading import release
from pretraining import InputError
from pretraining.files import write_atomically

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = ROOT / "written"
START = f"% {release.START}"
END = f"% {release.END}"
# A comment line that is a marker, possibly mistyped.
MARKER = re.compile(r"%[\s%#]*(START|END)[\s_]+CODE[\s_]+HERE[\s#]*$", re.IGNORECASE)
COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")  # \% is a percent sign; \\% is \\ and a comment
SLOT = re.compile(r"\\answerspace\s*(\[no points\])?\s*\{\s*([^{}#\\]+?)\s*\}")
BORDER = re.compile(r"\\(begin|end)\s*\{\s*answer\s*\}(?:\s*\{([^{}]*)\})?")
DECLARATIONS = ("collaborators", "aitools")
# Allowed outside answers: it prints nothing, or check_source() has checked it already.
SILENT = re.compile(
    r"\\((re)?newcommand|def|let|DeclareMathOperator|usepackage|input|documentclass)\b"
    r"|\\(begin|end)\s*\{\s*(document|answer)\s*\}"
)


@dataclass(frozen=True)
class Block:
    """A place to type in: an answer environment, or a declaration's braces."""

    title: str  # its name in messages: "answer 3a"
    first: int  # its lines, from 1, including its borders
    last: int
    text: str  # its content, without comments
    id: str = ""  # of an answer, where it has one

    @property
    def is_empty(self) -> bool:
        return not self.text.strip()


@dataclass
class Source:
    """A LaTeX file."""

    path: Path
    lines: list[str]
    code: str  # its text without comments, with the same line numbers
    findings: list[tuple[int, str]] = field(default_factory=list)  # (line number, sentence)

    def find(self, number: int, sentence: str) -> None:
        """Record that something is wrong in a line, counted from 1."""
        self.findings.append((number, sentence))

    def line_of(self, place: int) -> int:
        """Return the number, from 1, of the line that contains a position of `code`."""
        return self.code.count("\n", 0, place) + 1


def read(path: Path) -> Source:
    """Read a LaTeX file; a byte-order mark and Windows line endings are accepted.

    Raises:
        InputError: it is missing, or is not UTF-8 text.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{show(path)}: {error.strerror}; it is in the folder written of the course's zip"
        ) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{show(path)}:{number}: not UTF-8 text; save the file as UTF-8 in your editor"
        ) from None
    lines = text.split("\n")  # carriage returns count as white space
    return Source(path, lines, "\n".join(COMMENT.sub(r"\1", line) for line in lines))


def show(path: Path) -> str:
    """Return a path for people: relative to the assignment's root if it is inside."""
    path = path.resolve()
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)


# -- LaTeX ----------------------------------------------------------------------------------------


def check_source(path: Path) -> int:
    """Compare the answers in a LaTeX file with the sheet's questions; return the exit code.

    Raises:
        InputError: the file or the sheet can't be read.
    """
    source = read(path)
    beside = path.resolve().parent / "sheet.tex"
    sheet = read(beside if beside.is_file() else WRITTEN / "sheet.tex")
    spaces = list(SLOT.finditer(sheet.code))
    slots = {space[2]: sheet.line_of(space.start()) for space in spaces}  # lines by ids
    unscored = {space[2] for space in spaces if space[1]}
    if not slots:
        raise InputError(f"{show(sheet.path)}: no \\answerspace{{...}}, expected one per question")
    answers = find_answers(source)
    check_ids(source, sheet, slots, answers)
    optional = [block for block in answers if block.id in unscored and block.is_empty]
    blocks = answers + find_declarations(source)
    markers = find_markers(source)
    for block in blocks:
        check_block(source, block, markers, may_be_empty=block in optional)
        Scanner(source, block).scan()
    check_strays(source, blocks, markers)
    answered = {block.id for block in answers if not block.is_empty}
    scored = slots.keys() - unscored
    for checked in (source, sheet):
        for number, sentence in sorted(checked.findings):
            print(f"{show(checked.path)}:{number}: {sentence}")
    if optional:
        print(f"Without points, and empty: {', '.join(block.id for block in optional)}.")
    print(f"{len(answered & scored)} of {len(scored)} questions are answered in {show(path)}.")
    if path.resolve() == (WRITTEN / "submission.tex").resolve():
        pack_for_overleaf()
    return 1 if source.findings or sheet.findings else 0


def find_answers(source: Source) -> list[Block]:
    """Return the answers in order; report a missing beginning, end or id."""
    answers = []
    borders = list(BORDER.finditer(source.code))
    for match, before, after in zip(borders, [None, *borders], [*borders[1:], None], strict=False):
        number = source.line_of(match.start())
        if match[1] == "end":
            if before is None or before[1] == "end":
                source.find(number, "\\end{answer} has no \\begin{answer}{...} above it")
            continue
        name = (match[2] or "").strip()
        if not name:
            source.find(number, "\\begin{answer} has no id, expected \\begin{answer}{...}")
        if after is None or after[1] == "begin":
            source.find(number, f"{match[0]} has no \\end{{answer}}; put it back")
        end = after.start() if after else len(source.code)
        text, last = source.code[match.end() : end], source.line_of(end)
        answers.append(Block(f"answer {name}".rstrip(), number, last, text, name))
    return answers


def check_ids(source: Source, sheet: Source, slots: dict[str, int], answers: list[Block]) -> None:
    """Report answers that are missing, unknown or duplicated; those without an id were reported."""
    lines: dict[str, int] = {}
    for block in filter(lambda block: block.id, answers):
        if block.id in lines:
            first = lines[block.id]
            source.find(block.first, f"{block.title} appears twice, first in line {first}")
        elif block.id not in slots:
            close = difflib.get_close_matches(block.id, slots, n=1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            source.find(block.first, f"{block.title}: the sheet has no such question{hint}")
        lines.setdefault(block.id, block.first)
    for name in slots.keys() - lines.keys():
        wanted = f"\\begin{{answer}}{{{name}}}"
        sheet.find(slots[name], f"answer {name} is missing: {source.path.name} has no {wanted}")


def find_declarations(source: Source) -> list[Block]:
    """Return \\collaborators{...} and \\aitools{...}; report missing or unclosed ones."""
    blocks = []
    for name in DECLARATIONS:
        match = re.search(rf"\\{name}\s*\{{", source.code)
        if match is None:
            source.find(1, f"\\{name}{{...}} is missing; put it back (`none` is a valid answer)")
            continue
        first = source.line_of(match.start())
        end = _closing_brace(source.code, match.end())
        if end is None:
            source.find(first, f"\\{name}{{ has no closing }}, or contains an unmatched brace")
            following = re.compile(r"\n\s*\\(collaborators|aitools|begin)\b")
            stop = following.search(source.code, match.end())
            end = stop.start() if stop else len(source.code)
        text = source.code[match.end() : end]
        blocks.append(Block(f"\\{name}", first, source.line_of(end), text))
    return blocks


def _closing_brace(code: str, start: int) -> int | None:
    """Return the position of the brace that closes the one opened before `start`."""
    depth = 1
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(code, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    return None


def find_markers(source: Source) -> dict[int, str]:
    """Return the lines that are markers, as START or END; report markers that were changed."""
    markers = {}
    for number, line in enumerate(source.lines, start=1):
        match = MARKER.match(line.strip())
        if match:
            markers[number] = START if match[1].upper() == "START" else END
            got = line.strip()
            if got != markers[number]:
                source.find(number, f"got the marker `{got}`, expected `{markers[number]}`")
    return markers


def check_block(source: Source, block: Block, markers: dict[int, str], may_be_empty: bool) -> None:
    """Report an empty block, missing markers, and text outside of them; pop its markers."""
    numbers = [n for n in range(block.first, block.last + 1) if n in markers]
    kinds = [markers.pop(number) for number in numbers]
    if block.is_empty and not may_be_empty:
        none = "; `none` is a valid answer" if block.title.startswith("\\") else ""
        source.find(block.first, f"{block.title} is empty{none}")
    gone = [f"`{marker}`" for marker in (START, END) if marker not in kinds]
    if gone:
        them = "them" if len(gone) > 1 else "it"
        source.find(block.first, f"{block.title} lacks {' and '.join(gone)}; put {them} back")
    elif kinds != [START, END]:
        source.find(numbers[0], f"{block.title} has {len(kinds)} markers, expected START and END")
    else:
        code = source.code.split("\n")
        outside = [*range(block.first + 1, numbers[0]), *range(numbers[1] + 1, block.last)]
        typed = [number for number in outside if code[number - 1].strip()]
        if typed:
            source.find(typed[0], f"{block.title}: this text is outside its markers; move it")


def check_strays(source: Source, blocks: list[Block], markers: dict[int, str]) -> None:
    """Report text and markers outside of all blocks, where text would be lost."""
    inside = {number for block in blocks for number in range(block.first, block.last + 1)}
    for number, marker in markers.items():
        source.find(number, f"`{marker}` is not inside an answer; put back what was around it")
    lost = False
    for number, line in enumerate(source.code.split("\n"), start=1):
        was_lost, lost = lost, bool(line.strip()) and number not in inside
        if lost and not was_lost and not SILENT.match(line.strip()):
            source.find(
                number, "this text is not inside an answer; move it between an answer's markers"
            )


# -- what stops LaTeX, or is not printed ----------------------------------------------------------

TOKEN = re.compile(
    r"\\verb\*?(?P<bar>[^\sa-zA-Z*]).*?(?P=bar)"
    r"|\\(?:url|path|href|label|ref|eqref|cite|includegraphics|input)\s*(?:\[[^]]*\])?\{[^{}]*\}"
    r"|\\hyperref\s*\[[^]]*\]"
    r"|\\(?P<border>begin|end)\s*\{(?P<environment>[^{}]*)\}"
    r"|\\(?P<words>(?:text\w*|mbox|hbox|intertext|emph|ensuremath))\s*\{"
    r"|(?P<sign>\\[()\[\]]|\$\$?|[{}_^&#%])"
    r"|\\(?:[a-zA-Z]+|.)"
    r"|(?P<characters>[^\x20-\x7e]+)"
)
FORMULAS = re.compile(r"(math|displaymath|equation|align|gather|multline|eqnarray|alignat)\*?")
TABLES = re.compile(
    r"(align(at|ed)?|eqnarray|split|cases|array|tabular[xy]?|longtable|tabu|overview|worked|\w?matrix)\*?"
)
VERBATIM = re.compile(r"(verbatim|Verbatim|lstlisting|listing|shell|minted|comment)\*?")
PAIRS = {"{": "}", "\\(": "\\)", "\\[": "\\]", "$": "$", "$$": "$$"}
FORMULA_SIGNS = {end: begin for begin, end in PAIRS.items() if begin != "{"}
# What stands before a percent sign that is meant: a number or a word, not the name of a command.
NUMBER = re.compile(r"(\d|[)$]|\d(\}+|\\\\)|(?<![\\a-zA-Z])[a-zA-Z]+)$")
DEFINITION = re.compile(r"\\((re|provide)?newcommand|e?def)\b")
ESCAPES = {
    "_": "LaTeX stops at _ outside of a formula; write \\_, or the formula between $ and $",
    "^": "LaTeX stops at ^ outside of a formula; write the formula between $ and $",
    "&": "LaTeX stops at & outside of a table; write \\&",
    "#": "LaTeX stops at #; write \\#",
}


@dataclass(frozen=True)
class Context:
    """A group, formula or environment around a place in an answer."""

    closing: str  # what ends it: a sign, or the name of an environment
    number: int  # the line on which it begins
    is_formula: bool = False
    is_table: bool = False


class Scanner:
    """Finds what LaTeX would stop at, or leave out, in the lines of one block."""

    def __init__(self, source: Source, block: Block) -> None:
        self._source, self._block = source, block
        self._contexts = [Context("", block.first)]

    def scan(self) -> None:
        """Report everything in the block."""
        for number in range(self._block.first, self._block.last + 1):
            line = self._source.lines[number - 1]
            if not line.strip() or MARKER.match(line.strip()):
                self._leave(self._outermost_formula())  # LaTeX ends it with the paragraph
            else:
                for sentence in dict.fromkeys(self._of_line(number, line)):  # each once
                    self._find(number, sentence)

    def _of_line(self, number: int, line: str) -> Iterator[str]:
        for match in TOKEN.finditer(line):
            is_verbatim = VERBATIM.fullmatch(self._contexts[-1].closing) is not None
            if is_verbatim and match["border"] != "end" and not match["characters"]:
                continue
            if match["sign"] == "%":
                yield from self._of_comment(number, line, match.start())
                return
            yield from self._of_token(number, line, match)

    def _find(self, number: int, sentence: str) -> None:
        self._source.find(number, f"{self._block.title}: {sentence}")

    def _of_token(self, number: int, line: str, match: re.Match[str]) -> list[str]:
        """Read a token; return what is wrong with it."""
        here, sign = self._contexts[-1], match["sign"]
        if match["bar"]:
            return letters.unprinted(match[0])
        if match["border"] == "begin":
            name = match["environment"].strip()
            is_formula = here.is_formula or FORMULAS.fullmatch(name) is not None
            is_table = here.is_table or TABLES.fullmatch(name) is not None
            self._contexts.append(Context(name, number, is_formula, is_table))
        elif match["border"]:
            self._close(match["environment"].strip())
        elif match["words"]:
            is_formula = match["words"] == "ensuremath"
            self._contexts.append(Context("}", number, is_formula, here.is_table))
        elif match["characters"]:
            return letters.unprinted(match["characters"], here.is_formula)
        elif sign in ESCAPES:
            harmless = {"&": here.is_table, "#": DEFINITION.search(line) is not None}
            return [] if harmless.get(sign, here.is_formula) else [ESCAPES[sign]]
        elif sign:
            self._pair(number, sign)
        return []

    def _pair(self, number: int, sign: str) -> None:
        """Enter or leave a group or a formula."""
        here = self._contexts[-1]
        if here.is_formula or sign not in PAIRS:
            if sign == "$$" and self._close("$"):
                sign = "$"  # the end of a formula and the beginning of another
            elif self._close(sign) or sign not in PAIRS:
                return
        is_formula = here.is_formula or sign != "{"
        self._contexts.append(Context(PAIRS[sign], number, is_formula, here.is_table))

    def _close(self, closing: str) -> bool:
        """Leave the innermost context that ends so; return whether there is one."""
        for depth in range(len(self._contexts) - 1, 0, -1):
            if self._contexts[depth].closing == closing:
                self._leave(depth + 1)
                del self._contexts[depth]
                return True
        return False

    def _outermost_formula(self) -> int:
        """Return the depth of the outermost formula that a sign began."""
        signs = [context.closing in FORMULA_SIGNS for context in self._contexts]
        return signs.index(True) if True in signs else len(signs)

    def _leave(self, depth: int) -> None:
        """Leave all contexts from a depth on; report the first formula that is still open."""
        for context in self._contexts[depth:]:
            if context.closing in FORMULA_SIGNS:
                opening = FORMULA_SIGNS[context.closing]
                remedy = "; write \\$ for a dollar sign" if opening == "$" else ""
                said = f"the formula that {opening} begins has no {context.closing}{remedy}"
                self._find(context.number, said)
                break
        del self._contexts[depth:]

    def _of_comment(self, number: int, line: str, place: int) -> list[str]:
        """Return what is wrong with a percent sign that isn't escaped."""
        before, behind = line[:place].strip(), line[place + 1 :].strip()
        if not before:
            above = self._source.lines[number - 2].rstrip()
            if number - 1 <= self._block.first or not above[-1:].isdigit() or not behind:
                return []
        elif not behind and not NUMBER.search(before):
            return []  # as in \begin{tabular}{ll}%, where no percent sign is meant
        if not behind:
            return ["this % is not printed; write \\%"]
        return [
            "this % and the rest of the line are not printed; write \\%, or put a comment on a "
            "line of its own"
        ]


# -- Overleaf -------------------------------------------------------------------------------------

LEFT_BEHIND = re.compile(
    r"Makefile|(sheet|with_solutions|submission)\.(?!tex$).*"  # what LaTeX writes
    r"|\..*|.*[~#]"  # hidden files, and those of editors
)


def pack_for_overleaf() -> None:
    """Write overleaf.zip with the present files of the folder written, or raise an InputError."""
    if not (WRITTEN / "with_solutions.tex").is_file():
        return  # not a copy of the course's zip
    target, packed = ROOT / "overleaf.zip", io.BytesIO()
    try:
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(WRITTEN.rglob("*")):
                name = path.relative_to(WRITTEN)
                if path.is_file() and not any(LEFT_BEHIND.fullmatch(part) for part in name.parts):
                    archive.write(path, name.as_posix())
        write_atomically(target, packed.getvalue())
    except OSError as error:
        raise InputError(f"{show(target)}: can't be written: {error.strerror}") from None
    print(f"{show(target)} has these answers, for Overleaf.")


# -- the command ----------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    environment.use_utf8()
    parser = environment.parser(__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=WRITTEN / "submission.tex")
    path = parser.parse_args(arguments).file
    try:
        if path.suffix.lower() != ".tex":
            raise InputError(
                f"{show(path)}: expected submission.tex; answers in other files, such as a PDF, "
                "can't be checked"
            )
        return check_source(path)
    except InputError as error:
        print(f"check_written.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
