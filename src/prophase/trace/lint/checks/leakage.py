"""Knowledge that reaches a model too early: across a split, or from after the fact."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd

from prophase import units
from prophase.array_types import Ints
from prophase.errors import ParameterError
from prophase.trace.column_table import missing_in
from prophase.trace.lint.check_registry import (
    Floats,
    LintFinding,
    LintSubject,
    check,
    numbers,
    sampled,
)
from prophase.trace.lint.checks.repeated_rows import NAMES, base_ids
from prophase.trace.schema import ATTRIBUTE_PREFIX, JOBS

_SPLIT = ("split", "attr_split", "after_split", "attr_fold")
_TEST_WORDS = ("test", "valid", "validation", "val", "holdout", "held_out", "eval")
#: what a job did; end and start follow the submit time, so they are compared as delays
_OUTCOMES = (
    "duration_s",
    "wait_s",
    "memory_peak_gib",
    "memory_mean_gib",
    "cpu_mean_cores",
    "gpu_util_mean_pct",
)
#: agreement in rank no honest submit-time column reaches
_NEARLY_ALL = 0.99
_STRADDLING = 0.05
#: agreement in rank with the submit time of what counts the same time, and its fewest values; a
#: month has days enough, and days of jobs that come all day agree by 0.998
_SAME_ORDER, _MOMENTS = 0.995, 20
#: what a price counts beside time
_REQUESTS = ("instances", "request_cpu_cores", "request_memory_gib", "request_gpus", "gpu_type")
#: fewest jobs of one request whose ranks are compared
_COMPARED = 10
#: relative spread below which runs are the same number and not repetitions
_EXACT = 1e-3
#: texts that decide whether a column holds dates or spans
_FIRST_TEXTS = 100
#: most classes that may be ranges of an outcome, and fewest jobs of one that is looked at
_MOST_CLASSES, _FEWEST_OF_CLASS = 20, 50
#: seconds, milliseconds, microseconds and nanoseconds, as parts of a second
_FINENESS = (1.0, 1e3, 1e6, 1e9)


@check("split-shares-jobs", "jobs.job_id")
def split_shares_jobs(subject: LintSubject) -> Iterator[LintFinding]:
    """Jobs that stand on both sides of a split."""
    for train, test, how in _splits(subject):
        same = _same_job(train, test)
        yield from subject.marked(
            "test.job_id",
            same,
            "error",
            f"{{n}} test rows ({{share}}) are jobs of the training side too ({how}). The model "
            "has seen the answer; its score says nothing about new jobs.",
            "Split by job, or by time, before anything else is done to the rows.",
            frame=test,
        )
        parents = _shared_parents(train, test) & ~same
        yield from subject.marked(
            "test.parent_id",
            parents,
            "error" if parents.mean() >= _STRADDLING else "warning",
            f"{{n}} test rows ({{share}}) belong to a job or run that also has training rows "
            f"({how}). Its other tasks and workers ran almost the same: a model that remembers "
            "the name scores well and learns nothing.",
            "Split by parent_id, so that a job is on one side as a whole.",
            frame=test,
        )


@check("split-shares-time", "jobs.end_s")
def split_shares_time(subject: LintSubject) -> Iterator[LintFinding]:
    """Training jobs that had not ended when the test begins."""
    for train, test, how in _splits(subject):
        begins, ends = numbers(test, "submit_s"), numbers(train, "end_s")
        if np.isnan(begins).all() or np.isnan(ends).all():
            continue
        late = ends > np.nanmin(begins)
        yield from subject.marked(
            "jobs.end_s",
            late,
            "warning",
            f"{{n}} training rows ({{share}}) ended after the first test job was submitted "
            f"({how}). At that moment nobody could have learned from them.",
            "For a score that holds in production, train on what had ended before the cut. "
            "For a split by job or user this is expected: then say so beside the score.",
            frame=train,
        )


@check("after-the-fact-input", "inputs")
def after_the_fact_input(subject: LintSubject) -> Iterator[LintFinding]:
    """Inputs of a prediction that are known only after the job ran."""
    jobs = subject.tables.get("jobs", pd.DataFrame())
    for name in subject.inputs:
        column = JOBS.get(name)
        known = column.known if column else "submit"
        rows = len(jobs) - missing_in(jobs, name) if name in jobs else 0
        share = rows / len(jobs) if len(jobs) else 0.0
        if known == "after":
            yield LintFinding(
                "error",
                "jobs",
                f"{name} is an input, but is known only after the job has run"
                f"{': ' + column.text if column else ''}. The score will be high, and the model "
                "cannot be used when a job is submitted.",
                "Take it out of the inputs; use only columns known at submit time.",
                column=name,
                rows=rows,
                share=share,
            )
        elif known == "key":
            yield LintFinding(
                "warning",
                "jobs",
                f"{name} is an input, but only names the row. A model remembers names; new jobs "
                "have new ones.",
                "Take it out, or use group, user or task, which come back.",
                column=name,
                rows=rows,
                share=share,
            )


@check("hidden-outcome", "jobs")
def hidden_outcome(subject: LintSubject) -> Iterator[LintFinding]:
    """Columns said to be known at submit time that follow the outcome almost exactly."""
    rows = sampled(subject.jobs)
    looked = "" if len(rows) == len(subject.jobs) else f" ({len(rows):,} rows looked at)"
    for found in given_away(rows):
        known = len(subject.jobs) - missing_in(subject.jobs, found.name)
        yield LintFinding(
            "warning",
            "jobs",
            f"{found.name} claims to be known at submit time, but {found.how} {found.outcome}"
            f"{looked}. It was probably written after the job had ended.",
            "Ask how it is made. If afterwards, name it "
            f"after_{found.name.removeprefix(ATTRIBUTE_PREFIX)}, so that no predictor takes it.",
            column=found.name,
            rows=known,
            share=known / len(subject.jobs),
        )


@check("clock-as-attribute", "jobs")
def clock_as_attribute(subject: LintSubject) -> Iterator[LintFinding]:
    """Attributes that only say when a job came, as submit_s does."""
    for name in clock_copies(sampled(subject.jobs)):
        known = len(subject.jobs) - missing_in(subject.jobs, name)
        yield LintFinding(
            "info",
            "jobs",
            f"{name} rises with submit_s, so every later job lies beyond all that was learned "
            "from. No predictor takes it.",
            "Nothing, or leave the column out of the table.",
            column=name,
            rows=known,
            share=known / len(subject.jobs),
        )


def clock_copies(rows: pd.DataFrame) -> list[str]:
    """Return the attributes that only say when a job came: another clock, a date, a row number."""
    submit = numbers(rows, "submit_s")
    names = [str(name) for name in rows if str(name).startswith(ATTRIBUTE_PREFIX)]
    found = []
    for name in names:
        values = numbers(rows, name)
        if np.isnan(values).all() and not np.isnan(submit).all():
            values = _times(rows[name])
        known = ~np.isnan(values)
        if known.mean() >= 0.5 and np.unique(values[known]).size >= _MOMENTS:
            agreement = _rank_correlation(values, submit)
            found += [name] if agreement >= _SAME_ORDER else []
    return found


@dataclass(frozen=True)
class GivenAway:
    """A column said to be known at submit time, the outcome that it gives away, and how."""

    name: str
    outcome: str
    how: str


def given_away(rows: pd.DataFrame) -> list[GivenAway]:
    """Return the columns that give an outcome away: what the linter names, no predictor learns.

    Only attributes and the priority are looked at, which a source may have filled afterwards.
    """
    names = [str(name) for name in rows]
    names = [n for n in names if n == "priority" or n.startswith(ATTRIBUTE_PREFIX)]
    names = [name for name in names if name not in _SPLIT]
    alike = _equal_requests(rows) if names else None
    found = ((name, _gives_away(rows, name, alike)) for name in names)
    return [GivenAway(name, *told) for name, told in found if told is not None]


def _gives_away(rows: pd.DataFrame, name: str, alike: Ints | None) -> tuple[str, str] | None:
    """Return the outcome that a column gives away, and how."""
    cut = _cuts(rows, name, alike)
    if cut is not None:
        return cut
    values = numbers(rows, name)
    if np.mean(~np.isnan(values)) < 0.5:
        values = _times(rows[name])
    if np.mean(~np.isnan(values)) < 0.5:
        return _determines(rows, name)
    for clock in ("end_s", "start_s"):
        if _is_clock(values, numbers(rows, clock), numbers(rows, "submit_s")):
            return clock, "equals"
    for outcome in _OUTCOMES:
        truth = numbers(rows, outcome)
        agreement = _rank_correlation(values, truth)
        if abs(agreement) >= _NEARLY_ALL:
            return outcome, f"has a rank correlation of {agreement:.3f} with"
        # a price or an energy is a time multiplied by what was requested
        if (
            alike is not None
            and abs(found := _rank_correlation(values, truth, alike)) >= _NEARLY_ALL
        ):
            return outcome, f"has, among equal requests, a rank correlation of {found:.3f} with"
    return None


def _times(column: pd.Series) -> Floats:
    """Return dates as seconds since 1970, and spans such as 1-02:03:04 in seconds."""
    codes, texts = pd.factorize(column.astype("string"))
    first = [_time(text) for text in texts[:_FIRST_TEXTS]]
    if 2 * np.isnan(first).sum() >= len(first):
        return np.full(len(column), np.nan)
    return np.array([*map(_time, texts), np.nan])[codes]


def _time(text: str) -> float:
    for read in (units.parse_moment, partial(units.parse_duration, bare="s")):
        try:
            return read(text)
        except ParameterError:
            continue
    return math.nan


def _cuts(rows: pd.DataFrame, name: str, alike: Ints | None) -> tuple[str, str] | None:
    """A few classes, each of them a range of an outcome: short, medium and long, cut afterwards."""
    codes = pd.factorize(rows[name])[0]
    if not 2 <= codes.max(initial=0) + 1 <= _MOST_CLASSES:
        return None
    for outcome in _OUTCOMES:
        truth = numbers(rows, outcome)
        known = (codes >= 0) & (truth > 0)
        logs = np.log(truth[known])
        if _are_ranges(codes[known], logs):
            return outcome, "each of its values is a range of"
        if alike is not None:
            order = np.argsort(alike[known], kind="stable")
            ends = np.flatnonzero(np.diff(alike[known][order])) + 1
            parts = [part for part in np.split(order, ends) if len(part) >= 2 * _FEWEST_OF_CLASS]
            found = [(len(part), _are_ranges(codes[known][part], logs[part])) for part in parts]
            told = sum(jobs for jobs, yes in found if yes is not None)
            cut = sum(jobs for jobs, yes in found if yes)
            if cut >= max(0.95 * told, 0.3 * known.sum(), 1):
                return outcome, "each of its values is, among equal requests, a range of"
    return None


def _are_ranges(codes: Ints, logs: Floats) -> bool | None:
    """Say whether classes lie side by side without overlap; None if too few or gaps hide it.

    Kinds of job that differ leave a gap between them or overlap, and so do the queues for short
    and long jobs. Only a cut through the outcome itself has many jobs close by on either side.
    """
    sizes = np.bincount(codes)
    large = np.flatnonzero(sizes >= _FEWEST_OF_CLASS)
    if len(large) < 2 or sizes[large].sum() < 0.95 * len(codes):
        return None
    classes = sorted((np.sort(logs[codes == one]) for one in large), key=np.median)
    near = []
    for low, high in pairwise(classes):
        line = (low[-1 - len(low) // 2_000] + high[len(high) // 2_000]) / 2
        if (low > line).mean() > 0.001 or (high < line).mean() > 0.001:
            return False
        widths = [0.1 * np.subtract(*np.quantile(side, (0.95, 0.05))) for side in (low, high)]
        near.append(min((low >= line - widths[0]).mean(), (high <= line + widths[1]).mean()))
        near[-1] *= min(widths) > 0
    return True if max(near) >= 0.03 and min(near) >= 0.003 else None


def _is_clock(values: Floats, times: Floats, submits: Floats) -> bool:
    """Say whether values are such times, in seconds or finer units, on any zone's clock."""
    both = ~np.isnan(values) & ~np.isnan(times)
    if both.sum() < 30 or np.ptp(times[both]) <= 0:
        return False
    seen, then = values[both], times[both]
    if np.mean(then != submits[both]) <= 0.5:
        return False
    if np.mean(np.abs(then - np.median(then)) <= 1.0) > 0.5:
        # all at the same moment: any small number differs from it by as much
        return False
    late = then - submits[both]
    if not np.isnan(late).all() and np.nanquantile(late, 0.95) - np.nanquantile(late, 0.05) <= 2:
        return False
    for fineness in _FINENESS:
        off = seen / fineness - then
        if np.mean(np.abs(off - np.median(off)) <= 1.0) > 0.95:
            return True
    return False


def _equal_requests(rows: pd.DataFrame) -> Ints | None:
    """Number the groups of jobs that request the same; None if no two requests differ."""
    held = [name for name in _REQUESTS if name in rows and rows[name].nunique() > 1]
    if not held:
        return None
    return np.asarray(rows.groupby(held, dropna=False).ngroup(), dtype=np.int64)


def _rank_correlation(one: Floats, two: Floats, groups: Ints | None = None) -> float:
    """Return how alike two columns rank jobs, or the jobs of each group."""
    both = ~np.isnan(one) & ~np.isnan(two)
    held = pd.DataFrame({"x": one, "y": two})[both]
    if groups is not None:
        sizes = np.bincount(groups[both])
        held = held.assign(group=groups[both])[sizes[groups[both]] >= _COMPARED]
    if len(held) < max(30, 0.5 * both.sum()) or (held[["x", "y"]].nunique() < 10).any():
        return 0.0
    if groups is None:
        ranks = held.rank()
    else:
        ranks = held.groupby("group")[["x", "y"]].rank(pct=True)
        ranks = ranks - ranks.groupby(held["group"]).transform("mean")
    if (ranks.std() == 0).any():
        return 0.0
    return float(np.corrcoef(ranks["x"], ranks["y"])[0, 1])


def _determines(rows: pd.DataFrame, name: str) -> tuple[str, str] | None:
    """Words that recur and each go with one duration only give it away as well."""
    for outcome in ("duration_s", "wait_s"):
        truth = numbers(rows, outcome)
        known = rows[name].notna().to_numpy() & (truth > 0)
        if known.sum() < 30:
            continue
        codes = pd.factorize(rows[name][known])[0]
        sizes = np.bincount(codes)
        recurring = sizes[codes] >= 3
        if (sizes >= 3).sum() < 5 or recurring.mean() < 0.5:
            continue
        logs = np.log(truth[known])
        means = np.bincount(codes, logs) / sizes
        left = np.mean((logs - means[codes])[recurring] ** 2)
        # the same job again and again takes 1 or 2 % more or less; only finer is suspicious
        if np.var(logs[recurring]) > 0.1 and left < _EXACT**2:
            return outcome, "each of its values goes with one"
    return None


def _splits(subject: LintSubject) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, str]]:
    """Yield training side, test side and where the split comes from."""
    jobs = subject.jobs
    held_out = subject.test.get("jobs", pd.DataFrame())
    if len(held_out) and "job_id" in held_out:
        yield jobs, held_out, "given with --test"
    for column in _SPLIT:
        if column not in jobs:
            continue
        side = jobs[column].astype("string").str.lower()
        if column == "attr_fold":
            tested = side == side.dropna().max() if side.notna().any() else side.isna()
        else:
            tested = side.isin(_TEST_WORDS)
        marked = tested.fillna(False).to_numpy(dtype=bool)
        known = side.notna().to_numpy()
        if marked.any() and (known & ~marked).any():
            yield jobs[known & ~marked], jobs[marked], f"column {column}"


def _same_job(train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    """Mark test rows whose id and clock, or whose whole content, the training side has.

    An id alone may be a row number that both sides count from one.
    """
    clocks = [c for c in ("submit_s", "start_s", "end_s") if c in train and c in test]
    same = _rows_in(_stripped(test, clocks), _stripped(train, clocks), clocks)
    content = [c for c in JOBS.names if c in train and c in test and c not in NAMES]
    if clocks and len(content) >= 4:
        dated = test[clocks].notna().any(axis=1).to_numpy()
        same = same | (dated & _rows_in(test[content], train[content], clocks))
    return same


def _stripped(jobs: pd.DataFrame, clocks: list[str]) -> pd.DataFrame:
    return jobs[clocks].assign(job_id=base_ids(jobs))


def _rows_in(these: pd.DataFrame, those: pd.DataFrame, clocks: list[str]) -> np.ndarray:
    """Mark the rows of one table that occur in the other; clocks, cheap to compare, go first."""
    marked = np.ones(len(these), dtype=bool)
    for columns in (clocks, list(these.columns)):
        if columns:
            wanted = _hashes(those[columns])
            marked[marked] = np.isin(_hashes(these.loc[marked, columns]), wanted)
            those = those[np.isin(wanted, _hashes(these.loc[marked, columns]))]
    return marked


def _hashes(rows: pd.DataFrame) -> np.ndarray:
    plain = rows.astype({name: "object" for name in rows if rows[name].dtype != np.float64})
    hashed: np.ndarray = pd.util.hash_pandas_object(plain, index=False).to_numpy()
    return hashed


def _shared_parents(train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    if "parent_id" not in train or "parent_id" not in test:
        return np.zeros(len(test), dtype=bool)
    known = test["parent_id"].notna()
    marked: np.ndarray = (known & test["parent_id"].isin(train["parent_id"].dropna())).to_numpy()
    return marked
