"""Units as sources write them, as the numbers the tables hold."""

from __future__ import annotations

import re

from prophase.errors import ParameterError, not_among

#: factor that turns one of this unit into the unit of the table column
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
GIB = {
    "bytes": 1 / 2**30,
    "kb": 1e3 / 2**30,
    "mb": 1e6 / 2**30,
    "gb": 1e9 / 2**30,
    "tb": 1e12 / 2**30,
    "kib": 1 / 2**20,
    "mib": 1 / 2**10,
    "gib": 1.0,
    "tib": 2.0**10,
}
CORES = {"cores": 1.0, "millicores": 1e-3, "percent": 1e-2}
GPUS = {"gpus": 1.0, "milligpus": 1e-3, "percent": 1e-2}
PERCENT = {"percent": 1.0, "fraction": 100.0}
BYTES = {unit: factor * 2**30 for unit, factor in GIB.items()}

#: table unit -> units a source may use for it
CONVERTIBLE = {
    "s": SECONDS,
    "GiB": GIB,
    "cores": CORES,
    "GPUs": GPUS,
    "%": PERCENT,
    "bytes": BYTES,
}

_SHARE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*")


def factor_to(table_unit: str, source_unit: str) -> float:
    """Return what a value in ``source_unit`` is multiplied by to be in ``table_unit``.

    Examples
    --------
    >>> factor_to("GiB", "MiB")
    0.0009765625
    """
    known = CONVERTIBLE.get(table_unit, {})
    wanted = source_unit.lower()
    if wanted not in known:
        raise ParameterError(
            not_among(
                f"unit {source_unit!r} cannot become {table_unit or 'a plain number'}.",
                wanted,
                known,
                heading="Known units",
                none="none, leave the unit out",
            )
        )
    return known[wanted]


def parse_share(text: str, *, name: str) -> float:
    """Read ``'1%'`` or ``'0.01'`` as the share 0.01.

    Examples
    --------
    >>> parse_share("2.5%", name="--max-bad")
    0.025
    """
    match = _SHARE.fullmatch(text)
    share = float(match[1]) / (100.0 if match[2] else 1.0) if match else -1.0
    if not 0.0 <= share <= 1.0:
        raise ParameterError(f"{name} is {text!r}. Pass a share such as 1% or 0.01.")
    return share
