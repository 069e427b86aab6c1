"""What jobs ask for: as the trace says, as a sizer would have said, or as a file says.

The recommendation is the one of ``prophase size``, learnt from the whole trace; ``prophase prove``
back-tests it. A sizer by name is asked for every job when it starts, and has learnt from what had
ended by then: so nobody is sized from a run that still lies ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from prophase.errors import MissingFileError, ParameterError, not_among
from prophase.sim.request_variants import ASKED, Sizing, read_requests, with_requests
from prophase.sim.rules.retry_ladder import Ladder
from prophase.sim.workload import Workload
from prophase.sizing.kind_recommendation import recommend
from prophase.sizing.registry import SIZERS, make_online_sizer
from prophase.sizing.replays.replay import replay
from prophase.sizing.replays.task_runs import task_runs
from prophase.sizing.resources import RESOURCES
from prophase.study.proof.candidate import Candidate, read_candidate
from prophase.study.proof.reserved_hours import PEAK, climbing, subject_of, with_candidate
from prophase.trace.identity.job_identity import rule_of, with_identity

#: attempts of a ladder at most
_MOST = 10
#: names of what ``prophase size`` recommends
RECOMMENDED = ("recommended", "default")


def sizings_of(
    jobs: pd.DataFrame,
    names: Sequence[str],
    *,
    kill_at: float = 0.5,
    seed: int = 0,
    show: Callable[[str], None] = lambda name: None,
) -> tuple[dict[str, Sizing], list[str]]:
    """Return the jobs with each kind of requests, and remarks.

    Parameters
    ----------
    names : sequence of str
        ``"asked"``; ``"recommended"`` (or ``"default"``), which is what ``prophase size``
        recommends; another sizer of ``prophase.sizing``, such as ``"percentile"``, which sizes
        memory; a recommendation of ``prophase size --export json`` (or csv); or a table
        of requests by ``job_id``, or by columns such as ``user`` and ``task``.
    kill_at : float, default=0.5
        Share of its run after which an attempt with too little memory is killed.

    Examples
    --------
    >>> at = np.arange(40)
    >>> jobs = pd.DataFrame({"job_id": at.astype(str), "submit_s": 3600.0 * at, "task": "align"})
    >>> jobs["duration_s"], jobs["request_memory_gib"], jobs["memory_peak_gib"] = 600.0, 32.0, 4.0
    >>> found, _ = sizings_of(jobs, ["asked", "maximum"])
    >>> sized = found["maximum"].workload.jobs
    >>> float(sized["sized_1"].iloc[0]), float(sized["sized_1"].iloc[-1])
    (32.0, 4.4)
    """
    found: dict[str, Sizing] = {}
    remarks: list[str] = []
    named: pd.DataFrame | None = None
    for name in names:
        show(name)
        if name == ASKED:
            found[name] = Sizing(Workload.from_jobs(jobs))
        elif name in RECOMMENDED:
            made = Candidate.made(recommend(with_identity(jobs)), name)
            found[name], said = _by_candidate(jobs, made, kill_at)
            remarks += [said, _backtested(made)]
        elif name in SIZERS:
            if named is None:
                named = with_identity(jobs)
                remarks.append(f"Sizers group jobs by {rule_of(named)}.")
            found[name], said = _by_sizer(named, name, kill_at)
            remarks.append(said)
        elif Path(name).suffix.lower() in (".json", ".csv", ".parquet"):
            found[name], more = _by_file(jobs, Path(name), kill_at)
            remarks += more
        else:
            said = f"sizing {name!r} is neither a file nor known."
            raise ParameterError(not_among(said, name, [ASKED, *RECOMMENDED[:1], *SIZERS]))
    return found, remarks


def _by_sizer(jobs: pd.DataFrame, name: str, kill_at: float) -> tuple[Sizing, str]:
    """Let a sizer decide for each job when it starts, from what had ended by then."""
    subject = subject_of(jobs)
    table = subject.today.jobs
    played = replay(task_runs(jobs, track="strict"), make_online_sizer(name), protocol="timeline")
    place = pd.Series(np.arange(len(table)), index=table["job_id"].astype(str))
    own = RESOURCES["memory"].requested(table)
    asked = {int(place[one.run.job_id]): one.asked for one in played.decisions
             if one.run.job_id in place.index}  # fmt: skip
    follows = [row for row in asked if np.isfinite(own[row]) and table[PEAK].notna().iloc[row]]
    deepest = min(max((len(asked[row]) for row in follows), default=1), _MOST)
    rungs = np.repeat(own[:, None], deepest, axis=1)
    for row in follows:
        given = asked[row][:deepest]
        # rungs after the one that held are never climbed
        rungs[row] = [*given, *(given[-1] for _ in range(deepest - len(given)))]
    columns = {f"sized_{k + 1}": rungs[:, k] for k in range(deepest)}
    peak = np.full(len(table), np.nan)
    # measured above all that can be given: what is left of memory when it ran holds it again
    peak[follows] = np.minimum(table[PEAK].to_numpy(float)[follows], rungs[follows].max(axis=1))
    workload = Workload.from_jobs(table.assign(**columns, **{PEAK: peak}))
    killed = sum(len(asked[row]) > 1 for row in follows)
    said = (
        f"{name}: {len(follows):,} of {len(table):,} jobs are sized, {killed:,} of them are killed "
        "at their first request."
    )
    ladder = Ladder(columns=tuple(columns), peak=PEAK, fails_after=kill_at)
    return Sizing(workload, ladder), said


def _by_file(jobs: pd.DataFrame, path: Path, kill_at: float) -> tuple[Sizing, list[str]]:
    """Read a recommendation with its ladder, or a table of requests."""
    if not path.exists():
        raise MissingFileError(f"{path}: there is no such file of requests or recommendations.")
    table = None if path.suffix.lower() == ".json" else read_requests(path)
    if table is not None and not {"task", "advice"} <= set(table.columns):
        workload, said = with_requests(Workload.from_jobs(jobs), table, name=path.name)
        return Sizing(workload), said
    sizing, remark = _by_candidate(jobs, read_candidate(path), kill_at)
    return sizing, [remark]


def _by_candidate(jobs: pd.DataFrame, advice: Candidate, kill_at: float) -> tuple[Sizing, str]:
    """Let every job of a recommended task ask along its ladder; all others as they did."""
    jobs = advice.grouped(jobs)
    advice = advice.matched(jobs)
    subject = subject_of(jobs, advice.resource)
    ladder = climbing(advice.resource, kill_at)
    sized = Sizing(with_candidate(subject, advice), ladder)
    said = (
        f"{advice.name}: {len(advice.changed):,} of {len(advice.tasks):,} tasks should ask for "
        f"another amount of {advice.resource}."
    )
    if ladder is not None:
        rungs, *_ = ladder.climb(sized.workload, sized.workload.asks)
        killed = int((rungs > 1).sum())
        said += f" {killed:,} of {len(rungs):,} jobs are killed at their first request."
    return sized, said


def _backtested(advice: Candidate) -> str:
    return (
        f"{advice.name}: as prophase size recommends, learnt from the whole trace; prophase prove "
        "says how it would have done on later jobs."
    )
