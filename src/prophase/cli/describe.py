"""prophase describe."""


def command() -> None:
    """Not there yet."""
    raise NotImplementedError
