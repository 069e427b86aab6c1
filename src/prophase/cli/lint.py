"""prophase lint."""


def command() -> None:
    """Not there yet."""
    raise NotImplementedError
