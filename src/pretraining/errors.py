"""The one exception for what the user can put right."""


class InputError(ValueError):
    """A file, an option or a number is at fault, not the code.

    The message is one line that says what was got, what was expected and, for a file, where; it
    is all that a command shows.
    """
