"""Staff's side of the harness: confined workers, judges of hidden tests, Gradescope, replays."""
