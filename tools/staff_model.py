"""Train the staff's model, on a world of its own, for students whose own model isn't ready.

    python -m tools.staff_model

`run.py trace --model staff` and the other commands that examine a model use it. The world is of the
same kind as the installed data set, and nobody occurs in both, so that the parameters, which are
public, answer nothing of what is graded. They are vanilla's of both stages, in float16. Everything
is kept in build/staff, and trained again only if code, recipe or world change.

Exit codes: 0 trained; 1 a training failed; 2 no data set, or a mistake in assignment.toml.
"""

import io
import itertools
import json
import sys
from pathlib import Path

from autograder.description import REPO, load_assignment

from . import commands, datafiles, reference, world
from .arguments import OneLineParser, with_one_line_errors

FIRST_SEED = 5_000_000_101  # of the world; the next ones are tried until nobody occurs in both
SEED = 0  # of the training
FOLDER = Path("src/staff")  # in a student's copy
TARGET = Path("build/staff")
TABLES = (
    datafiles.WIKI,
    datafiles.TRAIN,
    datafiles.DEV,
    datafiles.UNSEEN_INPUTS,
    datafiles.DATASET,
)


def files(repo: Path = REPO) -> dict[str, bytes]:
    """Return the staff's model and its data, by name in a student's copy, after training it.

    Raises:
        Failed: a command failed.
        UsageError: there is no data set, or assignment.toml has a mistake.
    """
    target, assignment = repo / TARGET, load_assignment(repo)
    reference.lay_out(repo, target)
    installed = json.loads((repo / datafiles.DATASET).read_text(encoding="utf-8"))["name"]
    kind = installed if installed in world.CITIES else "world"
    datafiles.write_all(target, other_world(repo, kind))
    trained = commands.pipeline("vanilla", pretrained=True)[:2]
    recipe = assignment.datasets[kind].recipe
    reference.run_all({"the staff's model": trained}, target, recipe, SEED)
    found = {(FOLDER / Path(name).name): (target / name).read_bytes() for name in TABLES}
    found |= {FOLDER / one.writes: rounded(target / one.writes) for one in trained}
    return {path.as_posix(): content for path, content in found.items()}


def other_world(repo: Path, kind: str) -> dict[str, str]:
    """Return the files of a world whose people are not those of the installed data set."""
    tables = (datafiles.TRAIN, datafiles.DEV, datafiles.TEST_INPUTS, datafiles.UNSEEN_INPUTS)
    known = questions([(repo / name).read_text(encoding="utf-8") for name in tables])
    for seed in itertools.count(FIRST_SEED):
        texts = world.make_world(seed, dataset=kind)
        if not known & questions([texts[str(name)] for name in tables]):
            return texts
    raise AssertionError("unreachable")


def questions(tables: list[str]) -> set[str]:
    """Return the questions in tables, with or without answers."""
    return {line.partition("\t")[0] for table in tables for line in table.splitlines()}


def rounded(path: Path) -> bytes:
    """Return a file of parameters in float16."""
    import torch  # here, since most commands that import this module never come here

    from pretraining import parameter_files

    content = io.BytesIO()
    state = {name: tensor.half() for name, tensor in parameter_files.read(path).items()}
    torch.save(state, content)
    return content.getvalue()


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 if done, 1 if a training failed, 2 for bad input."""
    OneLineParser("python -m tools.staff_model", __doc__).parse_args(arguments)
    size = sum(map(len, files().values()))
    print(f"The staff's model is up to date in {TARGET}/: {size / 2**20:.1f} MiB for students.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
