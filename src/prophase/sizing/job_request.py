"""What one job should ask for of one resource: the recommendation of its kind, or its own.

A job of which only the kind is known gets what its kind should ask for. Where its input, its
sample or other attributes say more than the kind, and requests made from them have done better
on the runs so far, it gets one of its own. Where nothing alike has run, its request stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from prophase import units
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.sizing.gpu_grants import GpuGrant
from prophase.sizing.kind_recommendation import (
    ASK_FOR_MORE,
    CLOSE,
    COST_OF_A_KILL,
    Gate,
    Recommendation,
)
from prophase.sizing.kind_runs import KindRuns
from prophase.sizing.ladder_from_peaks import ladder_of
from prophase.sizing.live_sizing import JobLadder, KindRecord, LiveSizing
from prophase.sizing.resources import RESOURCES, Resource
from prophase.sizing.sizer import Features, code_number
from prophase.sizing.wider_level import spoken

#: a request this many times the usual one, or that part of it, is of another kind of job
_ANOTHER_KIND = 2.0
#: a request of a job's own must have saved so much more of today's than that of its kind
_WORTH = 0.02


@dataclass(frozen=True)
class RequestRecommendation:
    """What a job should ask for of one resource, or why its request stays.

    Amounts are in GiB of memory, CPU cores, and seconds of run time.
    """

    resource: str
    #: column of the job table that holds the request
    column: str
    asked: float | None
    #: requests of the 1st, 2nd and 3rd attempt; empty if the request stays
    ladder: tuple[float, ...]
    why: str
    #: task whose past was looked at
    task: str
    #: chance that the first request is killed; None if it is that of the kind as a whole
    chance: float | None = None
    #: amount that the first request is expected to hold above the peak
    expected_waste: float | None = None
    #: of a GPU: the part that the nodes give, if they give parts
    part: GpuGrant | None = None

    @property
    def change(self) -> bool:
        """Say whether the job should ask for something else."""
        return bool(self.ladder)

    def rung(self, attempt: int) -> float:
        """Return the request of an attempt, counted from 1; the last rung is for all later ones.

        Examples
        --------
        >>> one = RequestRecommendation(
        ...     "memory", "request_memory_gib", 16.0, (2.0, 3.0, 16.0), "", "t"
        ... )
        >>> one.rung(1), one.rung(2), one.rung(9)
        (2.0, 3.0, 16.0)
        """
        return self.ladder[min(max(attempt, 1), len(self.ladder)) - 1]

    def words(self) -> str:
        """Return the recommendation as a sentence."""
        asked = "nothing" if self.asked is None else _said(self.resource, self.asked)
        if not self.change:
            return f"{self.resource}: {asked} stays: {self.why}"
        return (
            f"{self.resource}: {_said(self.resource, self.ladder[0])} instead of {asked}: "
            f"{self.why}"
        )

    def to_dict(self) -> JsonObject:
        """Return what JSON holds."""
        told: JsonObject = {
            "resource": self.resource, "column": self.column, "asked": self.asked,
            "change": self.change, "ladder": list(self.ladder), "why": self.why,
            "task": self.task, "chance": self.chance, "expected_waste": self.expected_waste,
        }  # fmt: skip
        if self.part is not None:
            told["part"] = {"slurm": self.part.slurm, "kubernetes": self.part.kubernetes}
        return told


@dataclass(frozen=True)
class KindEvidence:
    """All that is known of a job's kind for one resource."""

    past: Recommendation | None
    live: LiveSizing | None
    risk: float
    gate: Gate
    #: of a kind without runs: those of others that may serve as a prior
    others: KindRuns | None = None


@dataclass(frozen=True)
class KindRequest:
    """What jobs of a kind should ask for, of which nothing else matters than their request.

    Amounts are in the units of :class:`RequestRecommendation`.
    """

    #: requests between these are of this kind; others stay
    lowest: float
    highest: float
    ladder: tuple[float, ...]
    #: whether requests below the first rung are raised to it
    raises: bool
    why: str
    #: whether other things known of a job may give it a ladder of its own
    own: bool


def kind_request(what: Resource, evidence: KindEvidence, task: str) -> KindRequest | None:
    """Return what :func:`requested` says of all jobs of a kind; None if all requests stay."""
    past, scale = evidence.past, 1.0 / what.request_factor
    if past is None:
        return None
    # another version of its code is told from what is known of a job
    own = past.code == past.code or _may_have_own(evidence, task)
    if past.keep and not own:
        return None
    usual = past.now * scale
    lowest, highest = (usual / _ANOTHER_KIND, usual * _ANOTHER_KIND) if usual > 0 else (0.0, 1e300)
    ladder = tuple(rung * scale for rung in past.ladder)
    if past.asks_for_more and not what.held:
        # a longer time limit for some shortens nobody's
        highest = min(highest, ladder[0])
    return KindRequest(lowest, highest, ladder, past.asks_for_more, past.why, own)


def requested(
    what: Resource,
    evidence: KindEvidence,
    task: str,
    asked: float | None,
    features: Callable[[], Features],
) -> RequestRecommendation:
    """Return what a job should ask for.

    Parameters
    ----------
    what : Resource
        What is sized.
    task : str
        Name of its kind.
    asked : float or None
        Its request, in the unit of the job table.
    features : callable
        Returns what is known of the job before it runs, as sizers are given it; asked only
        where it may matter.
    """
    past, what = evidence.past, evidence.gate.sized(what)
    scale = 1.0 / what.request_factor

    def stays(why: str) -> RequestRecommendation:
        return RequestRecommendation(what.name, what.request_column, asked, (), why, task)

    if past is None:
        more = None if asked is None else _asked_by_others(what, evidence, asked)
        if more is None:
            return stays(f"no finished job of {task!r} has measured it")
        return RequestRecommendation(what.name, what.request_column, asked, *more, task)
    usual = past.now * scale
    if asked is not None and usual > 0 and not 1 / _ANOTHER_KIND <= asked / usual <= _ANOTHER_KIND:
        return stays(
            f"it asks for {_said(what.name, asked)} where {task!r} usually asks for "
            f"{_said(what.name, usual)}, so it may be of another kind"
        )
    if past.code == past.code and _is_another(code_number(features()), past.code):
        return stays("another version of its code ran before; this one has not been measured")
    own = _own(what, evidence, task, features)
    if own is None and past.keep:
        return stays(past.why.removeprefix("keep: "))
    ladder = [rung * scale for rung in (own.rungs if own else past.ladder)]
    why = past.why if own is None else _why_own(evidence, task, own)
    raises = own is None and past.asks_for_more
    if not (raises and (asked is None or asked < ladder[0])) and asked is not None:
        if ladder[0] >= asked or (raises and not what.held):
            return stays(
                f"what it may need ({_said(what.name, ladder[0])}) is not below its request"
            )
        # the last attempt never has less than its user wanted
        ladder = [min(rung, asked) for rung in ladder[:-1]] + [max(ladder[-1], asked)]
    return RequestRecommendation(
        what.name, what.request_column, asked, tuple(ladder), why, task,
        None if own is None else own.chance,
        None if own is None else own.expected_waste * scale,
    )  # fmt: skip


def _asked_by_others(
    what: Resource, evidence: KindEvidence, asked: float
) -> tuple[tuple[float, ...], str] | None:
    """Return more than a job of an unknown kind asks for, if the runs of others needed more.

    Others never lower a request; they raise it where that costs less than the kills.
    """
    if evidence.others is None or not what.kills or not asked > 0:
        return None
    now, peaks = asked * what.request_factor, evidence.others.peaks
    above = float((peaks > now).mean())
    ladder = ladder_of(peaks, evidence.risk, now, what, evidence.others.when_s)
    if not above > evidence.risk or COST_OF_A_KILL * above < ladder[0] / now - 1:
        return None
    why = (
        f"{ASK_FOR_MORE}: {units.percent(above)} of {counted(len(peaks), 'run')} of "
        f"{spoken(evidence.gate.prior)} needed more than this job asks for"
    )
    return tuple(rung / what.request_factor for rung in ladder), why


def _is_another(code: float, known: float) -> bool:
    """Say whether a job names another version of its code than the one that ran last."""
    return not math.isnan(code) and code != known


def _own(
    what: Resource, evidence: KindEvidence, task: str, features: Callable[[], Features]
) -> JobLadder | None:
    """Return the job's own ladder, where what is known of it has proven to say more."""
    past, live = evidence.past, evidence.live
    if live is None or past is None or not _may_have_own(evidence, task):
        return None
    known = features()
    found = live.ladder(task, known) if live.tells(task, known) else None
    if found is None:
        return None
    least = min(what.least, past.now) if past.now > 0 else what.least
    rungs = tuple(float(what.allocatable(max(rung, least))) for rung in found.rungs)
    return JobLadder(rungs, found.chance, found.expected_waste)


def _may_have_own(evidence: KindEvidence, task: str) -> bool:
    """Say whether ladders of jobs' own have proven better than that of the kind."""
    past, live = evidence.past, evidence.live
    if live is None or past is None or past.asks_for_more or past.follows_request:
        return False
    record = live.records.get(task)
    return record is not None and live.may_tell(task) and _proven(record, past, evidence)


def _proven(record: KindRecord, past: Recommendation, evidence: KindEvidence) -> bool:
    """Say whether requests of jobs' own saved more than that of the kind, with as few kills."""
    gate, risk = evidence.gate, evidence.risk
    if len(record) < max(gate.fewest_runs, 2):
        return False
    killed = record.killed
    most = CLOSE * risk if gate.most_oom is None else gate.most_oom
    surely = risk if gate.most_oom is None else gate.most_oom
    if killed.value > most or (killed.known and killed.low > surely):
        return False
    of_kind = 0.0 if past.keep else past.saving
    return record.saving > max(gate.least_saving, of_kind + _WORTH)


def _why_own(evidence: KindEvidence, task: str, own: JobLadder) -> str:
    assert evidence.live is not None
    record = evidence.live.records[task]
    return (
        f"what is known of this job predicts its need: such requests saved "
        f"{units.percent(record.saving)} of {counted(len(record), 'earlier run')} and "
        f"{units.percent(record.killed.value)} were killed; chance of a kill "
        f"{units.percent(own.chance)}"
    )


def _said(resource: str, value: float) -> str:
    what = RESOURCES[resource]
    return units.amount(value, "s" if what.request_factor != 1.0 else what.unit)
