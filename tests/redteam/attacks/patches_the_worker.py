# tries: to replace what describes an exception and what answers
from grading import worker

worker.describe = lambda error, root: {"outcome": "passed", "PWNED": 1}
worker.wire.encode.__code__ = (lambda value: b"PWNED").__code__
sys._getframe(2).f_globals["PROBES"] = {}
raise ValueError("PWNED")
