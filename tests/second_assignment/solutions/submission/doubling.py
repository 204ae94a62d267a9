"""Doubling."""


def double(number: int) -> int:
    """Return twice the number."""
    ### START CODE HERE ###
    return 2 * number
    ### END CODE HERE ###
