"""A recommendation to be proven: a ladder of requests per task, made now or read from a file."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import pandas as pd

from prophase.errors import FormatError, MissingFileError, ParameterError
from prophase.json_types import JsonMapping, JsonObject
from prophase.plain import finite
from prophase.sizing.kind_recommendation import ASK_FOR_MORE, ResourceRecommendations
from prophase.sizing.resources import RESOURCES
from prophase.trace.identity.job_identity import KeyNames, full_name, identity_keys, with_identity
from prophase.trace.identity.rule import IdentityRule

_FORM = "Write one with: prophase size HISTORY --export json > recommendation.json"
#: resources whose requests a replay can change
PROVABLE = ("memory", "cpu", "gpu", "time")


@dataclass(frozen=True)
class CandidateLadder:
    """What one task should ask for.

    Attributes
    ----------
    ladder : tuple of float
        Requests of the 1st, 2nd ... attempt.
    saving : float
        Predicted share of what the task reserves today; NaN if nothing was predicted.
    keep : bool
        The task keeps the request it has.
    code : str
        Version of the code that it was learnt from, such as ``version=v2``; empty: any.
    """

    task: str
    ladder: tuple[float, ...]
    saving: float = math.nan
    oom: float = math.nan
    keep: bool = False
    why: str = ""
    code: str = ""

    @property
    def asks_for_more(self) -> bool:
        """Say whether kills raise the request of today."""
        return self.why.startswith(ASK_FOR_MORE)


@dataclass(frozen=True)
class Candidate:
    """A recommendation for the tasks of a trace, from any source."""

    resource: str
    unit: str
    tasks: Mapping[str, CandidateLadder]
    risk: float = math.nan
    name: str = "advice"
    #: by which columns jobs are grouped; None: as the jobs are
    rule: IdentityRule | None = None
    #: columns that a file names instead
    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.resource not in PROVABLE:
            raise ParameterError(
                f"{self.name}: is a recommendation for {self.resource}, which a replay cannot "
                f"change. What can be proven: {', '.join(PROVABLE)}."
            )
        # whoever wrote 1.2 GPUs gets two, so that is what is replayed, settled and compared
        given = RESOURCES[self.resource].allocatable
        # a replay cannot show what a longer time limit does: how long ended runs take is not known
        tasks = {
            name: replace(
                one,
                ladder=tuple(float(given(rung)) for rung in one.ladder),
                keep=one.keep or (self.resource == "time" and one.asks_for_more),
            )
            for name, one in self.tasks.items()
        }
        object.__setattr__(self, "tasks", tasks)

    @property
    def changed(self) -> dict[str, CandidateLadder]:
        """The tasks that are to ask for something else."""
        return {name: one for name, one in self.tasks.items() if not one.keep}

    def grouped(self, jobs: pd.DataFrame) -> pd.DataFrame:
        """Return the jobs grouped as the recommendation has them."""
        if self.by and set(self.by) <= set(map(str, jobs.columns)):
            return with_identity(jobs, by=self.by)
        return with_identity(jobs, self.rule)

    def matched(self, jobs: pd.DataFrame) -> Self:
        """Return it with its tasks named as grouped jobs have them.

        A task may be named without its tenant if only one tenant has such a kind.
        """
        names = KeyNames(identity_keys(jobs))
        tasks: dict[str, CandidateLadder] = {}
        for task, one in self.tasks.items():
            key = names.find(task)
            name = task if key is None else full_name(key)
            if name in tasks:
                raise FormatError(f"{self.name}: {name!r} stands there twice; keep one of them.")
            tasks[name] = replace(one, task=name)
        return replace(self, tasks=tasks)

    @classmethod
    def made(cls, advice: ResourceRecommendations, name: str = "advice") -> Self:
        """Take what ``prophase.sizing.recommend`` returned."""
        return cls(
            advice.resource,
            advice.unit,
            {
                one.task: CandidateLadder(
                    one.task, one.ladder, one.saving, one.oom.value, one.keep, one.why, one.version
                )
                for one in advice.tasks
            },
            advice.risk,
            name,
            advice.rule,
        )

    def to_dict(self) -> JsonObject:
        """Return the recommendation as JSON knows it."""
        return {
            "resource": self.resource,
            "unit": self.unit,
            "risk": finite(self.risk),
            "identity": None if self.rule is None else self.rule.to_dict(),
            "tasks": [
                {
                    "task": one.task,
                    "ladder": list(one.ladder),
                    "saving": finite(one.saving),
                    "oom": finite(one.oom),
                    "keep": one.keep,
                    "why": one.why,
                    **({"code": one.code} if one.code else {}),
                }
                for one in self.tasks.values()
            ],
        }


def read_candidate(path: str | Path) -> Candidate:
    """Read a recommendation that ``prophase size --export json`` or ``csv`` wrote.

    A table of one's own needs the columns ``task`` and ``advice`` (the first request); ``2nd``,
    ``3rd`` and ``saving_pct`` are read if there.
    """
    source = Path(path)
    try:
        text = source.read_text(encoding="utf-8")
    except FileNotFoundError as cause:
        raise MissingFileError(f"{source}: there is no such recommendation. {_FORM}") from cause
    except (OSError, UnicodeDecodeError) as cause:
        raise FormatError(f"{source}: cannot be read as a recommendation. {_FORM}") from cause
    if source.suffix.lower() == ".csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        return _of_rows(rows, {}, source)
    try:
        document = json.loads(text)
    except ValueError as cause:
        raise FormatError(f"{source}: is neither JSON nor .csv ({cause}). {_FORM}") from cause
    return candidate_of(document, name=str(source))


def candidate_of(document: Any, *, name: str = "advice") -> Candidate:
    """Return the recommendation that a JSON document holds.

    Examples
    --------
    >>> candidate_of({"tasks": [{"task": "align", "advice": 2.0}]}).tasks["align"].ladder
    (2.0,)
    """
    if not isinstance(document, dict) or not isinstance(document.get("tasks"), list):
        raise FormatError(f"{name}: has no list of tasks. {_FORM}")
    if not all(isinstance(row, dict) for row in document["tasks"]):
        raise FormatError(f"{name}: a task is a mapping with task and advice. {_FORM}")
    return _of_rows(document["tasks"], document, Path(name))


def _of_rows(rows: Iterable[JsonMapping], document: JsonMapping, source: Path) -> Candidate:
    resource = str(document.get("resource") or "memory")
    if resource not in RESOURCES:
        raise FormatError(f"{source}: sizes {resource!r}, which is no resource. {_FORM}")
    tasks: dict[str, CandidateLadder] = {}
    for number, row in enumerate(rows, 1):
        one = _task(row, number, source)
        if one.task in tasks:
            raise FormatError(f"{source}: task {one.task!r} stands there twice; keep one of them.")
        tasks[one.task] = one
    if not tasks:
        raise FormatError(f"{source}: has a recommendation for no task. {_FORM}")
    risk = _number(document.get("risk"), "risk", source)
    by = document.get("by") or document.get("kind") or ()
    if not isinstance(by, list | tuple) or not all(isinstance(one, str) for one in by):
        raise FormatError(f"{source}: kind is {by!r}, but is a list of columns.")
    held = document.get("identity")
    rule = IdentityRule.from_dict(held) if isinstance(held, Mapping) else None
    unit = RESOURCES[resource].unit
    return Candidate(resource, unit, tasks, risk, source.name, rule, tuple(by))


def _task(row: JsonMapping, number: int, source: Path) -> CandidateLadder:
    name = row.get("task") or row.get("kind")
    if row.get("tenant") and row.get("kind"):
        name = full_name((str(row["tenant"]), str(row["kind"])))
    if not name:
        raise FormatError(f"{source}: row {number} names no task. {_FORM}")
    asked = row["ladder"] if "ladder" in row else [row.get(c) for c in ("advice", "2nd", "3rd")]
    if not isinstance(asked, list | tuple):
        raise FormatError(
            f"{source}: task {name!r}: ladder is {asked!r}, but is a list of numbers."
        )
    why = str(row.get("why") or "")
    keep = bool(row["keep"]) if "keep" in row else why.startswith("keep")
    given = [one for one in asked if one is not None and one != ""]
    ladder = tuple(_number(one, f"{name}: recommendation", source) for one in given)
    if keep:
        ladder = tuple(rung for rung in ladder if math.isfinite(rung))
    elif not ladder:
        raise FormatError(f"{source}: task {name!r} has no recommendation (column advice). {_FORM}")
    wrong = next((rung for rung in ladder if not (math.isfinite(rung) and rung > 0)), None)
    if wrong is not None:
        raise FormatError(
            f"{source}: the recommendation for task {name!r} is {wrong:g}; write a number above 0."
        )
    if any(later < rung for rung, later in pairwise(ladder)):
        rungs = ", ".join(f"{rung:g}" for rung in ladder)
        raise FormatError(
            f"{source}: task {name!r} asks for less after a kill ({rungs}); let requests rise."
        )
    saving, oom = (_share(row, what, source) for what in ("saving", "oom"))
    code = str(row.get("code") or "")
    return CandidateLadder(str(name), ladder, saving, oom, keep, why, code)


def _share(row: JsonMapping, what: str, source: Path) -> float:
    """Read a share, or its percentage."""
    if what in row:
        return _number(row[what], what, source)
    return _number(row.get(f"{what}_pct"), f"{what}_pct", source) / 100


def _number(value: Any, what: str, source: Path) -> float:
    if value is None or value == "":
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError) as cause:
        raise FormatError(f"{source}: {what} is {value!r}, which is not a number.") from cause
