"""Show what a student predicted and saw in experiments, and repeat them, on one page for staff.

    python -m tools.experiments UPLOAD --into PAGE.html [--edition NAME] [--rubrics FOLDER]

The page has the contents of the upload's experiments.json. `trace`, `ablate` and `reverse`, which
only look into a model, are repeated by the reference's code with the uploaded parameters of which
the student's results have the digest; what differs is marked. The others train models of their
own, which come out differently on each computer. It takes up to a minute of processor time, so no
grading does this: it is for when you read an answer. Nothing here changes points.

FOLDER is what `python -m tools.rubrics` wrote. Parameters are read in a confined worker, and no
code of the student's runs. Exit codes: 0 written, also if something couldn't be repeated; 2 wrong
usage, or an upload without experiments; 3 the grader failed.
"""

import contextlib
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder import authoritative, isolation
from autograder.description import REPO, load_assignment
from autograder.judging import course_runner
from autograder.pages import TEMPLATES, Repeated, shown_experiments
from classroom.report.result_pages import read_rubrics
from grading import paths
from grading.errors import GradingError, UsageError
from grading.report import render
from grading.results import write_atomically
from grading.runner import Observer, Options, case_of
from grading.verdicts import TestEnd
from questions.course import Course
from questions.shared.outputs import OutputsCase

from .arguments import OneLineParser

# What looks into a model, and which parameters the sheet's command gives it.
STAGES = {"trace": "finetune", "ablate": "finetune", "reverse": "pretrain"}
TRAINS = "It trains models of its own, which come out differently on each computer."
ANSWER = {"digest": str, "table": str}


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
            shutil.copy(paths.SRC / "inputs.py", run.staged.reference)
            for name in ("experiments", "data"):
                shutil.copytree(paths.SRC / name, run.staged.reference / name)
            case = case_of(run, runner.tests(run.edition), "pretraining", "matches_checkpoint")
            assert isinstance(case, OutputsCase)
            yield case


def ask(
    case: OutputsCase, params: str, name: str, seed: int = 0, digest: str = ""
) -> dict[str, Any]:
    """Repeat an experiment with uploaded parameters; see `questions.shared.probe.experiment`.

    Raises:
        TestEnd, GradingError: it isn't possible.
    """
    variant = params.partition(".")[0]
    weights, config = case.fitting(params, variant)
    asked = {"name": name, "variant": variant, "config": config, "weights": weights}
    asked |= {"corpus": case.run.data.corpus(), "seed": seed, "digest": digest}
    return case.reference("shared.experiment", ANSWER, **asked)


def repeat(case: OutputsCase, name: str, noted: dict[str, Any]) -> Repeated:
    """Repeat an experiment with the parameters that its results are of."""
    if name not in STAGES:
        return Repeated("", TRAINS)
    # The usual stage first, as others are for mistakes.
    stages = sorted(("finetune", "pretrain", "model"), key=lambda stage: stage != STAGES[name])
    files = [f"{variant}.{s}.params" for s in stages for variant in case.run.assignment.variants]
    uploaded = [file for file in files if case.staged.path(file)]
    others = []
    for file in uploaded:
        try:
            answer = ask(case, file, name, noted["seed"], noted["parameters"] or "none")
        except TestEnd as end:
            others.append(end.verdict.message)
            continue
        except GradingError as error:
            others.append(f"{file}: {error!s:.200}")
            continue
        if answer["table"]:
            note = f"By the reference's code, with {file}. Rounding may move a last digit."
            return Repeated(answer["table"], note)
        others.append(f"the results are not of {file}")
    return Repeated("", f"Not repeated: {'; '.join(others) or 'no parameters were uploaded'}.")


def write_page(upload: Path, edition: str | None, rubrics: Path | None, target: Path) -> int:
    """Write the page; return how many experiments it has.

    Raises:
        UsageError: the upload has none.
    """
    known = read_rubrics(rubrics, edition) if rubrics else {}
    with opened(upload, edition) as case:
        noted = case.staged.experiments
        if not noted:
            left = "; ".join(o.reason for o in case.staged.omissions if "experiments" in o.name)
            raise UsageError(f"{upload} has no experiments.json{left and f' ({left})'}")
        repeated = {name: repeat(case, name, one) for name, one in noted.items()}
    text = render(
        TEMPLATES / "experiments_page.html.j2",
        TEMPLATES / "record.css",
        title=f"Experiments: {upload.name}",
        notes=["For staff, not for students. Nobody can tell whether a prediction came first."],
        experiments=shown_experiments(noted, repeated, known),
    )
    write_atomically(target, text)
    return len(noted)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = OneLineParser("python -m tools.experiments", __doc__)
    parser.add_argument("upload", type=Path, metavar="UPLOAD", help="a zip or folder")
    parser.add_argument(
        "--into", type=Path, required=True, metavar="PAGE", help="the page to write"
    )
    parser.add_argument("--edition", help="default: the default edition in assignment.toml")
    parser.add_argument("--rubrics", type=Path, metavar="FOLDER", help="rubrics to show beside")
    asked = parser.parse_args(arguments)
    try:
        count = write_page(asked.upload, asked.edition, asked.rubrics, asked.into)
    except GradingError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 3
    except OSError as error:
        print(f"error: {asked.into} can't be written: {error.strerror}", file=sys.stderr)
        return 2
    print(f"{asked.into}: {count} experiment{'s' * (count > 1)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
