"""Durations, memory, shares and numbers as people write them: one reader and one printer each.

Every door of Prophase (command line, ``prophase.toml``, forms, HTTP, plans) reads with the
``parse_`` functions, and every text for people is written with the others. What a text means
where systems disagree, the caller says: Slurm's ``--time=30`` is minutes (``bare="min"``), a
``4G`` of Kubernetes is decimal and ours is binary (``g_is``).

The rule of digits: three that count; whole numbers, and all from 1,000 up, to the unit.

Examples
--------
>>> from prophase import units
>>> units.duration(units.parse_duration("1h30m", bare="s"))
'1.5 h'
>>> units.memory(units.parse_memory("4000M", g_is="binary", bare="GiB"))
'3.91 GiB'
"""

from prophase.units.parsers import (
    DURATION_HELP,
    SIZE_HELP,
    parse_duration,
    parse_memory,
    parse_moment,
    parse_quantity,
    parse_share,
)
from prophase.units.printers import (
    amount,
    cell,
    compact,
    duration,
    estimate,
    memory,
    number,
    percent,
    slurm_time,
    whole_mib,
)

__all__ = [
    "DURATION_HELP",
    "SIZE_HELP",
    "amount",
    "cell",
    "compact",
    "duration",
    "estimate",
    "memory",
    "number",
    "parse_duration",
    "parse_memory",
    "parse_moment",
    "parse_quantity",
    "parse_share",
    "percent",
    "slurm_time",
    "whole_mib",
]
