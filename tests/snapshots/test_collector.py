"""What collect_submission says of complete work, and of each thing that is wrong with it.

Of work with a fault, only the lines are pinned that complete work does not have, nor other work
with one warning. Sizes and numbers of lines are masked: they change with the reference.
"""

import os
import re
import shutil
from collections.abc import Callable

import collect_submission
from grading import staging
from grading.markers import END, START
from tests.project import ROOT
from tests.snapshots import check
from tests.student.collecting import STARTER, Desk

PARAMS, DEV = "vanilla.model.params", "vanilla.pretrain.dev.predictions"
MASKS = [(r"\d+(\.\d+)? (bytes|[kM]B)\b", "SIZE"), (r" {2,}SIZE", "  SIZE")]
MASKS += [(r"\.py:\d+:", ".py:N:"), (r"(HEAD|torch\.load): .*? \(is it", r"\1: ... (is it")]
ONE_WARNING = r"\d+ files in .*|The zip was written, with 1 warning: .*|exit code 1"


def masked(text: str) -> str:
    for pattern, short in MASKS:
        text = re.sub(pattern, short, text)
    return text


def own(desk: Desk, text: str | bytes, name: str = "mine.py") -> None:
    content = text.encode("utf-8") if isinstance(text, str) else text
    (desk.code / name).write_bytes(content)


def hours_later(desk: Desk, name: str) -> None:
    written = (desk.root / name).stat().st_mtime
    os.utime(desk.root / name, (written + 7200, written + 7200))


def folder_beside(desk: Desk) -> None:
    (desk.root / "submission").mkdir()
    (desk.root / "submission" / "dataset.py").touch()


def folder_within(desk: Desk) -> None:
    (desk.code / "parts").mkdir()
    (desk.code / "parts" / "mine.py").touch()


def changed_pretraining(desk: Desk) -> None:
    folder = desk.root / "src" / "pretraining"
    (folder / "fast.py").write_text("print('mine')\n", encoding="utf-8")
    (folder / "mine.py").touch()


def from_the_starter(*names: str) -> Callable[[Desk], object]:
    return lambda desk: [shutil.copy2(STARTER / name, desk.code) for name in names]


FAULTS: dict[str, Callable[[Desk], object]] = {
    "parameters are missing": lambda d: (d.root / PARAMS).unlink(),
    "predictions are missing": lambda d: (d.root / DEV).unlink(),
    "parameters have another name": lambda d: (d.root / PARAMS).rename(d.root / "x.params"),
    "parameters are a second copy": lambda d: (d.root / PARAMS).rename(
        d.root / "vanilla.model (1).params"
    ),
    "parameters are beside the code": lambda d: shutil.move(d.root / PARAMS, d.code / PARAMS),
    "parameters are empty": lambda d: (d.root / PARAMS).write_bytes(b""),
    "parameters are no zip": lambda d: (d.root / PARAMS).write_bytes(b"\x80\x02}q\x00."),
    "parameters are a damaged zip": lambda d: (d.root / PARAMS).write_bytes(b"PK\3\4cut off"),
    "parameters are newer than predictions": lambda d: hours_later(d, PARAMS),
    "predictions are empty": lambda d: (d.root / DEV).write_bytes(b""),
    "predictions are blank": lambda d: (d.root / DEV).write_bytes(b"\n\n\n"),
    "predictions have two lines": lambda d: (d.root / DEV).write_bytes(b"a\nb\n"),
    "predictions are not UTF-8": lambda d: (d.root / DEV).write_bytes(b"a\n\xff\nc\n"),
    "no data set": lambda d: shutil.rmtree(d.root / "src" / "data"),
    "no Python": lambda d: own(d, "x = (\n"),
    "an empty module": lambda d: own(d, " \n"),
    "UTF-16": lambda d: own(d, "x = 1\n".encode("utf-16")),
    "an import that the autograder lacks": lambda d: own(d, "import pandas\n"),
    "a given command is imported": lambda d: own(d, "import run\n"),
    "parts are not written": from_the_starter("helper.py"),
    "parts without points are not written": from_the_starter("attention_exploration.py"),
    "nothing between the markers": lambda d: own(d, f"def f():\n    {START}\n    {END}\n"),
    "a change outside the markers": lambda d: d.replace("dataset.py", "PAD_CHAR = ", "MY = "),
    "a marker is missing": lambda d: d.replace("london_baseline.py", f"    {START}\n", ""),
    "a marker is changed": lambda d: d.replace("london_baseline.py", END, "### END CODE HERE"),
    "both markers are missing": lambda d: [
        d.replace("london_baseline.py", f"    {kind}\n", "") for kind in (START, END)
    ],
    "a given module is missing": lambda d: (d.code / "utils.py").unlink(),
    "given code is changed": changed_pretraining,
    "no record of the starter": lambda d: (d.root / "src/submission_lines.json").write_bytes(b"{"),
    "too large a module": lambda d: own(d, "#" * 200_000),
    "a copy of a module": lambda d: (d.code / "helper.py").rename(d.code / "helper - Copy.py"),
    "a folder of modules": folder_within,
    "an unpacked zip beside src": folder_beside,
    "notes": lambda d: own(d, "...", "ideas.txt"),
    "files that nobody asks for": lambda d: own(d, "...", "rope.pretrain.params"),
}
REFUSED: dict[str, tuple[Callable[[Desk], object], tuple[str, ...]]] = {
    "two copies differ": (lambda d: (d.root / "src" / PARAMS).write_bytes(b"other"), ()),
    "no code": (lambda d: shutil.rmtree(d.code), ()),
    "no description": (lambda d: (d.root / "assignment.toml").unlink(), ()),
    "a link": (lambda d: [(d.root / DEV).unlink(), (d.root / DEV).symlink_to("/x")], ()),
    "--out that is no zip": (lambda d: None, ("--out", "assignment5")),
    "--out in no folder": (lambda d: None, ("--out", "no/such/folder/x.zip")),
}


def test_collector(desk, tmp_path, monkeypatch):
    monkeypatch.setattr(staging, "MAX_CODE_BYTES", 150_000)
    shutil.copy2(ROOT / "requirements.txt", desk.root)
    finished = shutil.copytree(desk.root, tmp_path / "finished")

    def collect(*arguments: str) -> list[str]:
        code, out, err = desk.collect(*arguments)
        shutil.rmtree(desk.root)
        shutil.copytree(finished, desk.root)
        return masked(f"{out}{err}exit code {code}").splitlines()

    complete = collect()
    texts = {"complete work": "\n".join(complete)}
    for title, spoil in FAULTS.items():
        spoil(desk)
        usual = re.compile("|".join([*map(re.escape, complete), ONE_WARNING]))
        texts[title] = "\n".join(line for line in collect() if not usual.fullmatch(line))
    for title, (spoil, arguments) in REFUSED.items():
        spoil(desk)
        texts[title] = "\n".join(collect(*arguments))
    monkeypatch.setattr(collect_submission, "MAX_UPLOAD_BYTES", 200_000)
    for number, path in enumerate(sorted(desk.root.glob("*.params"))[:3]):
        path.write_bytes(os.urandom(300_000 - 1000 * number))
    texts["too large"] = "\n".join(collect())
    check("collector", texts, {str(desk.root): "ROOT"})
