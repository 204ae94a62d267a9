"""Show what a student predicted and saw in experiments, and repeat them, on one page for staff.

    python -m tools.experiments UPLOAD [--into PAGE] [--edition NAME] [--rubrics FOLDER]

The page is UPLOAD.experiments.html in the present folder, unless you name another one. It has the
contents of the upload's experiments.json. `trace`, `ablate` and `reverse`, which only look into a
model, are repeated by the reference's code with the uploaded parameters of which the student's
results have the digest; what differs is marked. Results of the staff's model, if build/staff has
it, are said to be of it. The others train models of their own, which come out differently on each
computer. It takes up to a minute of processor time, so no grading does this: it is for when you
read an answer. Nothing here changes points.

FOLDER is what `python -m tools.rubrics` wrote. Parameters are read in a confined worker, and no
code of the student's runs. Exit codes: 0 written, also if something couldn't be repeated; 2 wrong
usage, or an upload without experiments; 3 the grader failed.
"""

import argparse
import contextlib
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grading
from autograder import authoritative, isolation
from autograder.description import REPO, load_assignment
from autograder.judging import course_runner
from autograder.pages import TEMPLATES, Repeated, shown_experiments
from classroom.arguments import count
from classroom.report.result_pages import read_rubrics
from grading.errors import GradingError, UsageError, safe_line
from grading.report import render
from grading.runner import Observer, Options, case_of
from grading.staging import EXPERIMENTS
from grading.verdicts import TestEnd, write_atomically
from questions.course import Course
from questions.shared.models import OutputsCase

from . import staff_model
from .arguments import OneLineParser

# What looks into a model, and which parameters the sheet's command gives it.
STAGES = {"trace": "finetune", "ablate": "finetune", "reverse": "pretrain"}
TRAINS = "It trains models of its own, which come out differently on each computer."
Write = Callable[[argparse.Namespace], str]
ANSWER = {"table": str, "problem": str}


@contextlib.contextmanager
def opened(upload: Path, edition: str | None) -> Iterator[OutputsCase]:
    """Stage an upload, and the reference with the code of experiments, to ask both.

    Raises:
        UsageError: there is no such edition, no data set, or nothing that can be staged.
    """
    isolation.hide_memory()
    runner, seed = course_runner(load_assignment(REPO), Course()), secrets.randbits(63)
    with contextlib.closing(authoritative.open_pool(seed)) as pool:
        options = Options(upload, edition=edition)
        with runner.begin(options, seed, Observer(), pool) as (run, _):
            run.data.require()
            if run.staged.reference is None:
                raise UsageError("there are no solutions here, which repeat experiments")
            shutil.copy(grading.SRC / "inputs.py", run.staged.reference)
            for name in ("experiments", "data"):
                shutil.copytree(grading.SRC / name, run.staged.reference / name)
            case = case_of(run, runner.tests(run.edition), "pretraining", "matches_checkpoint")
            assert isinstance(case, OutputsCase)
            yield case


def ask(case: OutputsCase, params: str, name: str, seed: int = 0, digest: str = "") -> Repeated:
    """Repeat an experiment with uploaded parameters; see `questions.shared.probe.experiment`."""
    variant = params.partition(".")[0]
    try:
        weights, config = case.fitting(params, variant)
        model = case.loading(variant, config, weights)
        asked = {"name": name, "model": model, "seed": seed, "digest": digest}
        answer = case.reference("shared.experiment", ANSWER, **asked)
    except TestEnd as end:
        return Repeated("", end.verdict.message)
    except GradingError as error:  # it took too long, for example
        return Repeated("", f"{params}: {safe_line(str(error), 200)}")
    if answer["problem"]:
        return Repeated("", f"{params}: {safe_line(answer['problem'], 200)}")
    note = f"By the reference's code, with {params}. Rounding may move a last digit."
    return Repeated(answer["table"], note)


def repeat(case: OutputsCase, name: str, noted: dict[str, Any]) -> Repeated:
    """Repeat an experiment with the parameters that its results are of."""
    if name not in STAGES:
        return Repeated("", TRAINS)
    notes = []
    for params in uploaded(case, STAGES[name]):
        again = ask(case, params, name, noted["seed"], noted["parameters"] or "none")
        if again.table:
            return again
        notes.append(again.note)
    if noted["parameters"] == staffs_digest(STAGES[name]):
        return Repeated("", "Not repeated: the results are of the staff's model, as is permitted.")
    return Repeated("", f"Not repeated: {'; '.join(notes) or 'no parameters were uploaded'}.")


def staffs_digest(stage: str) -> str:
    """Return the digest of the staff's model after a stage of training; "" if there is none."""
    path = REPO / staff_model.TARGET / f"vanilla.{stage}.params"
    if not path.exists():
        return ""
    from experiments.commands import digest  # here, since these import torch
    from pretraining import parameter_files

    return digest(parameter_files.read(path))


def uploaded(case: OutputsCase, first: str) -> list[str]:
    """Return the names of uploaded parameters, those of one stage of training first."""
    stages = sorted(("finetune", "pretrain", "model"), key=lambda stage: stage != first)
    names = [f"{variant}.{s}.params" for s in stages for variant in case.run.assignment.variants]
    return [name for name in names if case.staged.path(name)]


def write_page(asked: argparse.Namespace) -> str:
    """Write the page; return what to print.

    Raises:
        UsageError: the upload has no experiments.
    """
    known = read_rubrics(asked.rubrics, asked.edition) if asked.rubrics else {}
    with opened(asked.upload, asked.edition) as case:
        noted = case.staged.experiments
        if not noted:
            left = [o.reason for o in case.staged.omissions if o.name.endswith(EXPERIMENTS)]
            why = f" ({left[0]})" if left else ""
            raise UsageError(f"{asked.upload} has no {EXPERIMENTS}{why}")
        repeated = {name: repeat(case, name, one) for name, one in noted.items()}
    text = render(
        TEMPLATES / "experiments_page.html.j2",
        TEMPLATES / "record.css",
        title=f"Experiments: {asked.upload.name}",
        notes=["For staff, not for students. Nobody can tell whether a prediction came first."],
        experiments=shown_experiments(noted, repeated, known),
    )
    write_atomically(asked.into, text)
    return f"{asked.into}: {count(len(noted), 'experiment')}"


def command(kind: str, doc: str | None, arguments: list[str] | None, write: Write) -> int:
    """Run a command that writes a page about an upload; return the exit code.

    Args:
        kind: the command's name, also at the end of the page's usual name.
        write: writes the page, and returns the line to print.
    """
    parser = OneLineParser(f"python -m tools.{kind}", doc)
    parser.add_argument("upload", type=Path, metavar="UPLOAD", help="a zip or folder")
    parser.add_argument("--into", type=Path, metavar="PAGE", help="the page to write")
    parser.add_argument("--edition", help="default: the default edition in assignment.toml")
    if kind == "experiments":
        parser.add_argument("--rubrics", type=Path, metavar="FOLDER", help="rubrics to show beside")
    asked = parser.parse_args(arguments)
    asked.into = asked.into or Path(f"{asked.upload.stem}.{kind}.html")
    try:
        print(write(asked))
    except GradingError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 3
    except OSError as error:
        print(f"error: {asked.into} can't be written: {error.strerror}", file=sys.stderr)
        return 2
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    return command("experiments", __doc__, arguments, write_page)


if __name__ == "__main__":
    sys.exit(main())
