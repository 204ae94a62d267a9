# tries: to import what judges, by every path it can think of
import importlib.util

import grading

sys.path[:0] = [str(grading.SOLUTIONS), str(grading.ROOT)]
for name in ("hidden", "solutions.hidden"):
    with suppress(ImportError, OSError):
        importlib.import_module(name)
        breach(f"imported {name}")
judge = grading.SOLUTIONS / "hidden" / "attention_exploration.py"
spec = importlib.util.spec_from_file_location("hidden", judge)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
breach("imported a judge")
