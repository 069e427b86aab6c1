"""Percent and fraction taken for each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from prophase.trace.lint.check_registry import (
    LintFinding,
    LintSubject,
    check,
    examples,
    numbers,
    numeric_columns,
    sampled,
)

_PERCENT = re.compile(r"(^|_|\.)(pct|percent|perc|percentage)($|_|\.)|%", re.IGNORECASE)
_FRACTION = re.compile(r"(^|_|\.)(frac|fraction|ratio|share)($|_|\.)", re.IGNORECASE)
_ERROR = re.compile(r"err|rmse|mape|ape($|_)", re.IGNORECASE)
_TRUE = re.compile(r"true|actual|real|observed|duration", re.IGNORECASE)
_GUESS = re.compile(r"pred|estimate|forecast|guess", re.IGNORECASE)
_ENOUGH = 20


@check("fraction-as-percent")
def fraction_as_percent(subject: LintSubject) -> Iterator[LintFinding]:
    """Columns called percent that hold fractions."""
    # a reader knows the units of its source, whatever the file calls them
    for table, frame, name in _columns(subject, _PERCENT, raw=not subject.source):
        known = _known(frame, name)
        if len(known) < _ENOUGH or known.min() < 0 or len(np.unique(known[:1000])) < 5:
            continue
        if known.max() <= 1.0 and known.max() > 0.2:
            yield _about(
                table, name, frame, len(known),
                f"All {len(known):,} values lie between 0 and {known.max():.3g}, but the name says "
                "percent: these are fractions, a hundred times too small as percent.",
                "Multiply by 100, or give the unit 'fraction' in the mapping.",
            )  # fmt: skip


@check("percent-as-fraction")
def percent_as_fraction(subject: LintSubject) -> Iterator[LintFinding]:
    """Columns called fraction that hold percent."""
    for table, frame, name in _columns(subject, _FRACTION, raw=not subject.source):
        known = _known(frame, name)
        if len(known) < _ENOUGH or known.min() < 0:
            continue
        if 1.5 < known.max() <= 101 and np.mean(known > 1.5) > 0.2:
            yield _about(
                table, name, frame, int(np.sum(known > 1.5)),
                f"{np.sum(known > 1.5):,} of {len(known):,} values lie above 1.5, up to "
                f"{known.max():.4g}, but the name says fraction: these are percent.",
                "Divide by 100, or give the unit 'percent' in the mapping.",
            )  # fmt: skip


@check("ratio-as-percent")
def ratio_as_percent(subject: LintSubject) -> Iterator[LintFinding]:
    """Errors called percent that are the plain ratio of miss to truth."""
    for table, frame, name in _columns(subject, _PERCENT, raw=True):
        if not _ERROR.search(name):
            continue
        error = numbers(frame, name)
        known = error[~np.isnan(error)]
        if len(known) < _ENOUGH:
            continue
        pair = _explained_by(frame, name, error)
        if pair:
            text = (
                f"{name} equals |{pair[1]} - {pair[0]}| / {pair[0]} without the factor 100: a "
                f"value of 5 means 500%, not 5%. Median as it is: {np.median(known):.3g}%, in "
                f"truth {100 * np.median(known):.3g}%."
            )
        elif _looks_like_a_ratio(known):
            text = (
                f"{np.mean(known <= 1):.0%} of the values of {name} lie at or below 1, crowded "
                f"just under it (median {np.median(known):.3g}), with a long tail to "
                f"{known.max():,.4g}: guesses that are far too small give a ratio near 1, a "
                "percent error near 100. It is a ratio; 5 means 500%."
            )
        else:
            continue
        yield _about(
            table, name, frame, len(known), text,
            "Multiply by 100 before you call it percent; correct every statement read off it.",
        )  # fmt: skip


def _looks_like_a_ratio(known: np.ndarray) -> bool:
    """Relative errors crowd just below 1 and fall off a cliff there.

    A guess far below the truth misses by nearly all of it, and only guesses above the truth can
    miss by more. In percent the cliff stands at 100.
    """
    if known.min() < 0 or known.max() <= 1:
        return False

    def crowd(edge: float) -> float:
        return float(np.mean((known > 0.9 * edge) & (known <= edge)))

    beyond = float(np.mean((known > 1.0) & (known <= 1.1)))
    return crowd(1.0) > 0.04 and crowd(1.0) > 3 * beyond and crowd(1.0) > crowd(100.0)


def _explained_by(frame: pd.DataFrame, name: str, error: np.ndarray) -> tuple[str, str] | None:
    """Return the columns of truth and guess whose relative miss the error is."""
    others = [str(column) for column in frame.columns if column != name]
    truths = [column for column in others if _TRUE.search(column) and not _GUESS.search(column)]
    for guess in [column for column in others if _GUESS.search(column)][:5]:
        for truth in truths[:5]:
            real = numbers(frame, truth)
            usable = (real > 0) & ~np.isnan(error)
            if usable.sum() < _ENOUGH:
                continue
            miss = np.abs(numbers(frame, guess)[usable] - real[usable]) / real[usable]
            if np.mean(np.isclose(miss, error[usable], rtol=0.01, atol=1e-6)) > 0.9:
                return truth, guess
    return None


def _columns(
    subject: LintSubject, pattern: re.Pattern[str], *, raw: bool
) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield columns whose name fits, from the tables and, if ``raw``, from the files themselves."""
    for table, frame in subject.tables.items():
        rows = sampled(frame)
        for name in _numeric(rows):
            if pattern.search(name) and len(rows):
                yield table, rows, name
    for file in subject.files if raw else ():
        named = [name for name in file.header if pattern.search(name)]
        if named:
            rows = sampled(file.columns(file.header))
            for name in [name for name in named if name in rows]:
                yield file.name, rows, name


def _numeric(frame: pd.DataFrame) -> Sequence[str]:
    """Numbers of the source stay text in side tables and attributes; those count too."""
    named = [str(name) for name in frame.columns]
    sure = set(numeric_columns(frame))
    return [n for n in named if n in sure or _PERCENT.search(n) or _FRACTION.search(n)]


def _known(frame: pd.DataFrame, name: str) -> np.ndarray:
    values = numbers(frame, name)
    known: np.ndarray = values[~np.isnan(values)]
    return known


def _about(
    table: str, name: str, frame: pd.DataFrame, rows: int, explanation: str, advice: str
) -> LintFinding:
    known = ~np.isnan(numbers(frame, name))
    share = rows / max(int(known.sum()), 1)
    return LintFinding(
        "warning",
        table,
        explanation,
        advice,
        column=name,
        rows=rows,
        share=share,
        where=examples(table, frame, known),
    )
