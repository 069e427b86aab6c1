"""prophase synth."""


def command() -> None:
    """Not there yet."""
    raise NotImplementedError
