"""Which jobs will arrive soon: learnt from earlier arrivals alone, for scaling ahead."""

from __future__ import annotations

import numpy as np

from prophase.sim.signatures import Floats, Ints

_HOUR_S, _DAY_S, _WEEK_S = 3600.0, 86_400.0, 604_800.0
#: seconds between the cycles that a forecast looks back to, and how many of them
_CYCLES = ((_DAY_S, 7), (_WEEK_S, 4))


def arrivals_ahead(
    submit_s: Floats, shape_of: Ints, *, ahead_s: float, every_s: float, margin: float
) -> tuple[Floats, Ints, Ints]:
    """Forecast, every so often, the jobs that arrive within ``ahead_s`` and one more step.

    Three forecasts compete: the last hour's rate, the same time of the last 7 days, and of the
    last 4 weeks. At every instant the one is taken that had the smallest mean absolute error so
    far, among those with a day of errors to be judged by; until then it is the rate. Nothing later
    than the instant is looked at.

    Parameters
    ----------
    submit_s, shape_of : arrays
        Jobs in order of submission, and which request each makes.
    margin : float
        Standard deviations of a Poisson count by which more jobs are expected than the mean.

    Returns
    -------
    times, first, rows : arrays
        When forecasts are made; where their rows begin, with one entry more; (request, jobs).
    """
    steps = int((submit_s[-1] - submit_s[0]) // every_s)
    times = submit_s[0] + every_s * np.arange(1, steps + 1)
    #: jobs before each step; step 0 is the first submission
    before = np.searchsorted(submit_s, np.concatenate((submit_s[:1], times)))
    width = int(np.ceil(ahead_s / every_s)) + 1
    choice = _choices(before, width, every_s)
    first, rows = [0], []
    for step in range(1, steps + 1):
        windows, weight = _windows(int(choice[step]), step, width, every_s)
        parts = [shape_of[before[begin] : before[end]] for begin, end in windows]
        shapes, counts = np.unique(np.concatenate(parts), return_counts=True)
        expected = counts.sum() * weight
        if expected > 0:
            # rounded as a running total, so that many rare requests are not all rounded to none
            total = np.cumsum(counts) * weight * (1 + margin / np.sqrt(expected))
            whole = np.diff(np.floor(total + 0.5), prepend=0.0).astype(np.int64)
            rows += list(zip(shapes[whole > 0].tolist(), whole[whole > 0].tolist(), strict=True))
        first.append(len(rows))
    return times, np.array(first, np.int64), np.array(rows, np.int64).reshape(-1, 2)


def _windows(
    choice: int, step: int, width: int, every_s: float
) -> tuple[list[tuple[int, int]], float]:
    """Return the steps of the past that a forecast looks at, and what one job in them counts."""
    if choice == 0:
        begin = max(step - max(round(_HOUR_S / every_s), 1), 0)
        return [(begin, step)], width / (step - begin)
    cycle_s, most = _CYCLES[choice - 1]
    lag = round(cycle_s / every_s)
    windows = [
        (step - lag * back, step - lag * back + width)
        for back in range(1, most + 1)
        if step >= lag * back
    ]
    return windows, 1 / len(windows)


def _choices(before: Ints, width: int, every_s: float) -> Ints:
    """Return which forecast each step takes: 0 the rate, then those of ``_CYCLES``."""
    steps, day = len(before), round(_DAY_S / every_s)
    came = np.full(steps, np.nan)
    came[: max(steps - width, 0)] = before[width:] - before[: max(steps - width, 0)]
    errors = np.full((1 + len(_CYCLES), steps), np.nan)
    for kind in range(len(errors)):
        since = 1 if kind == 0 else round(_CYCLES[kind - 1][0] / every_s)
        if kind and since < width:
            continue
        for step in range(since, steps):
            windows, weight = _windows(kind, step, width, every_s)
            jobs = sum(int(before[end] - before[begin]) for begin, end in windows)
            errors[kind, step] = abs(jobs * weight - came[step])
    choice = np.zeros(steps, np.int64)
    for kind in range(1, len(errors)):
        for rival in range(kind):
            lead = np.nancumsum(errors[kind] - errors[rival])
            seen = np.cumsum(~np.isnan(errors[kind]))
            # what has come within a window is known once it is over
            lead, seen = (np.concatenate((np.zeros(width), one))[:steps] for one in (lead, seen))
            better = (lead < 0) & (seen >= day) & (choice == rival)
            choice[better] = kind
    return choice
