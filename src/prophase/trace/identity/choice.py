"""Choose the identity rule of a job table: the key that predicts later jobs best.

Who a job belongs to is not a matter of choice: the namespace and its team, or the account and the
user, as far as the source knows them. Users of one account are never pooled, so that a dump with
and one without the account give the same histories; what a team shares may serve as a prior.

What names the kind is chosen on time splits: the runs before a cut-off predict the peaks and run
times after it by the median of their key. The source's own name of the work comes first; another
key, or one column more, has to be better by a clear margin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.trace.identity.rule import (
    KIND,
    SCRIPT,
    SUBMIT_LINE,
    TENANT,
    UNNAMED,
    Folding,
    IdentityRule,
    rule_by,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: sources whose ``group`` is what recurs, not who submits
_RECURRING = ("pai2020", "pai-sim", "synth-pai", "google2011", "dlrm2025", "runs")
#: sources whose ``task`` is the process of a workflow engine, by which its files are written
_ENGINES = ("nextflow", "wfcommons", "runs")
#: columns that name the work, the plainest first; one of them is the kind unless another is better
_NAMING = ("task", "name", SCRIPT, "workload")
#: columns that may be added to it
_ADDED = (
    "group", "task", "workload", "name", SCRIPT, "attr_workdir", "attr_comment", "attr_container",
    "attr_image", "attr_owner_kind", "queue",
)  # fmt: skip
#: of these: where it runs, which alone names no work
_ONLY_ADDED = ("queue", "attr_owner_kind")
#: all columns that a choice reads
WORDS = (TENANT, KIND, "source", "status", "attr_namespace", "user", SUBMIT_LINE, *_NAMING, *_ADDED)
_MOST_COLUMNS = 3
#: what a key must be better by to take the place of the natural one, and to get one column more:
#: as a share of the error, and as a difference of logarithms
_TO_REPLACE = (0.10, 0.05)
_TO_ADD = (0.03, 0.01)
#: what is predicted
_TARGETS = ("memory_peak_gib", "duration_s", "gpu_memory_peak_gib", "cpu_peak_cores")
NUMBERS = ("submit_s", "start_s", "end_s", "submit_order", *_TARGETS)
COMPARED = (*WORDS, *NUMBERS)
#: shares of the jobs that come before a cut-off
_CUTS = (0.4, 0.6, 0.8)
#: later jobs without which nothing is compared
_FEWEST = 30
#: jobs that are looked at; more of them are sampled by tenant
_MOST_JOBS = 60_000
#: added to the error (a natural logarithm) of a job whose key never came before
_UNSEEN = 0.25
#: errors beyond a factor of e**4 count alike
_LARGEST = 4.0
#: what the wider key counts for beside the runs of a key
_WIDER_RUNS = 1.0


def choose_rule(
    jobs: pd.DataFrame, source: str = "", *, by: Sequence[str] | str | None = None
) -> IdentityRule:
    """Return the identity rule of a job table.

    Parameters
    ----------
    jobs : DataFrame
        The table; columns that a source does not have may be absent.
    source : str
        Reader that made it; taken from the column ``source`` if not given.
    by : columns, optional
        Names the rule instead of choosing it.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["ann"] * 2, "group": "nlp", "name": ["fit-1", "eval-1"]})
    >>> str(choose_rule(jobs))
    'account + user + job name, numbers folded'
    """
    sources = {source} if source else _sources(jobs)
    group = _what_group_is(jobs, sources)
    if by:
        return rule_by(by, jobs, group)
    tenant = _tenant(jobs, group)
    if _known(jobs, KIND):
        # the table says itself what runs again
        return IdentityRule(tenant, ((KIND,),), group=group)
    ways = _Ways(_sample(jobs, tenant), tenant, group)
    free = [column for column in dict.fromkeys((*_NAMING, *_ADDED)) if ways.may_name(column)]
    natural = ways.rule(_natural(free, group))
    if ways.is_numbered(natural):
        natural = replace(natural, folding="words")
    if not ways.targets or sources & set(_ENGINES):
        return natural
    return _best(ways, natural, free)


def _best(ways: _Ways, natural: IdentityRule, free: Sequence[str]) -> IdentityRule:
    """Return the natural rule, or one that is clearly better: another column, then more."""
    best, least = natural, ways.error(natural)
    folding = natural.folding
    foldings = [replace(natural, folding=more) for more in ("words", "all") if more != folding]
    others = [ways.rule((column,), folding) for column in free if column not in _ONLY_ADDED]
    tried = [*foldings, *others, ways.rule(())]
    if "task" in _narrowest(natural):
        # a role or process is named by the program: it may get company, but does not give way
        tried = [rule for rule in tried if "task" in _narrowest(rule)]
    for rule in tried:
        error = ways.error(rule)
        if _is_better(error, least, _TO_REPLACE):
            best, least = rule, error
    while len(kind := _narrowest(best)) < _MOST_COLUMNS:
        wider = [ways.rule((*kind, one), best.folding) for one in free if one not in kind]
        errors = [ways.error(rule) for rule in wider]
        if not errors or not _is_better(min(errors), least, _TO_ADD):
            break
        best, least = wider[int(np.argmin(errors))], min(errors)
    return best


def _is_better(error: float, than: float, margin: tuple[float, float]) -> bool:
    share, least = margin
    return than - error > max(share * than, least)


def _narrowest(rule: IdentityRule) -> tuple[str, ...]:
    return rule.kinds[0] if rule.kinds else ()


def _natural(free: Sequence[str], group: str) -> tuple[str, ...]:
    """Return what the source itself calls the work."""
    name = next((column for column in _NAMING if column in free), None)
    recurring = ("group",) if group != "account" and "group" in free else ()
    if recurring and name != "task":
        return recurring
    return recurring if name is None else (*recurring, name)


def _what_group_is(jobs: pd.DataFrame, sources: set[str]) -> str:
    """Say whether ``group`` is an account or what recurs; an account has more than one job."""
    if sources & set(_RECURRING):
        return "job group"
    if "group" in jobs and len(jobs) > 1:
        counts = jobs["group"].value_counts()
        if len(counts) and counts[counts > 1].sum() < 0.5 * counts.sum():
            return "job group"
    return "account"


def _sources(jobs: pd.DataFrame) -> set[str]:
    return {str(one) for one in jobs["source"].dropna().unique()} if "source" in jobs else set()


def _tenant(jobs: pd.DataFrame, group: str) -> tuple[str, ...]:
    if _known(jobs, TENANT):
        return (TENANT,)
    team = ("group",) if group == "account" and _known(jobs, "group") else ()
    if _known(jobs, "attr_namespace"):
        return ("attr_namespace", *team)
    whose = (*team, "user") if _known(jobs, "user") else team
    if whose:
        return whose
    return ("queue",) if _known(jobs, "queue") else ()


def _known(jobs: pd.DataFrame, column: str) -> bool:
    return column in jobs and bool(jobs[column].notna().any())


def _sample(jobs: pd.DataFrame, tenant: Sequence[str]) -> pd.DataFrame:
    """Return at most so many jobs: all of some tenants, the latest if those are too many."""
    if len(jobs) <= _MOST_JOBS:
        return jobs
    if tenant:
        whose = pd.util.hash_pandas_object(jobs[list(tenant)].astype("string"), index=False)
        share = np.uint64(_MOST_JOBS / len(jobs) * 2**63) * np.uint64(2)
        some = jobs[whose.to_numpy(np.uint64) <= share]
        if len(some) >= _FEWEST * len(_CUTS):
            jobs = some
    return jobs.iloc[np.sort(np.argsort(_arrival(jobs), kind="stable")[-_MOST_JOBS:])]


def _arrival(jobs: pd.DataFrame) -> Floats:
    """Return when jobs came; their place in the table if nobody knows."""
    for column in ("submit_s", "start_s", "submit_order", "end_s"):
        if _known(jobs, column):
            values = jobs[column].to_numpy(float, na_value=np.nan)
            return np.where(np.isnan(values), np.nanmin(values), values)
    return np.arange(len(jobs), dtype=float)


@dataclass(frozen=True)
class CutOff:
    """Jobs that had ended before a cut-off, and those that came after it."""

    earlier: NDArray[np.bool_]
    later: NDArray[np.bool_]


def time_splits(jobs: pd.DataFrame) -> list[CutOff]:
    """Return splits of a table by time, at three cut-offs; each predicts up to the next."""
    arrival = _arrival(jobs)
    end = jobs["end_s"].to_numpy(float, na_value=np.nan) if "end_s" in jobs else arrival
    end = np.where(np.isnan(end), arrival, end)
    clock = _known(jobs, "submit_s") or _known(jobs, "start_s")
    if not len(arrival):
        return []
    cuts = [float(np.quantile(arrival, share)) for share in _CUTS]
    return [
        CutOff((end if clock else arrival) <= cut, (arrival > cut) & (arrival <= until))
        for cut, until in zip(cuts, [*cuts[1:], np.inf], strict=True)
    ]


class _Ways:
    """Ways to name the kinds of one table, each with its error on later jobs."""

    def __init__(self, jobs: pd.DataFrame, tenant: tuple[str, ...], group: str) -> None:
        self.jobs, self.tenant, self.group = jobs, tenant, group
        self.splits = time_splits(jobs)
        self.targets = list(log_targets(jobs, self.splits))
        self._errors: dict[IdentityRule, float] = {}

    def is_numbered(self, rule: IdentityRule) -> bool:
        """Say whether tasks hardly come back unless their numbers are folded."""
        kinds = rule.apply(self.jobs)[KIND].nunique()
        fewer = replace(rule, folding="words").apply(self.jobs)[KIND].nunique()
        return kinds > 0.5 * len(self.jobs) and fewer <= 0.5 * kinds

    def may_name(self, column: str) -> bool:
        """Say whether a column has values and is no part of the tenant."""
        source = SUBMIT_LINE if column == SCRIPT else column
        if source in self.tenant or not _known(self.jobs, source):
            return False
        if column == SCRIPT:
            made = IdentityRule((), ((SCRIPT,),)).apply(self.jobs.head(1000))[KIND]
            return bool((made != UNNAMED).any())
        return True

    def rule(self, kind: Sequence[str], folding: Folding = "names") -> IdentityRule:
        """Return the rule of a kind; jobs without a value for it go by its wider levels."""
        named = tuple(kind)
        if "group" in named:
            # what recurs is said before its role
            named = ("group", *(column for column in named if column != "group"))
        levels = [named] if named else []
        if len(named) > 1:
            levels += [tuple(kind[:size]) for size in range(len(kind) - 1, 0, -1)]
        read = [SUBMIT_LINE if column == SCRIPT else column for column in named]
        if named and self.jobs[read].isna().all(axis=1).any():
            levels += [(column,) for column in _NAMING if self.may_name(column)]
        return IdentityRule(self.tenant, tuple(dict.fromkeys(levels)), folding, self.group)

    def error(self, rule: IdentityRule) -> float:
        """Return the mean error of predicting later jobs, in natural logarithms."""
        if rule not in self._errors:
            keys = rule.apply(self.jobs)
            narrow = codes_of_columns(keys[TENANT], keys[KIND])
            wide = codes_of_columns(keys[TENANT])
            found = [
                prediction_errors(values, split, narrow, wide)
                for values in self.targets
                for split in self.splits
            ]
            # every target counts alike, whatever its number of jobs
            means = [float(errors.mean()) for errors, _ in found if len(errors)]
            self._errors[rule] = float(np.mean(means)) if means else 0.0
        return self._errors[rule]


def log_targets(jobs: pd.DataFrame, splits: Sequence[CutOff]) -> Iterator[Floats]:
    """Yield the logarithms of what can be predicted; jobs that failed say little."""
    failed = np.zeros(len(jobs), bool)
    if "status" in jobs:
        failed = jobs["status"].isin(["failed", "cancelled", "running", "pending"]).to_numpy(bool)
    for column in _TARGETS:
        if column not in jobs:
            continue
        values = jobs[column].to_numpy(float, na_value=np.nan)
        used = (values > 0) & ~failed
        logs = np.full(len(jobs), np.nan)
        logs[used] = np.log(values[used])
        counts = [min((used & one.earlier).sum(), (used & one.later).sum()) for one in splits]
        if max(counts, default=0) >= _FEWEST:
            yield logs


def codes_of_columns(*columns: pd.Series) -> Ints:
    """Return one number per distinct combination of values; a missing value is a value, too."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        part = pd.factorize(column, use_na_sentinel=False)[0]
        code = pd.factorize(code * (int(part.max(initial=0)) + 1) + part)[0]
    return code.astype(np.int64)


def prediction_errors(
    logs: Floats, split: CutOff, narrow: Ints, wide: Ints
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the error per later job, and whether its key was seen before.

    The median of the earlier runs of a key predicts, drawn towards the median of the wider key;
    without any, the wider key or that of all does, and the error grows.
    """
    known = np.isfinite(logs)
    earlier, later = known & split.earlier, known & split.later
    if not earlier.any() or not later.any():
        return np.empty(0), np.empty(0, bool)
    overall = float(np.median(logs[earlier]))
    wide_median, wide_runs = _medians(logs[earlier], wide[earlier], int(wide.max()) + 1)
    counted = wide_runs / (wide_runs + _WIDER_RUNS)
    wide_median = np.where(wide_runs > 0, wide_median, overall)
    wide_median = counted * wide_median + (1 - counted) * overall
    median, runs = _medians(logs[earlier], narrow[earlier], int(narrow.max()) + 1)
    at, around = narrow[later], wide_median[wide[later]]
    seen = runs[at] > 0
    own = np.where(seen, median[at], 0.0)
    weight = runs[at] / (runs[at] + _WIDER_RUNS)
    predicted = np.where(seen, weight * own + (1 - weight) * around, around)
    errors = np.minimum(np.abs(logs[later] - predicted), _LARGEST) + _UNSEEN * ~seen
    return errors, seen


def _medians(values: Floats, codes: Ints, count: int) -> tuple[Floats, Floats]:
    """Return the median per code, NaN for those without values, and how many each has."""
    order = np.lexsort((values, codes))
    ordered, sorted_codes = values[order], codes[order]
    runs = np.bincount(sorted_codes, minlength=count).astype(float)
    ends = np.cumsum(runs).astype(np.int64)
    begins = ends - runs.astype(np.int64)
    held = runs > 0
    middle = np.full(count, np.nan)
    size = runs[held].astype(np.int64)
    low, high = begins[held] + (size - 1) // 2, begins[held] + size // 2
    middle[held] = 0.5 * (ordered[low] + ordered[high])
    return middle, runs
