"""`python grader.py --doctor`: a screenful on what works on this computer."""

from __future__ import annotations

from grading.cli import print_machine

from . import isolation, paths


def examine() -> None:
    """Print the interpreter, the libraries, how workers start and how they are confined."""
    print_machine()
    forks = isolation.is_available()
    way = "forked from a process that has imported torch once" if forks else "started from scratch"
    print(f"Workers      {way}")
    layers = isolation.detect()
    print(f"Layers       {', '.join(layers.names())}")
    if layers.missing():
        print(f"Missing      {', '.join(layers.missing())}")
    if not forks:
        print("Authority    no: a run here is only for your own information")
        return
    faults = isolation.obstacles(layers)
    hidden = " (there are no solutions here, so hidden tests aren't judged)"
    print(f"Authority    {'no' if faults else 'yes'}{'' if paths.SOLUTIONS.is_dir() else hidden}")
    for fault in faults:
        print(f"             {fault}")
