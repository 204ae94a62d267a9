# tries: to raise the harness's own exceptions
def attack(keys, j):
    from grading import errors, outcomes

    if keys.shape[0] % 2:
        raise errors.Verdict(outcomes.Outcome.PASSED, "PWNED")
    raise errors.UsageError("PWNED")
