"""prophase fetch."""


def command() -> None:
    """Not there yet."""
    raise NotImplementedError
