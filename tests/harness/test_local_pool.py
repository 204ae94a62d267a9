"""A worker of the LocalPool does job after job; none meets what an earlier one has changed."""

import contextlib
import textwrap
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from grading import wire
from grading.errors import WireError
from grading.pool import Finished, Job, LocalPool
from grading.runner import Observer, Options
from grading.verdicts import Outcome
from grading.worker import Limits
from tests.redteam import arena

PROBE = "questions.attention_exploration.probe:call"
# What a later job can observe: answers of the libraries, and the worker that it runs in.
LATER = """
def average_query(keys, a, b):
    import json, random, threading
    seen = [np.exp(1.0), np.random.rand(), random.random(), len(json.dumps([1]))]
    seen += [len(threading.enumerate()), len(os.listdir(".")), len(sys.path), len(sys.meta_path)]
    seen += [os.getcwd().count("scratch-"), len(os.environ), sys.gettrace() is None]
    seen += ["PWNED" in str(os.environ), hasattr(sys.modules["submission"], "PWNED")]
    if "torch" in sys.modules:
        import torch
        from torch import nn
        torch.nn.functional.relu(torch.zeros(1))
        x = torch.arange(3.0)
        seen += [*x.softmax(0), *torch.nn.functional.softmax(x, 0), torch.rand(1).item()]
        seen += [x.element_size(), torch.is_grad_enabled(), torch.get_num_threads()]
        seen += [nn.Linear(2, 2)(torch.ones(2)).sum().item(), float(abs(x).sum())]
    return np.array([float(each) for each in seen])
"""
ATTACKS = {
    "a function of numpy": "np.exp = lambda x: np.zeros(2)",
    "a function's code": "import json; json.dumps.__code__ = (lambda *_, **k: '').__code__",
    "the seeds": "import random; random.seed(0); np.random.seed(0)",
    "a thread that spoils": """
        import threading, time
        def spoil():
            while True:
                np.exp = lambda x: 0.0
                time.sleep(0.001)
        threading.Thread(target=spoil, daemon=True).start()""",
    "a trace": "sys.settrace(lambda *_: None)",
    "sys.path": "sys.path.insert(0, os.getcwd())",
    "the environment": "os.environ['PWNED'] = '1'; os.environ.pop('PATH', None)",
    "the submission's package": "import submission; submission.PWNED = 1",
    "hooks of imports": "sys.path_hooks.clear(); sys.meta_path.clear()",
    "a child": "import subprocess; subprocess.Popen(['sleep', '60'])",
    "the worker": "from grading import worker; worker.prepare = None",
    "a finalizer": "global kept\nclass Late:\n"
    "    def __del__(self): np.exp = lambda x: 0.0\nkept = Late(); kept.me = kept",
    "all descriptors": "os.closerange(0, 256)",
    "its standard input": "os.read(0, 1 << 20)",
    "a loop in C": "import itertools; sum(itertools.repeat(0))",
    "a fork": "os.fork()",
}
ATTACKS_ON_TORCH = {
    "a function": "torch.nn.functional.softmax = lambda *_: torch.zeros(3)",
    "an operator": "torch.Tensor.__abs__ = lambda self: self",
    "the default dtype": "torch.set_default_dtype(torch.float64)",
    "gradients": "torch.set_grad_enabled(False)",
    "the seed": "torch.manual_seed(0)",
    "a hook of all layers": "torch.nn.modules.module.register_module_forward_hook("
    "lambda *_: torch.zeros(2))",
    "a mode": "from torch.overrides import TorchFunctionMode; TorchFunctionMode().__enter__()",
}

CASES = [(name, False) for name in ATTACKS] + [(name, True) for name in ATTACKS_ON_TORCH]
# What code does every day costs no new worker.
UNDONE = ("the seeds", "sys.path", "the environment", "gradients", "the seed")
WRONG = ("NameError", "SyntaxError", "ImportError", "AttributeError")  # the attack tried nothing
ALONE: dict[bool, list] = {}


@pytest.fixture(scope="module")
def pool() -> Iterator[LocalPool]:
    pool = LocalPool(hash_seed=1)
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def slower() -> float:
    return arena.slowness()


@pytest.fixture
def run(pool, slower, tmp_path):
    """Return a function that runs a query of a submission with this code in it."""
    package = tmp_path / "staged" / "submission"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()

    def run(code: str, query: str, torch: bool = False, fresh: bool = False) -> Finished:
        (package / "attention_exploration.py").write_text(code, encoding="utf-8")
        asked = [[np.eye(3), 1, 2]] if query == "average_query" else [[np.eye(3), 1]]
        called = {"module": "attention_exploration.py", "function": query}
        args = {**called, "arguments": asked, "parts": 1}
        request = {"probe": PROBE, "args": args, "seed": 5, "submission": str(package.parent)}
        limits = replace(Limits.for_test(0.3), wall_s=slower, total_wall_s=3 * slower)
        return pool.run(Job("submission", torch, request, limits, tmp_path, fresh))

    return run


@pytest.fixture
def undisturbed(run) -> dict[bool, list]:
    """What `average_query` answers in workers that have done nothing else."""
    if not ALONE:
        for torch in (False, True):
            ALONE[torch] = answer(run(attacking("pass"), "average_query", torch, fresh=True))
    return ALONE


def answer(finished: Finished) -> list:
    assert finished.frame is not None, finished
    envelope = wire.decode(finished.frame)
    assert envelope["ok"], envelope
    return [part.tolist() for part in envelope["value"]["answers"][0]]


def attacking(attack: str, before: str = "") -> str:
    body = textwrap.indent(textwrap.dedent(attack).strip(), "    ")
    head = f"import os, sys\nimport numpy as np\n{before}\n"
    return f"{head}def copying_query(keys, j):\n{body}\n    return keys[j]\n{LATER}"


@pytest.mark.parametrize(("name", "torch"), CASES)
@pytest.mark.sampled(2)
def test_a_job_meets_nothing_of_an_earlier_one(name, torch, run, undisturbed):
    attack = ATTACKS_ON_TORCH[name] if torch else ATTACKS[name]
    code = attacking(attack, "import torch" if torch else "")
    attacked = run(code, "copying_query", torch)
    with contextlib.suppress(WireError):
        envelope = wire.decode(attacked.frame or b"")
        assert envelope["ok"] or envelope["error"]["type"] not in WRONG, envelope
    later = run(code, "average_query", torch)
    assert answer(later) == undisturbed[torch]
    assert later.used or name not in UNDONE


# What counts ------------------------------------------------------------------------------------

# A setting that nobody restores, and a later function that fails because of it.
SETS = "import socket\n\ndef copying_query(keys, j):\n    socket.setdefaulttimeout(9)\n"
FAILS = """
def average_query(keys, a, b):
    if socket.getdefaulttimeout() is not None:
        raise KeyError("lost")
    return 100.0 * (keys[a] + keys[b])
"""


def test_a_failure_that_a_fresh_worker_does_not_repeat_does_not_count(runner, submission):
    path = submission / "submission" / "attention_exploration.py"
    code = SETS + "    return 100.0 * keys[j]\n" + FAILS
    path.write_text(f"import numpy as np\n{code}", encoding="utf-8")
    options = Options(submission=submission, selection=("3a-0-basic", "3a-1-hidden", "3b-0-basic"))
    with contextlib.closing(LocalPool(1)) as pool:
        results = runner.run(options, 7, Observer(), pool)
    assert {t.outcome for t in results.selected_tests} == {Outcome.PASSED}
    (warning,) = results.facts["warnings"]
    assert warning.startswith("3b-0-basic: error after other tests, passed in a new process")
