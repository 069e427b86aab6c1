"""Exact waits of one pool of servers, from a trace: first come, first served."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from prophase.errors import InputError, ParameterError
from prophase.sim.queueing.parameter_checks import Floats, Ints, require_whole_servers

#: requests are counted in thousandths of a server, so that shares of a GPU add up exactly
_MILLI = 1000


def exact_starts(
    submit_s: ArrayLike,
    duration_s: ArrayLike,
    servers: int,
    *,
    need: ArrayLike | None = None,
) -> Floats:
    """Return when each job starts on a pool that serves strictly in order of arrival.

    Parameters
    ----------
    submit_s, duration_s : array of shape (jobs,)
        In order of submission.
    servers : int
        Servers of the pool, such as GPUs.
    need : array of shape (jobs,), optional
        Servers each job takes, all at once and for all of its duration; shares down to a
        thousandth. One each if not given. Where a job does not fit, all behind it wait.

    Examples
    --------
    >>> exact_starts([0.0, 0.0, 1.0], [5.0, 2.0, 1.0], 2)
    array([0., 0., 2.])
    >>> exact_starts([0.0, 0.0, 1.0], [5.0, 2.0, 1.0], 2, need=[1, 2, 1])
    array([0., 5., 7.])
    """
    # compiled code loads slowly; formulas do without it
    from prophase.sim.kernels import fcfs_queue as single_queue

    servers = require_whole_servers(servers)
    # copies: pandas hands out read-only arrays, which are another type to the compiler
    submit, duration = np.array(submit_s, np.float64), np.array(duration_s, np.float64)
    _refuse_bad_times(submit, duration)
    start = np.empty(submit.size)
    if need is None:
        single_queue.pool_starts(submit, duration, np.zeros(servers), start)
        return start
    units = _units(np.asarray(need, float), submit.size, servers)
    single_queue.gang_starts(
        submit,
        duration,
        units,
        servers * _MILLI,
        np.zeros(submit.size + 1),
        np.zeros(submit.size + 1, np.int64),
        start,
    )
    return start


def exact_waits(
    submit_s: ArrayLike,
    duration_s: ArrayLike,
    servers: int,
    *,
    need: ArrayLike | None = None,
) -> Floats:
    """Return how long each job waits; see ``exact_starts``.

    Examples
    --------
    >>> exact_waits([0.0, 0.0, 1.0], [5.0, 2.0, 1.0], 2)
    array([0., 0., 1.])
    """
    starts = exact_starts(submit_s, duration_s, servers, need=need)
    waits: Floats = starts - np.asarray(submit_s, np.float64)
    return waits


def _refuse_bad_times(submit: Floats, duration: Floats) -> None:
    if submit.shape != duration.shape or submit.ndim != 1:
        raise ParameterError(
            f"submit_s has shape {submit.shape} and duration_s {duration.shape}; "
            "give one of each per job."
        )
    if not np.isfinite(submit).all():
        raise InputError(f"job {_first(~np.isfinite(submit))}: submit_s is missing. Leave it out.")
    bad = ~(duration >= 0) | np.isinf(duration)
    if bad.any():
        raise InputError(
            f"job {_first(bad)}: duration_s is {duration[bad][0]}, but must be 0 or more."
        )
    if (np.diff(submit) < 0).any():
        raise InputError(
            f"job {_first(np.diff(submit) < 0) + 1} was submitted before the one in front of it. "
            "Sort the jobs by submit_s first."
        )


def _units(need: Floats, jobs: int, servers: int) -> Ints:
    if need.shape != (jobs,):
        raise ParameterError(f"need has shape {need.shape}, but there are {jobs} jobs.")
    bad = ~(np.isfinite(need) & (need > 0))
    if bad.any():
        raise InputError(f"job {_first(bad)}: need is {need[bad][0]}, but must be above 0.")
    if (need > servers).any():
        raise InputError(
            f"job {_first(need > servers)} needs {need.max():g} servers at once, but there are "
            f"{servers}: it would never start. Give at least {int(np.ceil(need.max()))} servers."
        )
    return np.maximum(np.round(need * _MILLI), 1).astype(np.int64)


def _first(mask: np.ndarray) -> int:
    return int(np.flatnonzero(mask)[0])
