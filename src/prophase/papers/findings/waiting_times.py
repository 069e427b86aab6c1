"""How long instances wait: short against long, sharing against whole GPUs, by type of GPU."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pandas as pd

from prophase.papers.findings.finding import (
    FigureDefinition,
    PublishedFinding,
    column,
    weighted_quantile,
    weighted_share,
)
from prophase.trace.describe.column_arrays import has_values
from prophase.trace.describe.job_counts import instances_of
from prophase.trace.trace_tables import Trace

#: GPUs that were the scarce ones of their time; Alibaba hides the names G1 to G3
_HIGH_END = re.compile(r"(V100|A100|A800|H100|H800|H20|H200|B200|GB200|MI250|MI300)", re.IGNORECASE)
_UNNAMED = re.compile(r"G\d+$|CPU$|GPU$", re.IGNORECASE)


def mostly_waiting(trace: Trace) -> PublishedFinding:
    """Say which share of short and of long instances waits longer than it runs."""
    asked = (
        FigureDefinition(
            f"{words} instances whose wait is more than half of wait and run time",
            "%",
            ("wait_s", "duration_s"),
            _over_half(longer),
            (published,),
        )
        for words, longer, published in (("short", False, 9.0), ("long", True, 3.0))
    )
    return PublishedFinding(
        "mostly_waiting",
        "Waits over half of completion time",
        tuple(one.of(trace) for one in asked),
        "Short is below the median run time of this trace; where the study drew the line is not "
        "in its public summaries.",
    )


def sharing_waits(trace: Trace) -> PublishedFinding:
    """Compare the waits of instances that share a GPU with those that do not."""
    asked = (
        FigureDefinition(
            f"90th percentile of the wait of instances that ask for {words}",
            "s",
            ("wait_s", "request_gpus"),
            _wait_quantile(chosen, 0.9),
            (published,),
            nothing=f"no instance with a wait asks for {words}",
        )
        for words, chosen, published in (
            ("a share of a GPU", lambda gpus: (gpus > 0) & (gpus < 1), 497.0),
            ("whole GPUs", lambda gpus: gpus >= 1, 1150.0),
        )
    )
    return PublishedFinding(
        "sharing_waits",
        "Waits with and without GPU sharing",
        tuple(one.of(trace) for one in asked),
    )


def waits_by_type(trace: Trace) -> PublishedFinding:
    """Compare the waits for high-end and for other GPUs."""
    asked = (
        FigureDefinition(
            f"{name} of the wait of GPU instances on {words} GPUs",
            "s",
            ("wait_s", "request_gpus", "gpu_type|after_gpu_type"),
            _typed_quantile(high, share),
            (published,),
            nothing=f"no GPU instance with a wait names a {words} GPU type",
        )
        for words, high, name, share, published in (
            ("high-end", True, "median", 0.5, 113.0),
            ("high-end", True, "90th percentile", 0.9, 13_709.0),
            ("low-end", False, "median", 0.5, 11.0),
            ("low-end", False, "90th percentile", 0.9, 360.0),
        )
    )
    return PublishedFinding(
        "waits_by_type",
        "Waits by type of GPU",
        tuple(one.of(trace) for one in asked),
        "By the type asked for, else the type of the node it ran on. High-end: V100, A100, H100 "
        "and their kin; published for V100. Undisclosed types are left out.",
    )


def high_end(types: pd.Series) -> np.ndarray:
    """Return 1 for high-end GPU types, 0 for others, -1 for none and undisclosed names.

    A choice of several types is high-end only if all of them are.

    Examples
    --------
    >>> high_end(pd.Series(["V100M32", "T4", "V100|T4", "G2", None])).tolist()
    [1, 0, 0, -1, -1]
    """
    kinds = {text: _kind(str(text)) for text in types.dropna().unique()}
    codes: np.ndarray = types.map(kinds).fillna(-1).to_numpy(np.int64)
    return codes


def _kind(text: str) -> int:
    words = [word for word in text.split("|") if word]
    if not words or any(_UNNAMED.match(word) for word in words):
        return -1
    return int(all(_HIGH_END.search(word) for word in words))


def _over_half(longer: bool) -> Callable[[Trace], float | None]:
    def share(trace: Trace) -> float | None:
        wait, duration = column(trace, "wait_s"), column(trace, "duration_s")
        known = ~np.isnan(wait) & ~np.isnan(duration)
        if not known.any():
            return None
        middle = np.median(duration[known])
        known &= (duration >= middle) if longer else (duration < middle)
        return weighted_share(wait > duration, known, instances_of(trace.jobs))

    return share


def _wait_quantile(
    chosen: Callable[[np.ndarray], np.ndarray], share: float
) -> Callable[[Trace], float | None]:
    def quantile(trace: Trace) -> float | None:
        rows = chosen(column(trace, "request_gpus"))
        wait, weight = column(trace, "wait_s"), instances_of(trace.jobs)
        return weighted_quantile(wait[rows], weight[rows], share)

    return quantile


def _typed_quantile(high: bool, share: float) -> Callable[[Trace], float | None]:
    def quantile(trace: Trace) -> float | None:
        jobs = trace.jobs
        kind = np.full(len(jobs), -1)
        for name in ("after_gpu_type", "gpu_type"):
            if has_values(jobs, name):
                found = high_end(jobs[name])
                kind = np.where(jobs[name].notna().to_numpy(bool), found, kind)
        rows = (kind == int(high)) & (column(trace, "request_gpus") > 0)
        wait, weight = column(trace, "wait_s"), instances_of(jobs)
        return weighted_quantile(wait[rows], weight[rows], share)

    return quantile
