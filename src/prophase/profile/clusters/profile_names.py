"""Names that a person would give a profile: how long, on what, how large, whose."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice

from prophase import units
from prophase.profile.clusters.profiles import Profile
from prophase.profile.clusters.quality import OUTLIERS

#: median duration below which jobs are called so, in seconds
_LENGTHS = ((60.0, "very short"), (1_800.0, "short"), (14_400.0, "hour-long"), (86_400.0, "long"))
_LONGEST = "day-long"
#: jobs whose middle half spreads by more than this factor have no length in common
_MIXED_FROM = 30.0
#: a GPU below this is called idle, in %
_IDLE_BELOW = 5.0
#: columns that say whose, or what, jobs are, the most telling first
_WHOSE = ("workload", "kind", "task", "group", "tenant", "user", "queue")
_LONGEST_WORD = 24
#: words of a name, if they are enough to tell it from others
_PARTS = 4


def named_profiles(profiles: Sequence[Profile], given: Mapping[int, str]) -> list[Profile]:
    """Return the profiles with names; those ``given`` by whoever made the groups are kept.

    Two that would be called alike get a further word that tells them apart, or a number.
    """
    gpus = any(_gpus(one) for one in profiles)
    told = {
        one.profile: list(_parts(one, gpus))
        for one in profiles
        if not one.outliers and one.profile not in given
    }
    names = {OUTLIERS: "outliers", **given}
    for number, parts in told.items():
        alike = [
            other
            for key, other in told.items()
            if key != number and other[:_PARTS] == parts[:_PARTS]
        ]
        more = parts[_PARTS:] if alike else []
        apart = (word for word in more if not any(word in other for other in alike))
        names[number] = _free(", ".join([*parts[:_PARTS], *islice(apart, 1)]), names)
    return [replace(one, name=names[one.profile]) for one in profiles]


def _free(name: str, taken: Mapping[int, str]) -> str:
    """Return the name, with a number if another profile has it."""
    if name not in taken.values():
        return name
    return next(numbered for k in count(2) if (numbered := f"{name} ({k})") not in taken.values())


def _parts(one: Profile, gpus_elsewhere: bool) -> Iterable[str]:
    gpus = _gpus(one)
    if gpus:
        what = f"{units.number(_two_digits(gpus))} GPU"
        use = _median(one, "gpu_util_mean_pct")
        what += "" if use is None or gpus > 1 else ", idle" if use < _IDLE_BELOW else ""
    else:
        what = "CPU job" if gpus_elsewhere else "job"
    length = _length(one)
    yield f"{length} {what}" if length else what
    named = set()
    for kind in (
        ("request_cpu_cores", "cpu_mean_cores"),
        ("memory_peak_gib", "memory_mean_gib", "request_memory_gib"),
    ):
        metric = next((metric for metric in kind if _median(one, metric)), None)
        if metric is not None:
            named.add(metric)
            size = _median(one, metric) or 0.0
            yield _cores(size) if metric.endswith("_cores") else units.memory(_two_digits(size))
    yield from _whose(one)
    workers = _median(one, "gang_size") or _median(one, "instances")
    if workers and workers > 1:
        yield f"{units.number(_two_digits(workers))} workers"
    for metric, word in (
        ("gpu_util_mean_pct", "of a GPU used"),
        ("gpu_memory_peak_gib", "of GPU memory"),
        ("cpu_mean_cores", "used"),
        ("request_memory_gib", "requested"),
        ("read_bytes", "read"),
        ("write_bytes", "written"),
    ):
        value = None if metric in named else _median(one, metric)
        if value:
            said = _cores(value) if metric.endswith("_cores") else _amount(metric, value)
            yield f"{said} {word}"


def _whose(one: Profile) -> Iterable[str]:
    """Name the one value that sets the jobs apart."""
    held = {known.column: known for known in one.static}
    for column in _WHOSE:
        known = held.get(column)
        if known is not None and known.sets_apart:
            # of a path such as WORKFLOW:PART:STEP the end says which it is
            word = re.split(r"[:/]", known.mode.rstrip(":/"))[-1]
            short = word if len(word) <= _LONGEST_WORD else f"{word[: _LONGEST_WORD - 1]}…"
            yield f"{column} {short}"
            return


def _length(one: Profile) -> str:
    held = one.dynamic.get("duration_s")
    if held is None:
        return ""
    low, high = held.quantiles["q25"], held.quantiles["q75"]
    if high > _MIXED_FROM * max(low, 1.0):
        return ""
    middle = held.quantiles["q50"]
    return next((word for end, word in _LENGTHS if middle < end), _LONGEST)


def _gpus(one: Profile) -> float | None:
    return _median(one, "request_gpus")


def _median(one: Profile, metric: str) -> float | None:
    held = one.dynamic.get(metric)
    return held.quantiles["q50"] if held is not None else None


def _two_digits(value: float) -> float:
    return round(value, 1 - math.floor(math.log10(abs(value)))) if value else 0.0


def _cores(value: float) -> str:
    rounded = _two_digits(value)
    return f"{units.number(rounded)} core" + ("" if rounded == 1 else "s")


def _amount(metric: str, value: float) -> str:
    unit = {"pct": "%", "gib": "GiB", "bytes": "bytes"}[metric.rsplit("_", 1)[1]]
    return units.amount(_two_digits(value), unit)
