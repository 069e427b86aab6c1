"""Stays: a phase, and how many samples it lasted. What series are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.trace.series.usage_series import Floats, Ints, SeriesSet


@dataclass(frozen=True)
class Stays:
    """All stays of all series, in order."""

    #: (n,) number of the series a stay belongs to
    series: Ints
    #: (n,) which phase, and for how many samples
    phase: Ints
    samples: Ints
    #: (n,) seen from its beginning to its end; the last one of a series goes on
    whole: np.ndarray[tuple[int], np.dtype[np.bool_]]


def stays_of(labels: Sequence[Ints]) -> Stays:
    """Return the stays in sequences of phases; samples without a phase separate them.

    Examples
    --------
    >>> found = stays_of([np.array([-1, 0, 0, 0, 2, 2]), np.array([1, 1])])
    >>> found.phase.tolist(), found.samples.tolist(), found.whole.tolist()
    ([0, 2, 1], [3, 2, 2], [True, False, False])
    """
    parts: list[list[np.ndarray]] = [[], [], [], []]
    for number, phase in enumerate(labels):
        if len(phase) == 0:
            continue
        edges = np.flatnonzero(np.diff(phase, prepend=phase[0] - 1))
        lengths = np.diff(np.append(edges, len(phase)))
        held = phase[edges]
        ends = np.append(held[1:] >= 0, False)
        known = held >= 0
        for part, value in zip(
            parts, (np.full(len(held), number), held, lengths, ends), strict=True
        ):
            part.append(value[known])
    if not parts[0]:
        none = np.zeros(0, dtype=np.int64)
        return Stays(none, none, none, none.astype(bool))
    return Stays(*(np.concatenate(part) for part in parts))


def transition_table(stays: Stays, n_phases: int) -> Floats:
    """Return how often each phase was followed by each other, (from, to)."""
    found = np.zeros((n_phases, n_phases))
    follow = stays.whole[:-1] & (stays.series[:-1] == stays.series[1:])
    np.add.at(found, (stays.phase[:-1][follow], stays.phase[1:][follow]), 1.0)
    return found


def phase_statistics(found: SeriesSet, labels: Sequence[Ints], n_phases: int) -> pd.DataFrame:
    """Return a row per phase and metric: how much is used in it.

    Columns: ``phase``, ``metric``, ``samples``, ``share_pct``, ``mean``, ``std``, ``q05``,
    ``q50``, ``q95``, ``max``. What provisioning by phase reads.
    """
    values = np.concatenate([one.values for one in found.series])
    phase = np.concatenate(labels)
    # samples before the first phase are of none, so that shares add to 100
    known_samples = max(int((phase >= 0).sum()), 1)
    rows = []
    for number in range(n_phases):
        inside = values[phase == number]
        for place, metric in enumerate(found.metrics):
            column = inside[:, place]
            known = len(column) > 0
            low, middle, high = np.quantile(column, (0.05, 0.5, 0.95)) if known else (np.nan,) * 3
            rows.append(
                {
                    "phase": number,
                    "metric": metric,
                    "samples": len(column),
                    "share_pct": 100 * len(column) / known_samples,
                    "mean": float(column.mean()) if known else np.nan,
                    "std": float(column.std()) if known else np.nan,
                    "q05": float(low),
                    "q50": float(middle),
                    "q95": float(high),
                    "max": float(column.max()) if known else np.nan,
                }
            )
    return pd.DataFrame(rows)


def stay_lengths(stays: Stays, n_phases: int, found: SeriesSet | None = None) -> pd.DataFrame:
    """Return a row per phase: how often it was entered, and for how long it lasted.

    In samples, and in seconds where the series are given: each counts by its own usual step.
    """
    rows = []
    lasted = None
    if found is not None:
        lasted = stays.samples * np.array([one.step_s for one in found.series])[stays.series]
    for number in range(n_phases):
        inside = stays.phase == number
        lengths = stays.samples[inside & stays.whole]
        known = len(lengths) > 0
        rows.append(
            {
                "phase": number,
                "stays": int(inside.sum()),
                "whole": len(lengths),
                "mean_samples": float(lengths.mean()) if known else np.nan,
                "median_samples": float(np.median(lengths)) if known else np.nan,
                "longest_samples": int(stays.samples[inside].max(initial=0)),
            }
        )
        if lasted is not None:
            seconds = lasted[inside & stays.whole]
            rows[-1] |= {
                "mean_s": float(seconds.mean()) if known else np.nan,
                "median_s": float(np.median(seconds)) if known else np.nan,
                "longest_s": float(lasted[inside].max(initial=0.0)),
            }
    return pd.DataFrame(rows)


def seen_once(lengths: pd.DataFrame) -> str | None:
    """Say that further phases are likely, if some of those found were entered only once.

    The share of stays in phases that were seen once is how likely the next stay is one in a phase
    that nobody has seen (Good 1953).

    Examples
    --------
    >>> seen_once(pd.DataFrame({"phase": [0, 1], "stays": [3, 1]}))
    'Phase 1 was entered once: about 25 % of further stays may be in phases not seen yet.'
    """
    once = [int(n) for n in lengths.loc[lengths["stays"] == 1, "phase"]]
    total = int(lengths["stays"].sum())
    if not once or len(lengths) < 2:
        return None
    named = f"Phase {once[0]} was" if len(once) == 1 else f"Phases {listed(once)} were"
    return (
        f"{named} entered once: about {100 * len(once) / total:.0f} % of further stays may be in "
        "phases not seen yet."
    )


def listed(numbers: Sequence[int]) -> str:
    """Write numbers as a list of words."""
    *most, last = map(str, numbers)
    return f"{', '.join(most)} and {last}" if most else last
