"""The ledger of a workspace: every recommendation, its prediction and the jobs settled with it."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from prophase.errors import FormatError, InputError, ParameterError, storage_error
from prophase.plain import finite
from prophase.sizing.replays.task_runs import known_before
from prophase.sizing.resources import RESOURCES
from prophase.study.ledger.settlement import Entry, PromisedRequest, settle_jobs
from prophase.study.proof.candidate import Candidate
from prophase.trace.identity.job_identity import rule_of
from prophase.trace.identity.rule import IdentityRule
from prophase.version import __version__

#: file of a workspace
FILE = "ledger.db"
_LAYOUT = 1
_TABLES = """
create table if not exists advice (
    id integer primary key, name text, made_at text, resource text, unit text, risk real,
    kind text, from_s real, data_hash text, version text, terms text);
create table if not exists entry (
    job_id text, advice integer references advice(id), task text, submit_s real, outcome text,
    before integer, actual integer, predicted integer, why text,
    primary key (job_id, advice));
"""


@dataclass(frozen=True)
class LedgerRecommendations:
    """A recommendation in the ledger."""

    id: int
    name: str
    made_at: str
    resource: str
    unit: str
    risk: float
    #: by which columns jobs are grouped; None: as they are
    rule: IdentityRule | None
    #: submissions from this moment on are under it
    from_s: float
    data_hash: str
    version: str
    terms: dict[str, PromisedRequest]


class Ledger:
    """Recommendations and settled jobs in one SQLite file.

    Parameters
    ----------
    path : path
        The file, or the workspace that holds it.
    """

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        self.path = path / FILE if path.is_dir() else path

    def add(
        self,
        advice: Candidate,
        history: pd.DataFrame,
        *,
        from_s: float | None = None,
        data_hash: str = "",
        made_at: str | None = None,
    ) -> LedgerRecommendations:
        """Keep a recommendation with its prediction.

        Parameters
        ----------
        history : DataFrame
            The jobs it was made for: tells what each task asks for today.
        from_s : float, optional
            It counts for submissions from here on; from the last one of the history if not given.
        """
        jobs = advice.grouped(history)
        advice = advice.matched(jobs)
        today = _requests_of_today(jobs, advice.resource)
        terms = {
            name: PromisedRequest(today.get(name, math.nan), one.ladder, one.saving)
            for name, one in advice.changed.items()
        }
        if not terms:
            raise InputError(f"{advice.name}: every task keeps its request; nothing to settle.")
        if not any(name in today for name in terms):
            some = ", ".join(sorted(terms)[:3])
            raise InputError(
                f"{advice.name}: names no task of this history ({some}), which has "
                f"{', '.join(sorted(today)[:3]) or 'no job with a request'}. Add it with the "
                "history it was made for."
            )
        start = from_s if from_s is not None else _last_submission(history)
        stored = LedgerRecommendations(
            0, advice.name, made_at or datetime.now(UTC).isoformat(timespec="seconds"),
            advice.resource, advice.unit, advice.risk, rule_of(jobs), start, data_hash, __version__,
            terms,
        )  # fmt: skip
        written = {n: [finite(t.now), t.ladder, finite(t.saving)] for n, t in terms.items()}
        with self._open() as book:
            row = (
                stored.name, stored.made_at, stored.resource, stored.unit, finite(stored.risk),
                json.dumps(stored.rule and stored.rule.to_dict()), finite(start), data_hash,
                stored.version,
                json.dumps(written),
            )  # fmt: skip
            number = book.execute(
                "insert into advice (name, made_at, resource, unit, risk, kind, from_s, data_hash,"
                " version, terms) values (?,?,?,?,?,?,?,?,?,?)",
                row,
            ).lastrowid
        return LedgerRecommendations(**{**stored.__dict__, "id": int(number or 0)})

    @property
    def advices(self) -> list[LedgerRecommendations]:
        """Every recommendation, the oldest first."""
        with self._open() as book:
            rows = book.execute("select * from advice order by id").fetchall()
        return [
            LedgerRecommendations(
                row[0], row[1], row[2], row[3], row[4], _number(row[5]), _rule(row[6]),
                _number(row[7], -math.inf), row[8], row[9],
                {n: PromisedRequest(_number(t[0]), tuple(t[1]), _number(t[2]))
                 for n, t in json.loads(row[10]).items()},
            )
            for row in rows
        ]  # fmt: skip

    def settle(self, jobs: pd.DataFrame) -> int:
        """Settle what happened; return how many jobs have an entry now that these were seen.

        A job belongs to the last recommendation for its task and resource in force when it was
        submitted, and to no other. Settling the same jobs again changes nothing; changed ones
        replace theirs.
        """
        advices = self.advices
        if not advices:
            raise InputError(
                f"{self.path}: is empty. Add one: prophase ledger add recommendation.json "
                "--workspace WORKSPACE"
            )
        seen: dict[str, set[str]] = {}
        with self._open() as book:
            for one in reversed(advices):
                taken = seen.setdefault(one.resource, set())
                same = [other.id for other in advices if other.resource == one.resource]
                found = settle_jobs(
                    jobs, one.terms, resource=one.resource, rule=one.rule, from_s=one.from_s
                )
                fresh = [entry for entry in found if entry.job_id not in taken]
                taken.update(entry.job_id for entry in fresh)
                _book(book, one.id, same, fresh)
        return sum(map(len, seen.values()))

    def entries(self, advice: int | None = None) -> Iterator[tuple[int, Entry]]:
        """Yield (recommendation, entry) of every settled job, or of one recommendation."""
        known = {one.id for one in self.advices}
        if advice is not None and advice not in known:
            listed = ", ".join(map(str, sorted(known))) or "none"
            raise ParameterError(
                f"there is no recommendation {advice} in {self.path}. Known: {listed}."
            )
        chosen = "" if advice is None else "where advice = ?"
        with self._open() as book:
            rows = book.execute(
                f"select advice, job_id, task, submit_s, outcome, before, actual, predicted, why "
                f"from entry {chosen} order by advice, submit_s, job_id",
                () if advice is None else (advice,),
            ).fetchall()
        for row in rows:
            yield int(row[0]), Entry(row[1], row[2], _number(row[3]), *row[4:])

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            book = sqlite3.connect(self.path, timeout=30.0)
        except (OSError, sqlite3.OperationalError) as cause:
            raise storage_error(OSError(str(cause)), self.path) from cause
        try:
            with book:
                layout = book.execute("pragma user_version").fetchone()[0]
                if layout > _LAYOUT:
                    raise FormatError(
                        f"{self.path}: was written by a newer version of Prophase. Update it."
                    )
                book.executescript(_TABLES + f"pragma user_version = {_LAYOUT};")
                yield book
        except sqlite3.DatabaseError as cause:
            raise FormatError(
                f"{self.path}: is not a ledger, or is damaged ({cause}). Restore it from a backup, "
                "or name another file."
            ) from cause
        finally:
            book.close()


def _book(book: sqlite3.Connection, advice: int, same: list[int], entries: list[Entry]) -> None:
    """Write entries of a recommendation; no other of ``same``, for its resource, has the job."""
    others = ",".join(map(str, same))
    for e in entries:
        held = book.execute(
            f"select advice from entry where job_id = ? and advice in ({others})", (e.job_id,)
        ).fetchone()
        # a job without a submit time belongs to the recommendation of when it was settled first
        owner = held[0] if held and math.isnan(e.submit_s) else advice
        if held and held[0] != owner:
            book.execute("delete from entry where job_id = ? and advice = ?", (e.job_id, held[0]))
        if owner == advice:
            book.execute(
                "insert or replace into entry values (?,?,?,?,?,?,?,?,?)",
                (e.job_id, advice, e.task, finite(e.submit_s), e.outcome, e.before, e.actual,
                 e.predicted, e.why),
            )  # fmt: skip


def _rule(text: str) -> IdentityRule | None:
    """Return the rule that was kept; ledgers of before kept columns, or none."""
    held = json.loads(text)
    if isinstance(held, list):
        return IdentityRule((), (tuple(held),)) if held else None
    return None if held is None else IdentityRule.from_dict(held)


def _requests_of_today(jobs: pd.DataFrame, resource: str) -> dict[str, float]:
    what = RESOURCES[resource]
    names = known_before(jobs, "strict", what)[0]
    medians = pd.Series(what.requested(jobs)).groupby(pd.Series(names)).median()
    return {str(name): float(value) for name, value in medians.items()}


def _last_submission(history: pd.DataFrame) -> float:
    for name in ("submit_s", "start_s"):
        if name in history and history[name].notna().any():
            # later than the last: a history that is settled whole must not settle itself
            return math.nextafter(float(history[name].max()), math.inf)
    return -math.inf


def _number(value: float | None, missing: float = math.nan) -> float:
    return missing if value is None else float(value)
