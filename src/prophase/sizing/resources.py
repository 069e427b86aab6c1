"""The resources a request names, the columns that measure each, and friendly rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.plural import counted
from prophase.units import amount
from prophase.units.gpu_memory import gpu_memory_of, usual_gpu_memory

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Resource:
    """One resource: what is asked for, what is used, and in which unit."""

    name: str
    unit: str
    request_column: str
    use_column: str
    #: table unit -> unit of requests
    request_factor: float = 1.0
    use_factor: float = 1.0
    #: used where the first is not measured
    stand_in: str = ""
    #: no recommended request is below it, unless the user asks for less
    least: float = 0.0
    #: more than this is given in whole numbers only
    whole_above: float = math.inf
    #: whoever asks for too little is killed and asks again, and is not just slower
    kills: bool = True
    #: a job holds what it asks for while it runs; a time limit is not held
    held: bool = True
    #: head room: so many times what the runs of a kind needed
    room: float = 1.0

    @property
    def saved_unit(self) -> str:
        """Return the unit of what requests reserve, and may save.

        Examples
        --------
        >>> [RESOURCES[name].saved_unit for name in ("memory", "gpu", "time")]
        ['GiB h', 'GPU h', 'h of time limits']
        """
        return f"{self.unit.removesuffix('s')} h" if self.held else f"{self.unit} of time limits"

    @property
    def spoken(self) -> str:
        """Return what people call it.

        Examples
        --------
        >>> [RESOURCES[name].spoken for name in ("memory", "gpu", "time")]
        ['memory', 'GPUs', 'time limit']
        """
        if not self.held:
            return "time limit"
        return {"cpu": "cores", "gpu": "GPUs", "gpu-memory": "GPU memory"}.get(self.name, self.name)

    def allocatable(self, amount: Any) -> Any:
        """Return what is held by whoever asks for an amount, or for each of an array.

        Examples
        --------
        >>> RESOURCES["gpu"].allocatable(np.array([0.4, 1.0, 1.2])).tolist()
        [0.4, 1.0, 2.0]
        """
        if math.isinf(self.whole_above):
            return amount
        return np.where(amount > self.whole_above, np.ceil(amount - 1e-9), amount)[()]

    def requested(self, jobs: pd.DataFrame) -> Any:
        """Return what the requests of all jobs hold; NaN where none was made."""
        values = self.allocatable(numbers_of(jobs, self.request_column) * self.request_factor)
        most = math.inf if self.held else placeholder_from_h(self.used(jobs))
        return np.where((values > 0) & (values < most), values, np.nan)

    def used(self, jobs: pd.DataFrame) -> Any:
        """Return the highest use of all jobs; NaN where it was not measured."""
        values = numbers_of(jobs, self.use_column) * self.use_factor
        if self.stand_in:
            values = np.where(
                np.isnan(values), numbers_of(jobs, self.stand_in) * self.use_factor, values
            )
        if self.name == "gpu":
            # a part of a GPU has a part of its memory too
            values = np.where(values > 0, np.fmax(values, gpus_by_memory(jobs)), values)
        return values


#: a time limit of a year is none. One of a month is none where no run of so many comes near it
_YEAR_H, _MONTH_H, _RUNS, _FAR = 365 * 24.0, 30 * 24.0, 100, 10.0


def placeholder_from_h(runs_h: Any) -> float:
    """Return the hours from which on a time limit stands for "no limit".

    Schedulers and traces write an unlimited run time as a year or as a huge number.

    Examples
    --------
    >>> placeholder_from_h(np.full(200, 12.0)), placeholder_from_h(np.array([12.0]))
    (720.0, 8760.0)
    """
    ended = runs_h[np.isfinite(runs_h)] if len(runs_h) >= _RUNS else ()
    return min(_YEAR_H, max(_MONTH_H, _FAR * float(np.max(ended)))) if len(ended) else _YEAR_H


def placeholder_remark(jobs: pd.DataFrame, among: Any) -> str:
    """Say how many of some jobs have a time limit that stands for none; nothing if none has."""
    time = RESOURCES["time"]
    longest_h = time.used(jobs)
    limits_h = numbers_of(jobs, time.request_column) * time.request_factor
    none_h = limits_h[among & (limits_h >= placeholder_from_h(longest_h))]
    if not len(none_h):
        return ""
    least = amount(3600 * none_h.min(), "s")
    return (
        f"{counted(len(none_h), 'job has', 'jobs have')} a time limit of {least} or more, which "
        "stands for none: nothing counts as saved by a shorter one."
    )


#: head room above the highest GPU memory: what a framework reserves differs from run to run
_GPU_MEMORY_ROOM = 1.15


def gpus_by_memory(jobs: pd.DataFrame) -> Any:
    """Return how many GPUs hold the GPU memory of each job; NaN where it was not measured.

    Of a GPU whose type is not known, the smallest usual size that holds the peak is taken.

    Examples
    --------
    >>> jobs = pd.DataFrame({"gpu_memory_peak_gib": [10.0, 10.0], "gpu_type": ["A100", None]})
    >>> gpus_by_memory(jobs).round(2).tolist()
    [0.29, 0.96]
    """
    peaks = numbers_of(jobs, "gpu_memory_peak_gib")
    each = peaks / np.fmax(np.ceil(np.nan_to_num(numbers_of(jobs, "request_gpus"))), 1.0)
    peaks_found, place = np.unique(each, return_inverse=True)
    usual = [math.nan if one != one else usual_gpu_memory(one) for one in peaks_found]
    sizes = np.array(usual, np.float64)[place]
    for column in ("after_gpu_type", "gpu_type"):
        if column in jobs:
            codes, named = pd.factorize(jobs[column])
            known = [*(gpu_memory_of(str(one)) or math.nan for one in named), math.nan]
            told = np.array(known)[codes]
            sizes = np.where(told >= each, told, sizes)
    needed = peaks / sizes
    return np.fmin(_GPU_MEMORY_ROOM * needed, np.ceil(needed))


def numbers_of(jobs: pd.DataFrame, column: str) -> Any:
    """Return a column as floats; NaN where it is missing or no number, or not there at all."""
    if column not in jobs:
        return np.full(len(jobs), np.nan)
    values = jobs[column]
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.cat.categories.dtype)
    return pd.to_numeric(values, errors="coerce").to_numpy(float, na_value=np.nan)


#: 32 MiB: what starts a job needs some of its memory. Slurm limits none below 30 MB (MinRAMSpace)
SMALLEST_GIB = 32 / 1024

RESOURCES = {
    one.name: one
    for one in (
        Resource("memory", "GiB", "request_memory_gib", "memory_peak_gib", least=SMALLEST_GIB),
        Resource(
            "cpu", "cores", "request_cpu_cores", "cpu_peak_cores", stand_in="cpu_mean_cores",
            least=0.05, kills=False,
        ),
        Resource(
            "gpu-memory", "GiB", "attr_gpu_memory_gib", "gpu_memory_peak_gib", least=SMALLEST_GIB
        ),
        # a share of one GPU can be given, 1.2 of them are two
        Resource(
            "gpu", "GPUs", "request_gpus", "gpu_util_mean_pct", use_factor=0.01, least=0.05,
            whole_above=1.0, kills=False,
        ),
        Resource(
            "time", "h", "time_limit_s", "duration_s",
            request_factor=1 / 3600, use_factor=1 / 3600, least=1 / 60,
            held=False, room=1.25,
        ),
    )
}  # fmt: skip


#: what is sized if nobody says so, the first that a trace measures
_AUTO = ("memory", "gpu", "cpu", "time")


def sized_resource(jobs: pd.DataFrame, named: str = "auto") -> str:
    """Return the resource that is named, else memory if it was measured, GPUs, cores or time.

    Where monitoring saw no use, limits and run times are left: then it is the time limit.

    Examples
    --------
    >>> jobs = pd.DataFrame({"time_limit_s": [3600.0], "duration_s": [60.0]})
    >>> sized_resource(jobs), sized_resource(jobs, "cpu")
    ('time', 'cpu')
    """
    if named != "auto":
        return named
    for name in _AUTO:
        what = RESOURCES[name]
        measured, asked = (
            np.isfinite(what.used(jobs)).any(),
            np.isfinite(what.requested(jobs)).any(),
        )
        # peaks of memory say what to ask for, whatever was asked for so far
        if measured and (asked or name == "memory"):
            return name
    return "memory"


FINE = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
COARSE = (1.0, 2.0, 5.0, 10.0)


def round_up(amount: float, steps: tuple[float, ...] = FINE) -> float:
    """Return the next round number that is not below an amount.

    Examples
    --------
    >>> [round_up(amount) for amount in (4.8, 19.5, 0.31, 175.0, 5.0)]
    [5.0, 20.0, 0.4, 200.0, 5.0]
    >>> [round_up(amount, COARSE) for amount in (3.2, 13.5)]
    [5.0, 20.0]
    """
    if amount <= 0 or not math.isfinite(amount):
        return amount
    scale = 10.0 ** math.floor(math.log10(amount))
    # a sum of binary fractions may lie a hair above the number it stands for
    step = next((one for one in steps if one * scale >= amount * (1 - 1e-12)), 10.0)
    return round(step * scale, 12)
