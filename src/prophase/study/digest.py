"""The week of each user and account: what was reserved and not used, killed, saved; what to do.

All numbers are sums over the jobs of the week, not estimates, so they have no interval. Memory that
was not used is counted only for jobs whose use was measured, and the digest says how many they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from prophase import units
from prophase.errors import InputError, ParameterError
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.result import Result
from prophase.result.blocks import Block, Bullets, Section, Text
from prophase.study.ledger.ledger import Ledger
from prophase.study.ledger.settlement import PER_UNIT_HOUR
from prophase.study.submission.job_recommender import RecommendsForJob

#: whose week -> column of the job table
BY = {"user": "user", "account": "group"}
WEEK_S = 7 * 86_400.0
#: kinds of jobs that are named
_NAMED = 3


@dataclass(frozen=True)
class Digest:
    """One user's or account's week."""

    name: str
    jobs: int
    #: jobs whose memory use was measured
    measured: int
    memory_reserved_gib_h: float
    memory_unused_gib_h: float
    #: attempts killed for memory; jobs that were requeued after such a kill and completed
    killed: int
    cured: int
    #: settled in the ledger; None without one
    saved_gib_h: float | None
    #: name of the jobs -> unused GiB h, the largest first
    largest: Mapping[str, float] = field(default_factory=dict)
    to_do: str = ""

    def to_dict(self) -> JsonObject:
        """Return what JSON holds."""
        return {
            "name": self.name, "jobs": self.jobs, "measured": self.measured,
            "memory_reserved_gib_h": self.memory_reserved_gib_h,
            "memory_unused_gib_h": self.memory_unused_gib_h, "killed": self.killed,
            "cured": self.cured, "saved_gib_h": self.saved_gib_h, "largest": dict(self.largest),
            "to_do": self.to_do,
        }  # fmt: skip

    @property
    def unused_share(self) -> float | None:
        """Return the share of measured reservations that was not used."""
        held = self.memory_reserved_gib_h
        return self.memory_unused_gib_h / held if held > 0 else None


def digests(
    jobs: pd.DataFrame,
    *,
    by: str = "user",
    span_s: float = WEEK_S,
    ledger: Ledger | None = None,
    recommender: RecommendsForJob | None = None,
) -> list[Digest]:
    """Return the digest of everyone who had jobs end in the last span, most unused memory first.

    Parameters
    ----------
    by : {"user", "account"}
        Whose week.
    span_s : float
        How far to go back from the last end of a job.
    ledger : Ledger, optional
        Says what recommendations saved.
    recommender : optional
        Says what the one thing to do is.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {"job_id": ["1"], "user": ["ann"], "name": ["train"], "end_s": [7200.0]}
    ... )
    >>> jobs["duration_s"], jobs["request_memory_gib"], jobs["memory_peak_gib"] = 3600.0, 8.0, 2.0
    >>> (found,) = digests(jobs)
    >>> found.memory_reserved_gib_h, found.memory_unused_gib_h
    (8.0, 6.0)
    """
    column = BY.get(by)
    if column is None:
        raise ParameterError.among(f"digest: by {by!r} is unknown.", by, BY)
    if column not in jobs or "end_s" not in jobs or not jobs["end_s"].notna().any():
        raise InputError(
            f"digest: the jobs do not say {column} and end_s. Collect or import jobs that do: "
            "prophase collect slurm --workspace WORKSPACE"
        )
    last = float(jobs["end_s"].max())
    week = _with_hours(jobs[jobs["end_s"] > last - span_s])
    saved = _saved(ledger)
    found = [
        _digest(str(name), own, saved, recommender)
        for name, own in week.groupby(column, observed=True)
    ]
    return sorted(found, key=lambda one: -one.memory_unused_gib_h)


def digest_result(found: Sequence[Digest], *, by: str, span_s: float = WEEK_S) -> Result:
    """Return the digests as one document, a section each."""
    span = units.duration(span_s)
    return Result(
        "digest",
        f"The last {span}, by {by}",
        question="What was reserved and not used, what was killed, what was saved?",
        answer=f"{counted(len(found), by)} with jobs that ended in the last {span}.",
        sections=[Section(one.name, f"{one.name}: the last {span}", _blocks(one)) for one in found],
        records=[
            {key: value for key, value in one.to_dict().items() if key != "largest"}
            for one in found
        ],
        values={"by": by, "span_s": span_s, "digests": [one.to_dict() for one in found]},
        limits=["Sums over the jobs of the span, not estimates: they have no interval."],
    )


def mail(one: Digest, *, span_s: float = WEEK_S) -> str:
    """Return a digest as the text of a mail, its subject in the first line."""
    share = one.unused_share
    said = "" if share is None else f", {units.percent(share)} of the memory not used"
    lines = [f"Subject: Your jobs of the last {units.duration(span_s)}: {one.jobs:,} ended{said}"]
    lines += ["", f"Hello {one.name},", ""]
    for block in _blocks(one):
        if isinstance(block, Text):
            lines += [block.text, ""]
        elif isinstance(block, Bullets):
            lines += [*(f"- {item}" for item in block.items), ""]
    return "\n".join(lines)


def _blocks(one: Digest) -> list[Block]:
    said = [f"{counted(one.jobs, 'job')} ended; memory was measured for {one.measured:,}."]
    share = one.unused_share
    if share is not None:
        said.append(
            f"They reserved {units.number(one.memory_reserved_gib_h)} GiB h of memory and did not "
            f"use {units.number(one.memory_unused_gib_h)} of them ({units.percent(share)})."
        )
    if one.killed:
        done = f"; {one.cured:,} of them were requeued with more and completed" if one.cured else ""
        said.append(f"{counted(one.killed, 'attempt')} killed for memory{done}.")
    if one.saved_gib_h is not None:
        lost = "saved" if one.saved_gib_h >= 0 else "lost"
        said.append(f"Recommendations {lost} {units.number(abs(one.saved_gib_h))} GiB h.")
    blocks: list[Block] = [Text(" ".join(said))]
    if one.largest:
        blocks.append(
            Bullets(
                [f"{name}: {units.number(hours)} GiB h not used"
                 for name, hours in one.largest.items()]
            )
        )  # fmt: skip
    if one.to_do:
        blocks.append(Text(f"One thing to do: {one.to_do}"))
    return blocks


def _with_hours(jobs: pd.DataFrame) -> pd.DataFrame:
    def numbers(name: str) -> pd.Series:
        held = jobs[name] if name in jobs else pd.Series(np.nan, index=jobs.index)
        return pd.to_numeric(held, errors="coerce")

    nodes = numbers("instances").fillna(1.0).clip(lower=1.0)
    hours = numbers("duration_s") / 3600 * nodes
    asked, used = numbers("request_memory_gib"), numbers("memory_peak_gib")
    known = asked.notna() & used.notna() & hours.notna()
    return jobs.assign(
        _known=known,
        _reserved=(asked * hours).where(known, 0.0),
        _unused=((asked - used).clip(lower=0.0) * hours).where(known, 0.0),
        _base=jobs["job_id"].astype(str).str.replace(r"#\d+$", "", regex=True),
    )


def _saved(ledger: Ledger | None) -> dict[str, float] | None:
    """Return job -> GiB h that a recommendation for memory saved."""
    if ledger is None or not ledger.path.is_file():
        return None
    of_memory = {one.id for one in ledger.advices if one.resource == "memory"}
    found: dict[str, float] = {}
    for advice, entry in ledger.entries():
        if advice in of_memory:
            found[entry.job_id] = found.get(entry.job_id, 0.0) + entry.saved / PER_UNIT_HOUR
    return found


def _digest(
    name: str,
    own: pd.DataFrame,
    saved: Mapping[str, float] | None,
    recommender: RecommendsForJob | None,
) -> Digest:
    status = own["status"].astype(str) if "status" in own else pd.Series("", index=own.index)
    killed = own[status == "oom"]
    completed = set(own.loc[status == "completed", "_base"])
    kinds = own["name"].astype(str) if "name" in own else pd.Series("jobs", index=own.index)
    unused = own.groupby(kinds)["_unused"].sum().sort_values(ascending=False)
    largest = {str(k): float(v) for k, v in unused.head(_NAMED).items() if v > 0}
    return Digest(
        name=name,
        jobs=int(own["_base"].nunique()),
        measured=int(own.loc[own["_known"], "_base"].nunique()),
        memory_reserved_gib_h=float(own["_reserved"].sum()),
        memory_unused_gib_h=float(own["_unused"].sum()),
        killed=len(killed),
        cured=len(set(killed["_base"]) & completed),
        saved_gib_h=None
        if saved is None
        else sum(saved.get(str(job), 0.0) for job in own["job_id"]),
        largest=largest,
        to_do=_to_do(own, kinds, list(largest), recommender),
    )


def _to_do(
    own: pd.DataFrame,
    kinds: pd.Series,
    largest: Sequence[str],
    recommender: RecommendsForJob | None,
) -> str:
    """Return the change that is worth most: the first of the largest that has a recommendation."""
    if recommender is None:
        return ""
    for kind in largest:
        last = own[kinds == kind].sort_values("submit_s" if "submit_s" in own else "end_s").iloc[-1]
        told = {
            column: last[column]
            for column in ("name", "user", "group", "queue", "task", "workload", "instances",
                           "request_cpu_cores", "request_memory_gib", "request_gpus")
            if column in own and pd.notna(last[column])
        }  # fmt: skip
        one = recommender.counsel(told, resources=("memory",)).of("memory")
        if one is not None and one.change and one.asked is not None and one.rung(1) < one.asked:
            return (
                f"submit {kind} with --mem={units.whole_mib(one.rung(1))}M instead of "
                f"{units.memory(one.asked)} ({one.why})."
            )
    return ""
