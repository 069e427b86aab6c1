"""The least-waste sizer with the record of its own requests, kind by kind.

It learns as it would have lived: each run is sized when it began, from what had ended by then,
and reports when it ended. So the record of a kind says what following it would have saved and
how often it would have been killed, also where many runs were under way at once.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from prophase.json_types import JsonMapping
from prophase.modelfile import Parts
from prophase.sizing.least_waste.ladder import Floats
from prophase.sizing.least_waste.saved_state import Arrays, packed_engine, unpacked_engine
from prophase.sizing.least_waste.settings import LeastWasteSettings
from prophase.sizing.least_waste.sizer import LeastWaste
from prophase.sizing.packed_kinds import BuiltWhenAsked, NarrowRows
from prophase.sizing.replays.task_runs import TaskRun
from prophase.sizing.resources import SMALLEST_GIB
from prophase.sizing.sizer import GROWTH, Features
from prophase.stats import Estimate, calendar_blocks, share

#: requests of a kind that its record keeps, the latest ones
_KEPT = 400
#: attempts after which a run that is still killed in the record gets what it used
_MOST_ATTEMPTS = 6


@dataclass
class KindRecord:
    """How the requests of one kind did: a row per run that was sized and ended."""

    #: when it was submitted, whether it was killed, what its attempts held, what it reserves today
    rows: list[tuple[float, float, float, float]] = field(default_factory=list)
    _killed: Estimate | None = field(default=None, repr=False)
    _saving: float | None = field(default=None, repr=False)

    @staticmethod
    def of(rows: Floats) -> KindRecord:
        """Return the record of rows that were saved."""
        return KindRecord(list(zip(*rows.tolist(), strict=True)))

    def add(self, when_s: float, killed: bool, asked_h: float, reserved_h: float) -> None:
        """Take note of one run."""
        self._killed = self._saving = None
        self.rows.append((when_s, float(killed), asked_h, reserved_h))
        if len(self.rows) > 2 * _KEPT:
            del self.rows[:-_KEPT]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def killed(self) -> Estimate:
        """Share of the runs that were killed at their first request."""
        if self._killed is None:
            table = np.array(self.rows)
            self._killed = share(table[:, 1] > 0, calendar_blocks(table[:, 0]))
        return self._killed

    @property
    def saving(self) -> float:
        """Share of what is reserved today that the requests would have saved."""
        if self._saving is None:
            asked, reserved = np.array(self.rows)[:, 2:].sum(axis=0)
            self._saving = 1.0 - float(asked / reserved) if reserved > 0 else math.nan
        return self._saving


@dataclass(frozen=True)
class JobLadder:
    """What one job should ask for, attempt by attempt."""

    rungs: tuple[float, ...]
    #: chance that the first request is killed
    chance: float
    #: what the first request is expected to hold above the peak
    expected_waste: float


class LiveSizing:
    """Sizes single jobs of one resource, and learns from every one that ends.

    Parameters
    ----------
    risk : float, optional
        Share of runs that may be killed at their first request.
    least : float, optional
        No request is below it, unless the user asks for less.
    """

    def __init__(self, risk: float | None = None, least: float = SMALLEST_GIB) -> None:
        settings = LeastWasteSettings(least=least)
        self.engine = LeastWaste(risk, settings=settings, prior=False)
        self.records: MutableMapping[str, KindRecord] = {}
        #: the end of the latest run that was learnt from
        self.known_until_s = -math.inf

    def learn(self, runs: Sequence[TaskRun]) -> None:
        """Learn from finished runs, each sized when it began and heard of when it ended."""
        since = self.known_until_s
        sized: dict[int, list[float]] = {}
        for ended, place in _events(runs):
            run = runs[place]
            if not ended:
                first = self.engine.predict(run.task, run.features)
                sized[place] = [min(first, run.request) if run.request > 0 else first]
                continue
            self._hear(run, sized[place])
            if run.start_s >= since and run.request > 0 and not run.cut_off:
                asked = sized[place]
                self.records.setdefault(run.task, KindRecord()).add(
                    run.submit_s, len(asked) > 1, sum(asked) * run.runtime_h,
                    run.request * run.runtime_h,
                )  # fmt: skip
            self.known_until_s = max(self.known_until_s, run.end_s)

    def _hear(self, run: TaskRun, asked: list[float]) -> None:
        """Report how a run ended; a request below its peak was killed and is asked for again."""
        engine = self.engine
        if run.cut_off:
            # killed at its own limit: it needs more than that, nobody knows how much
            engine.observe(run.task, run.features, run.peak, run.runtime_h, failed=True)
            return
        while asked[-1] < run.peak:
            engine.observe(run.task, run.features, asked[-1], run.runtime_h, failed=True)
            again = engine.retry(run.task, run.features, len(asked) + 1, asked[-1])
            enough = run.peak if len(asked) >= _MOST_ATTEMPTS else 0.0
            asked.append(max(again, enough))
        known = {**run.features, "post": run.post}
        engine.observe(run.task, known, run.peak, run.runtime_h, failed=False)

    def tells(self, kind: str, features: Features) -> bool:
        """Say whether what is known of a job says more than the history of its kind."""
        history = self.engine.histories_.get(kind)
        under_way = None if history is None else max(history.open, history.count)
        return self.engine.telling(kind, features, under_way)

    def may_tell(self, kind: str) -> bool:
        """Say whether there may be a job of a kind of which more is known than its kind."""
        return self.engine.may_tell(kind)

    def ladder(self, kind: str, features: Features) -> JobLadder | None:
        """Return what a job should ask for; None if nothing is known of its kind.

        As many runs as have ended are taken to begin before the next one is heard of.
        """
        history = self.engine.histories_.get(kind)
        if history is None or not history.count:
            return None
        under_way = max(history.open, history.count)
        rungs, outlook = self.engine.laddered(kind, features, under_way=under_way)
        chance, waste = 0.0, 0.0
        if outlook is not None and len(outlook):
            chance = outlook.exceed(rungs[0])
            waste = float(rungs[0] - outlook.sums[-1])
        return JobLadder(_three(rungs), chance, waste)

    def apart(self, kinds: Iterable[str]) -> LiveSizing:
        """Return one that may learn of these kinds while this one goes on answering."""
        made = copy.copy(self)
        made.engine, made.records = copy.copy(self.engine), copy.copy(self.records)
        engine = made.engine
        engine.histories_ = copy.copy(self.engine.histories_)
        engine.price_, engine.cold_, engine.lineage_ = copy.deepcopy(
            (engine.price_, engine.cold_, engine.lineage_)
        )
        for kind in kinds:
            if kind in engine.histories_:
                engine.histories_[kind] = copy.deepcopy(engine.histories_[kind])
            if kind in made.records:
                made.records[kind] = copy.deepcopy(made.records[kind])
        return made

    def packed(self) -> Parts:
        """Return all of it for a model file."""
        engine = packed_engine(self.engine)
        tables: list[Floats] = [np.array(one.rows).reshape(-1, 4) for one in self.records.values()]
        return Parts(
            {
                "engine": dict(engine.meta),
                "records": list(self.records),
                "known_until_s": None if math.isinf(self.known_until_s) else self.known_until_s,
            },
            {
                **engine.arrays,
                "record": np.concatenate(tables) if tables else np.empty((0, 4)),
                "record_count": np.array([len(one) for one in tables], np.int64),
            },
        )

    @staticmethod
    def unpacked(meta: JsonMapping, arrays: Arrays) -> LiveSizing:
        """Return what was packed."""
        made = LiveSizing()
        made.engine = unpacked_engine(meta["engine"], arrays)
        table = NarrowRows(arrays["record"].T, arrays["record_count"])
        places = {kind: place for place, kind in enumerate(meta["records"])}
        made.records = BuiltWhenAsked(places, lambda place: KindRecord.of(table.of(place)))
        until = meta["known_until_s"]
        made.known_until_s = -math.inf if until is None else float(until)
        return made


def _events(runs: Sequence[TaskRun]) -> Iterable[tuple[bool, int]]:
    """Return begins and ends in the order of the clock; what ends at an instant ends first."""
    found = [(run.start_s, 1, place) for place, run in enumerate(runs)]
    found += [(max(run.end_s, run.start_s), 2 * (run.end_s <= run.start_s), place)
              for place, run in enumerate(runs)]  # fmt: skip
    for _, what, place in sorted(found):
        yield what != 1, place


def _three(rungs: Sequence[float]) -> tuple[float, ...]:
    """Return three rungs that rise."""
    found = list(rungs[:3])
    while len(found) < 3:
        found.append(GROWTH * found[-1])
    return tuple(found)
