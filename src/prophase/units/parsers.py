"""Read durations, memory, quantities and shares as people and systems write them."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Literal

from prophase.errors import ParameterError, ProphaseError, not_among

#: for the help of options; what ``parse_duration`` and ``parse_memory`` accept at our doors
DURATION_HELP = "such as 90s, 30m, 1h30m, 1:30:00 or 1-02:00:00 (days-hours:minutes:seconds)"
SIZE_HELP = "such as 4G, 4GiB or 4000M; K, M, G and T are powers of 1024, a bare number is GiB"

#: factor that turns one of this unit into the unit of the table column
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_PREFIXES = "kmgtpe"
GIB = {
    "bytes": 2.0**-30,
    **{f"{letter}b": 1e3**power / 2**30 for power, letter in enumerate(_PREFIXES, 1)},
    **{f"{letter}ib": 2.0 ** (10 * power - 30) for power, letter in enumerate(_PREFIXES, 1)},
}
#: table unit -> factors of the units that a source may use for it
CONVERTIBLE = {
    "s": SECONDS,
    "GiB": GIB,
    "bytes": {unit: factor * 2**30 for unit, factor in GIB.items()},
    "cores": {"cores": 1.0, "millicores": 1e-3, "percent": 1e-2},
    "GPUs": {"gpus": 1.0, "milligpus": 1e-3, "percent": 1e-2},
    "%": {"percent": 1.0, "fraction": 100.0},
}

DurationUnit = Literal["ms", "s", "min", "h", "d"]
MemoryUnit = Literal["bytes", "KiB", "MiB", "GiB"]
Base = Literal["binary", "decimal"]

_SPELLINGS = {
    **{unit: unit for unit in SECONDS}, "µs": "us", "m": "min",
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
}  # fmt: skip
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_PLAIN = re.compile(_NUMBER)
_SPAN = re.compile(rf"({_NUMBER})\s*([a-zµ]+)\s*")
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+(?:\:\d+){0,2})(\.\d+)?")
_SIZE = re.compile(rf"({_NUMBER})\s*(?:([{_PREFIXES}])(i?)b?|(b|bytes?)|)")
_QUANTITY = re.compile(rf"([+-]?{_NUMBER})\s*([a-zA-Z]*|%)")
_SHARE = re.compile(rf"({_NUMBER})\s*(%?)")
#: Kubernetes' suffixes, where m is a thousandth and M a million
_SUFFIXES = {
    "": 1.0, "%": 1e-2, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
    "P": 1e15, "E": 1e18, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40,
    "Pi": 2.0**50, "Ei": 2.0**60,
}  # fmt: skip


def parse_duration(
    text: str | float,
    *,
    bare: DurationUnit,
    where: str = "",
    positive: bool = False,
    error: type[ProphaseError] = ParameterError,
) -> float:
    """Return the seconds of a duration.

    With units: ``90s``, ``45 min``, ``1h30m``, ``1.5h``, ``2d``, ``500ms``. With colons as Slurm
    has them: minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes and
    days-hours:minutes:seconds.

    Parameters
    ----------
    bare : {"ms", "s", "min", "h", "d"}
        Unit of a number without one. Ours is seconds, that of Slurm's ``--time`` minutes.
    where : str
        What was read, such as ``--limit`` or ``job.yaml: timeout``, for the message.
    positive : bool
        Refuse 0.
    error : type
        What is raised; InputError or FormatError if the text comes from a file.

    Examples
    --------
    >>> [parse_duration(text, bare="s") for text in ("1h30m", "1:30:00", "90:00", "5400")]
    [5400.0, 5400.0, 5400.0, 5400.0]
    >>> parse_duration("1-02", bare="s"), parse_duration("30", bare="min")
    (93600.0, 1800.0)
    """
    said = str(text).strip().lower()
    found = math.nan
    if _PLAIN.fullmatch(said) and not isinstance(text, bool):
        found = float(said) * SECONDS[bare]
    elif clock := _CLOCK.fullmatch(said):
        found = _clock_s(*clock.groups())
    elif said and not _SPAN.sub("", said):
        parts = [(amount, _SPELLINGS.get(unit)) for amount, unit in _SPAN.findall(said)]
        found = sum(float(amount) * SECONDS.get(unit or "", math.nan) for amount, unit in parts)
    if not math.isfinite(found) or (positive and found == 0):
        what = "a duration above 0" if found == 0 else "a duration"
        examples = "Write 90s, 30m, 1h30m, 1:30:00 or 1-02:00:00."
        raise error(_refusal(text, what, examples, where))
    return found


def parse_moment(text: str, *, where: str = "") -> float:
    """Return a date, with or without a time, as seconds since 1970; without a zone it is UTC.

    Examples
    --------
    >>> parse_moment("1970-01-02 00:00:30"), parse_moment("1970-01-02T01:00:00+01:00")
    (86430.0, 86400.0)
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError as cause:
        examples = "Write 2017-11-01 or 2017-11-01T12:00:00."
        raise ParameterError(_refusal(text, "a date", examples, where)) from cause
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def parse_memory(
    text: str | float,
    *,
    g_is: Base,
    bare: MemoryUnit,
    where: str = "",
    positive: bool = False,
    error: type[ProphaseError] = ParameterError,
) -> float:
    """Return the GiB of an amount of memory such as ``4G``, ``4GiB``, ``4000M`` or ``1.5TB``.

    Parameters
    ----------
    g_is : {"binary", "decimal"}
        Whether K, M, G and T (and KB, MB, GB, TB) are powers of 1024 or of 1000. Binary at our
        own doors, and in Slurm, Nextflow and Java; ``Ki``, ``MiB`` and the like always are.
    bare : {"bytes", "KiB", "MiB", "GiB"}
        Unit of a number without one: GiB at our own doors, MiB in Slurm.
    where, positive, error
        As for ``parse_duration``.

    Examples
    --------
    >>> [parse_memory(t, g_is="binary", bare="GiB") for t in ("4G", "4GB", "4Gi", "4096M", "4")]
    [4.0, 4.0, 4.0, 4.0, 4.0]
    >>> round(parse_memory("4G", g_is="decimal", bare="bytes"), 3)
    3.725
    """
    match = _SIZE.fullmatch(str(text).strip().lower())
    found = math.nan
    if match and not isinstance(text, bool):
        amount, letter, binary, is_bytes = match.groups()
        unit = "bytes" if is_bytes else bare.lower()
        if letter:
            unit = f"{letter}ib" if binary or g_is == "binary" else f"{letter}b"
        found = float(amount) * GIB[unit]
    if not math.isfinite(found) or (positive and found == 0):
        what = "memory above 0" if found == 0 else "an amount of memory"
        raise error(_refusal(text, what, "Write 512M, 4G or 1.5T.", where))
    return found


def parse_quantity(
    text: str | float, *, where: str = "", error: type[ProphaseError] = ParameterError
) -> float:
    """Return the number of a Kubernetes quantity: ``500m`` cores, ``2``, ``1.5Gi`` bytes.

    Its suffixes are case-sensitive: ``m`` is a thousandth, ``M`` a million, ``Mi`` 2**20. A
    percentage is read as well, ``50%`` of a GPU is 0.5.

    Examples
    --------
    >>> parse_quantity("500m"), parse_quantity("2Ki"), parse_quantity("50%")
    (0.5, 2048.0, 0.5)
    """
    match = _QUANTITY.fullmatch(str(text).strip())
    factor = _SUFFIXES.get(match[2]) if match and not isinstance(text, bool) else None
    found = float(match[1]) * factor if match and factor is not None else math.nan
    if not math.isfinite(found):
        raise error(_refusal(text, "a quantity", "Write 2, 0.5, 500m or 16Gi.", where))
    return found


def parse_share(
    text: str | float,
    *,
    where: str = "",
    below_one: bool = False,
    error: type[ProphaseError] = ParameterError,
) -> float:
    """Return the share that ``1%`` or ``0.01`` is; from 0 to 1, or to less than 1 if so asked.

    Examples
    --------
    >>> parse_share("2.5%"), parse_share(0.025)
    (0.025, 0.025)
    """
    match = _SHARE.fullmatch(str(text).strip())
    found = float(match[1]) / (100.0 if match[2] else 1.0) if match else math.nan
    if isinstance(text, bool) or not 0 <= found <= 1 or (below_one and found == 1):
        what = "a share below 100%" if below_one else "a share from 0 to 100%"
        raise error(_refusal(text, what, "Write 1% or 0.01.", where))
    return found


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


def _clock_s(days: str | None, fields: str, fraction: str | None) -> float:
    """Fields count from the hours if there are days, else up to the seconds."""
    parts = [float(field) for field in fields.split(":")]
    if fraction and len(parts) < (2 if days is None else 3):
        return math.nan
    parts[-1] += float(fraction or 0)
    if days is None:
        parts = [0.0] * (3 - len(parts)) + parts
    hours, minutes, seconds = (*parts, 0.0, 0.0)[:3]
    return float(days or 0) * 86400 + hours * 3600 + minutes * 60 + seconds


def _refusal(text: object, what: str, examples: str, where: str) -> str:
    return f"{where}{': ' if where else ''}{str(text)!r} is not {what}. {examples}"
