"""A worker of the LocalPool does job after job; none meets what an earlier one has changed."""

import contextlib
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from autograder import authoritative, isolation
from grading import wire
from grading.errors import WireError
from grading.pool import Finished, Job, LocalPool, command
from grading.runner import Observer, Options
from grading.verdicts import Outcome, Results
from grading.worker import Limits
from tests.project import ROOT
from tests.redteam import arena
from tests.systems import become

PROBE = "questions.attention_exploration.probe:call"
# What a later job can observe: answers of the libraries, and the worker that it runs in.
LATER = """
def average_query(keys, a, b):
    import decimal, json, random, threading, warnings
    seen = [np.exp(1.0), np.random.rand(), random.random(), sum([1, 2]), len(json.dumps([1]))]
    seen += [sys.getrecursionlimit(), len(threading.enumerate()), len(os.listdir("."))]
    seen += [len(sys.path), len(sys.meta_path), len(warnings.filters), decimal.getcontext().prec]
    seen += [os.getcwd().count("scratch-"), len(os.environ), sys.gettrace() is None]
    seen += ["PWNED" in str(os.environ), hasattr(sys.modules["submission"], "PWNED")]
    if "torch" in sys.modules:
        import torch
        from torch import nn
        torch.nn.functional.relu(torch.zeros(1))
        x = torch.arange(3.0)
        seen += [*x.softmax(0), *torch.nn.functional.softmax(x, 0), torch.rand(1).item()]
        seen += [x.element_size(), torch.is_grad_enabled(), torch.get_num_threads()]
        seen += [nn.Linear(2, 2)(torch.ones(2)).sum().item()]
    return np.array([float(each) for each in seen])
"""
ATTACKS = {
    "a function of numpy": "np.exp = lambda x: np.zeros(2)",
    "the seeds": "import random; random.seed(0); np.random.seed(0)",
    "the method of a class": "import random; random.Random.random = lambda self: 0.5",
    "the recursion limit": "sys.setrecursionlimit(5000)",
    "a thread": "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start()",
    "a trace": "sys.settrace(lambda *_: None)",
    "warnings": "import warnings; warnings.simplefilter('error')",
    "sys.path": "sys.path.insert(0, os.getcwd())",
    "the environment": "os.environ['PWNED'] = '1'; os.environ.pop('PATH', None)",
    "the folder": "os.chdir('/')",
    "the umask": "os.umask(0o777)",
    "the submission's package": "import submission; submission.PWNED = 1",
    "an alias": "import submission; sys.modules['mine'] = submission",
    "an alarm": "import signal; signal.alarm(1)",
    "an open file": "global kept; kept = open('left', 'w')",
    "a child": "import subprocess; subprocess.Popen(['sleep', '60'])",
    "memory": "global kept; sys.modules['json'].kept = np.ones(40_000_000)",
    "a context": "import decimal; decimal.getcontext().prec = 2",
    "the garbage collector": "import gc; gc.disable()",
    "the files": "[open(str(n), 'w').close() for n in range(50)]",
    "the streams": "sys.stdout = sys.stderr = None",
    "its standard input": "os.read(0, 1 << 20)",
    "a deadlock": "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "a fork": "os.fork()",
}
ATTACKS_ON_TORCH = {
    "a function": "torch.nn.functional.softmax = lambda *_: torch.zeros(3)",
    "a method": "torch.Tensor.softmax = lambda *_: torch.zeros(3)",
    "the default dtype": "torch.set_default_dtype(torch.float64)",
    "gradients": "torch.set_grad_enabled(False)",
    "inference": "global kept; kept = torch.inference_mode(); kept.__enter__()",
    "threads": "torch.set_num_threads(3)",
    "the seed": "torch.manual_seed(0)",
    "a hook of all layers": "torch.nn.modules.module.register_module_forward_hook("
    "lambda *_: torch.zeros(2))",
    "deterministic algorithms": "torch.use_deterministic_algorithms(True)",
    "tiny numbers": "torch.set_flush_denormal(True)",
}

ALONE: dict[bool, list] = {}


@pytest.fixture(scope="module")
def slower() -> float:
    return arena.slowness()


@pytest.fixture
def run(pools, tmp_path, slower):
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
        return pools["local"].run(Job("submission", torch, request, limits, tmp_path, fresh))

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


WRONG = ("NameError", "SyntaxError", "ImportError", "AttributeError")  # the attack tried nothing
UNDONE = (
    "the seeds, the recursion limit, warnings, sys.path, the environment, the folder, the umask, "
    "the submission's package, an alias, a context, the files, the default dtype, gradients, "
    "threads, the seed, tiny numbers, its standard input, an open file, inference"
).split(", ")


@pytest.mark.parametrize(
    ("name", "torch"),
    [*((name, False) for name in ATTACKS), *((name, True) for name in ATTACKS_ON_TORCH)],
)
@pytest.mark.sampled(2, group_of=lambda name, torch: torch)
def test_a_job_meets_nothing_of_an_earlier_one(name, torch, run, undisturbed):
    attack = ATTACKS_ON_TORCH[name] if torch else ATTACKS[name]
    code = attacking(attack, "import torch" if torch else "")
    attacked = run(code, "copying_query", torch)
    with contextlib.suppress(WireError):
        envelope = wire.decode(attacked.frame or b"")
        assert envelope["ok"] or envelope["error"]["type"] not in WRONG, envelope
    later = run(code, "average_query", torch)
    assert answer(later) == undisturbed[torch]
    assert later.used is (name in UNDONE)


def attacking(attack: str, before: str = "") -> str:
    body = textwrap.indent(textwrap.dedent(attack).strip(), "    ")
    head = f"import os, sys\nimport numpy as np\n{before}\n"
    return f"{head}def copying_query(keys, j):\n{body}\n    return keys[j]\n{LATER}"


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_workers_of_other_systems_answer_and_are_ended(
    system, run, undisturbed, pools, monkeypatch
):
    """Both ends take this for another system, which lacks what they use on Linux."""
    become(system, monkeypatch)
    elsewhere = f"import pytest, tests.systems as s; s.become({system!r}, pytest.MonkeyPatch())"
    path = f"sys.path.append({str(ROOT)!r}); {elsewhere}; sys.path.pop()"
    monkeypatch.setattr("grading.pool.command", lambda code: command(f"{path}; {code}"))
    with contextlib.closing(LocalPool(hash_seed=1)) as local:
        monkeypatch.setitem(pools, "local", local)
        asks = attacking("import host; print(host.sys.platform)")
        assert run(asks, "copying_query").output == f"{system}\n"
        same = run(asks, "average_query")
        assert same.used and answer(same) == undisturbed[False]
        endless = run(attacking("while True: pass"), "copying_query")
        assert (endless.frame, endless.ending.reason) == (None, "cpu")
        stuck = local._workers["submission", False]
        assert stuck.has_ended
        again = run(asks, "average_query")
        assert not again.used and answer(again) == undisturbed[False]
    assert all(each.has_ended for each in (*local._workers.values(), *local._spares.values()))


# What counts ------------------------------------------------------------------------------------

# A setting that nobody restores, and a later function that fails because of it.
SETS = "import socket\n\ndef copying_query(keys, j):\n    socket.setdefaulttimeout(9)\n"
FAILS = """
def average_query(keys, a, b):
    if socket.getdefaulttimeout() is not None:
        raise KeyError("lost")
    return 100.0 * (keys[a] + keys[b])
"""
ASKED = ("3a-0-basic", "3a-1-hidden", "3b-0-basic")


@pytest.fixture
def recorded(runner, submission, monkeypatch):
    """Return a function that grades this code; results, and which jobs had to be fresh."""

    def grade(
        code: str, *selection: str, pool: LocalPool | None = None
    ) -> tuple[Results, list[bool]]:
        path = submission / "submission" / "attention_exploration.py"
        path.write_text(f"import numpy as np\n{code}", encoding="utf-8")
        with contextlib.closing(pool or LocalPool(1)) as pool:
            fresh, run_job = [], pool.run

            def record(job: Job) -> Finished:
                fresh.extend([job.fresh] * (job.role == "submission"))
                return run_job(job)

            monkeypatch.setattr(pool, "run", record)
            options = Options(submission=submission, selection=selection)
            return runner.run(options, 7, Observer(), pool), fresh

    return grade


def test_a_failure_that_a_fresh_worker_does_not_repeat_does_not_count(recorded):
    results, fresh = recorded(SETS + "    return 100.0 * keys[j]\n" + FAILS, *ASKED)
    assert {t.outcome for t in results.tests if t.is_selected} == {Outcome.PASSED}
    assert fresh == [False, False, False, True]
    (warning,) = results.facts["warnings"]
    assert warning.startswith("3b-0-basic: error after other tests, passed in a new process")


@pytest.mark.parametrize("beside_solutions", [False, True])
def test_with_fresh_workers_nothing_is_run_twice(recorded, monkeypatch, beside_solutions):
    """As with `--fresh`, and where the solutions are but workers can't be confined."""
    if beside_solutions:
        monkeypatch.setattr(isolation, "is_available", lambda: False)
        pool = authoritative.open_pool(7)
    else:
        pool = LocalPool(1, always_fresh=True)
    results, fresh = recorded(SETS + FAILS, *ASKED, pool=pool)
    ends = [t.outcome for t in results.tests if t.is_selected]
    assert ends == [Outcome.FAILED, Outcome.FAILED, Outcome.PASSED]
    assert fresh == [False] * 3
