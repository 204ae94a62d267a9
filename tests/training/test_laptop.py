"""The recipe with which students train: all other tests train with the tiny one, `smoke`."""

import re

import pytest

from tests.interpreter import python
from tools import commands, datafiles, world
from tools.reference import lay_out


@pytest.mark.long
def test_without_pretraining_every_training_question_is_remembered(tree, tmp_path):
    """The grader asks 50 of these questions; its bound allows for 0.6 % that are forgotten.

    The seeds of the world and the training are fixed, so that only a processor's rounding makes a
    difference between runs.
    """
    lay_out(tree, tmp_path)
    datafiles.write_all(tmp_path, world.make_world(seed=1))
    trains = commands.finetune("vanilla", pretrained=False)
    asks = ["--reading_params_path", trains.writes, "--outputs_path", "train.predictions"]
    asks += ["--eval_corpus_path", commands.TRAIN]
    evaluates = ["src/run.py", "evaluate", "vanilla", "wiki.txt", *asks]
    for arguments in ([*trains.arguments, "--threads", "1"], evaluates):
        ran = python(tmp_path, *arguments, "--seed", "0")
        assert ran.returncode == 0, ran.stdout + ran.stderr
    right, asked = map(int, re.search(r"Correct: (\d+) of (\d+)", ran.stdout).groups())
    assert asked == 200
    assert right >= 0.994 * asked, f"{right} of {asked}: the recipe trains for too short a time"
