"""Write numbers, durations, memory and shares for people, by one rule of digits."""

from __future__ import annotations

import math
from typing import Protocol

_TIME_STEPS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"))
_MEMORY_STEPS = ((2.0**10, "TiB"), (1.0, "GiB"), (2.0**-10, "MiB"), (2.0**-20, "KiB"),
                 (2.0**-30, "B"))  # fmt: skip
_SHORT_STEPS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))


class _Scalar(Protocol):
    def item(self) -> object: ...


def number(value: float | None, *, missing: str = "-") -> str:
    """Write a number with three digits that count; whole ones, and from 1,000 up, to the unit.

    Examples
    --------
    >>> [number(value) for value in (12.345, 7.0, 12345.6, 0.0123456, None, math.inf)]
    ['12.3', '7', '12,346', '0.0123', '-', 'unbounded']
    """
    if value is None or math.isnan(value):
        return missing
    if math.isinf(value):
        return "unbounded"
    if isinstance(value, int):
        return f"{value:,}"
    size = abs(value)
    if size < 1e15 and (size >= 999.5 or value == int(value)):
        # adding 0 keeps a minus from standing before a 0
        return f"{value + 0.0:,.0f}"
    return f"{value:.3g}"


def duration(seconds: float | None, *, missing: str = "-") -> str:
    """Write a length of time in the unit that suits it.

    Examples
    --------
    >>> [duration(seconds) for seconds in (240, 5400.0, 0.25, 0, 59.97)]
    ['4 min', '1.5 h', '250 ms', '0 s', '1 min']
    """
    return _scaled(seconds, _TIME_STEPS, "s", missing)


def memory(gib: float | None, *, missing: str = "-") -> str:
    """Write an amount of memory in the unit that suits it.

    Examples
    --------
    >>> memory(12.3456), memory(0.5), memory(2048.0), memory(5e9 / 2**30)
    ('12.3 GiB', '512 MiB', '2 TiB', '4.66 GiB')
    """
    return _scaled(gib, _MEMORY_STEPS, "GiB", missing)


def percent(share: float | None, *, missing: str = "-") -> str:
    """Write a share with one decimal, two below 1 %, never as a false 0 % or 100 %.

    Examples
    --------
    >>> [percent(share) for share in (0.1234, 0.05, 0.00251, 0.00001, 0.99999, 1)]
    ['12.3 %', '5 %', '0.25 %', '<0.01 %', '>99.9 %', '100 %']
    """
    if share is None or not math.isfinite(share):
        return number(share, missing=missing)
    if 0 < abs(share) < 0.00005:
        return "<0.01 %" if share > 0 else ">-0.01 %"
    if 0.9995 <= share < 1:
        return ">99.9 %"
    if abs(share) >= 9.995:
        return f"{100 * share:,.0f} %"
    shown = round(100 * share, 1 if abs(share) >= 0.00995 else 2)
    return f"{shown + 0.0:.2f}".rstrip("0").rstrip(".") + " %"


#: units that are counted, and what one of them is called
_ONE = {"GPUs": "GPU", "cores": "core", "nodes": "node", "jobs": "job"}


def amount(value: float | None, unit: str = "", *, missing: str = "-") -> str:
    """Write a number with its unit; seconds, GiB and bytes in the size that suits them.

    Examples
    --------
    >>> amount(5400.0, "s"), amount(5e9, "bytes"), amount(31.42, "%"), amount(12000)
    ('1.5 h', '4.66 GiB', '31.4 %', '12,000')
    >>> amount(1.0, "GPUs"), amount(0.5, "GPUs")
    ('1 GPU', '0.5 GPUs')
    """
    if unit == "s":
        return duration(value, missing=missing)
    if unit in ("GiB", "bytes"):
        gib = value if value is None or unit == "GiB" else value / 2**30
        return memory(gib, missing=missing)
    if unit == "%":
        return percent(None if value is None else value / 100, missing=missing)
    said = number(value, missing=missing)
    if said == "1":
        unit = _ONE.get(unit, unit)
    return f"{said} {unit}".rstrip() if said not in (missing, "unbounded") else said


def estimate(
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    *,
    missing: str = "-",
) -> str:
    """Write a number with its interval, or alone if it has none.

    Examples
    --------
    >>> estimate(31.42, 27.9, 35.06, "%"), estimate(3.2, unit="cores")
    ('31.4 % (27.9 to 35.1)', '3.2 cores')
    >>> estimate(2.0, 1.0, 3.0, "GPUs")
    '2 GPUs (1 to 3)'
    >>> estimate(5400.0, 3000.0, math.inf, "s")
    '1.5 h (50 min to unbounded)'
    """
    said = amount(value, unit, missing=missing)
    if said == missing or low is None or high is None or math.isnan(low) or math.isnan(high):
        return said
    ends = [amount(end, unit) for end in (low, high)]
    if unit not in ("s", "GiB", "bytes"):
        # one unit for all three
        one = _ONE.get(unit, unit)
        ends = [end.removesuffix(f" {unit}").removesuffix(f" {one}") for end in ends]
    return f"{said} ({ends[0]} to {ends[1]})"


def cell(value: object, *, missing: str = "-") -> str:
    """Write the cell of a table: a number by the rule of digits, yes or no, else as it is.

    Examples
    --------
    >>> [cell(value) for value in (1234.5, True, "a", None, math.nan)]
    ['1,234', 'yes', 'a', '-', '-']
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return missing
    if hasattr(value, "item"):
        scalar: _Scalar = value
        value = scalar.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value, missing=missing) if isinstance(value, int | float) else str(value)


def compact(value: float | None, *, missing: str = "-") -> str:
    """Write a number in at most five characters, for the labels of a figure.

    Examples
    --------
    >>> compact(0.0), compact(12.345), compact(2_500_000), compact(-30_000)
    ('0', '12.3', '2.5M', '-30k')
    """
    if value is None or not math.isfinite(value):
        return missing
    for least, letter in _SHORT_STEPS:
        if abs(value) >= least:
            return f"{value / (1e3 if letter == 'k' else least):.3g}{letter}"
    return f"{value:.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def whole_mib(gib: float) -> int:
    """Return the fewest whole MiB that hold an amount, as schedulers are asked for them.

    Examples
    --------
    >>> whole_mib(2.4), whole_mib(0.0)
    (2458, 1)
    """
    return max(1, math.ceil(1024 * gib - 1e-6))


def slurm_time(seconds: float) -> str:
    """Write a time limit as Slurm reads it, in whole minutes, rounded up.

    Examples
    --------
    >>> slurm_time(90.0), slurm_time(90_000.0)
    ('0:02:00', '1-01:00:00')
    """
    minutes = max(1, math.ceil(seconds / 60 - 1e-9))
    days, rest = divmod(minutes, 1440)
    clock = f"{rest // 60:02d}:{rest % 60:02d}:00" if days else f"{rest // 60}:{rest % 60:02d}:00"
    return f"{days}-{clock}" if days else clock


def _scaled(
    value: float | None, steps: tuple[tuple[float, str], ...], unit: str, missing: str
) -> str:
    """Write a value in the largest unit of which it has at least one, after rounding."""
    if value is None or not math.isfinite(value):
        return number(value, missing=missing)
    rounded = abs(float(f"{value:.3g}"))
    for size, name in steps:
        if rounded >= size:
            return f"{number(math.copysign(max(abs(value) / size, 1.0), value))} {name}"
    size, name = steps[-1]
    return f"0 {unit}" if value == 0 else f"{number(value / size)} {name}"
