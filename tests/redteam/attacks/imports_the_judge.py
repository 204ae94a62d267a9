# tries: to import what judges, by every path it can think of
def attack(keys, j):
    import importlib.util

    from grading import paths

    sys.path[:0] = [str(paths.SOLUTIONS), str(paths.ROOT)]
    loot = []
    for name in ("hidden", "solutions.hidden", "grader"):
        try:
            loot.append(vars(importlib.import_module(name)))
        except (ImportError, OSError):
            continue
    judge = paths.SOLUTIONS / "hidden" / "attention_exploration.py"
    spec = importlib.util.spec_from_file_location("hidden", judge)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tell(loot, vars(module))
