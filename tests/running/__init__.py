"""run.py and the two printing commands, with the reference solution and a tiny recipe."""
