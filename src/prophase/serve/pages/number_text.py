"""Numbers on pages: each with its unit, and with its interval where it is an estimate."""

from __future__ import annotations

import math

from markupsafe import Markup

from prophase import units

#: how columns of the job table are called where people read
_NAMES = {
    "duration_s": "Run time",
    "wait_s": "Wait",
    "cpu_mean_cores": "CPU, mean",
    "cpu_peak_cores": "CPU, peak",
    "memory_mean_gib": "Memory, mean",
    "memory_peak_gib": "Memory, peak",
    "gpu_util_mean_pct": "GPU use, mean",
    "gpu_memory_mean_gib": "GPU memory, mean",
    "gpu_memory_peak_gib": "GPU memory, peak",
    "read_bytes": "Bytes read",
    "write_bytes": "Bytes written",
    "read_count": "Reads",
    "write_count": "Writes",
    "request_cpu_cores": "CPU asked for",
    "request_memory_gib": "Memory asked for",
    "request_gpus": "GPUs asked for",
    "gpu_type": "GPU type",
    "time_limit_s": "Time limit",
    "cpu_cores": "CPU",
    "memory_gib": "Memory",
    "gpu_util_pct": "GPU use",
    "gpu_memory_gib": "GPU memory",
}

#: units that are words in the plural
_COUNTED = frozenset(
    {"jobs", "runs", "reports", "users", "tenants", "nodes", "samples", "days", "cores", "GPUs"}
)


def amount(value: float | None, unit: str = "") -> str:
    """Write a number with its unit, in the size that suits it; no line ends between them.

    Examples
    --------
    >>> amount(5400.0, "s"), amount(12.3456, "GiB"), amount(5e9, "bytes"), amount(None, "s")
    ('1.5\xa0h', '12.3\xa0GiB', '4.66\xa0GiB', '–')
    >>> amount(1, "jobs"), amount(2, "jobs")
    ('1\xa0job', '2\xa0jobs')
    """
    if value == 1 and unit in _COUNTED:
        unit = unit.removesuffix("s")
    return kept_together(units.amount(value, unit, missing="–"))


def between(low: float | None, high: float | None, unit: str = "", words: str = "95 %") -> str:
    """Write an interval, or nothing where there is none.

    Examples
    --------
    >>> between(60.0, 5400.0, "s"), between(None, 3.0)
    ('95\xa0% interval 1\xa0min to 1.5\xa0h', '')
    """
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"{kept_together(words)} interval {amount(low, unit)} to {amount(high, unit)}"


def marked(text: str, value: float | None) -> str:
    """Return the text of a number as HTML that holds the number itself, for programs.

    Examples
    --------
    >>> print(marked(amount(5400.0, "s"), 5400.0))
    <data value="5400.0">1.5 h</data>
    """
    if value is None:
        return text
    return Markup('<data value="{}">{}</data>').format(value, text)


def amount_html(value: float | None, unit: str = "") -> str:
    """Write a number with its unit for a page."""
    return marked(amount(value, unit), value)


def between_html(low: float | None, high: float | None, unit: str = "", words: str = "95 %") -> str:
    """Write an interval for a page, or nothing where there is none."""
    if not between(low, high, unit, words):
        return ""
    ends = amount_html(low, unit), amount_html(high, unit)
    return Markup("{} interval {} to {}").format(kept_together(words), *ends)


def kept_together(text: str) -> str:
    """Return a number and its unit so that no line ends between them."""
    return text.replace(" ", "\xa0")


def named(column: str) -> str:
    """Return what a column is called where people read.

    Examples
    --------
    >>> named("memory_peak_gib"), named("attr_image_size")
    ('Memory, peak', 'Image size')
    """
    known = _NAMES.get(column)
    return known or column.removeprefix("attr_").replace("_", " ").capitalize()


def unit_of(column: str) -> str:
    """Return the unit that the name of a column ends in, as pages write it.

    Examples
    --------
    >>> [unit_of(name) for name in ("duration_s", "cpu_mean_cores", "gpu_util_pct", "read_bytes")]
    ['s', 'cores', '%', 'bytes']
    """
    ends = {"_s": "s", "_gib": "GiB", "_cores": "cores", "_pct": "%", "_bytes": "bytes",
            "_gpus": "GPUs"}  # fmt: skip
    return next((unit for end, unit in ends.items() if column.endswith(end)), "")


def cell(value: object) -> str:
    """Write a cell of a plain table.

    Examples
    --------
    >>> cell(None), cell(1234.5), cell("a"), cell(True)
    ('–', '1,234', 'a', 'yes')
    """
    return units.cell(value, missing="–")
