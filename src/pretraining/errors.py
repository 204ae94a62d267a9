"""The exception for everything that the user can fix."""


class InputError(ValueError):
    """The problem is a file, an option or a number, not the code.

    The message is one line that says what was found, what was expected and, for a file, where; a
    command prints nothing else.
    """
