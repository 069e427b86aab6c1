"""Rows of the comparison: a printed number or a reading of a figure, ours, and a verdict.

reproduced: comes out of the thesis' own inputs. in kind: comes out on data of the same shape.
differs in kind: it does not there. contradicted: another of its tables says otherwise. ours:
the thesis has no such number. DIFFERS: the inputs give another number than was printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from prophase.json_types import JsonObject
from prophase.papers.claims import claim_row, verdict_on
from prophase.papers.thesis import published_tables as published
from prophase.sizing.bins.binning import Binning
from prophase.sizing.bins.experiments import Experiment, best_of
from prophase.sizing.bins.scores import Score

Row = JsonObject
#: said where a seed's runs cannot be split into training, validation and test in every bin
TOO_FEW = "too few runs in a bin"
#: a test has few heavy runs: so many under-estimates more are within chance
_MORE_UNDER = 2


def exact(
    item: str,
    claim: str,
    theirs: float,
    ours: float,
    *,
    digits: int = 1,
    tolerance: float | None = None,
) -> Row:
    """Return a row of what arithmetic gives: equal to the printed digits, or different.

    Examples
    --------
    >>> exact("Table 11", "estimate", 85.7, 85.6975)["verdict"]
    'reproduced'
    >>> exact("Table 11", "estimate", 85.7, 86.2)["verdict"]
    'DIFFERS'
    """
    # half a digit, and a hair for binary fractions
    allowed = 0.5 * 10.0**-digits + 1e-9 if tolerance is None else tolerance
    verdict = "reproduced" if abs(theirs - ours) <= allowed else "DIFFERS"
    return claim_row(item, claim, f"{theirs:g}", f"{ours:.{digits}f}", verdict)


def compared(
    item: str,
    claim: str,
    theirs: Sequence[float],
    ours: Sequence[float],
    *,
    tolerance: float,
    digits: int = 1,
) -> Row:
    """Return a row of numbers on other data: the same in kind, or not, to either side."""
    near = all(abs(one - other) <= tolerance for one, other in zip(theirs, ours, strict=True))
    return claim_row(
        item,
        claim,
        ", ".join(f"{value:,g}" for value in theirs),
        ", ".join(f"{value:,.{digits}f}" for value in ours),
        verdict_on(near, real=False),
    )


def scored(
    item: str,
    claim: str,
    accuracies: Sequence[float],
    our_accuracies: Sequence[float],
    u_scores: Sequence[float],
    ours: Sequence[Score],
) -> Row:
    """Return a row of scores; two under-estimates more or fewer than theirs are within chance.

    Scores that are better than that differ, too: the synthetic runs are easier than the real ones.
    """
    apart = [
        (found.u_score - theirs, 100 * _MORE_UNDER * found.penalty / found.total)
        for theirs, found in zip(u_scores, ours, strict=True)
    ]
    near = bool(apart) and all(abs(more) <= chance for more, chance in apart)
    better = not near and all(more <= chance for more, chance in apart)
    return claim_row(
        item,
        claim,
        ", ".join(f"{value:g}" for value in (*accuracies, *u_scores)),
        ", ".join(f"{value:.1f}" for value in (*our_accuracies, *(s.u_score for s in ours)))
        or TOO_FEW,
        verdict_on(near, real=False),
        "ours are better: the synthetic runs are easier to tell apart" if better and apart else "",
    )


def said(item: str, claim: str, theirs: str, ours: str, holds: bool) -> Row:
    """Return a row of a sentence about a picture: so on other data, or not."""
    return claim_row(item, claim, theirs, ours, verdict_on(holds, real=False))


def ours_alone(item: str, claim: str, ours: str, *, published: str = "-") -> Row:
    """Return a row of what the thesis has no number for."""
    return claim_row(item, claim, published, ours, "ours")


_CLUSTERS = ("light", "moderate", "heavy")
_USUAL_GB, _FAR_GB = 4.0, 50.0
#: of the best models of heavy task 1 in Table 11, and what two runs of 292 are
_UNDER_PCT, _CHANCE_PCT = (0.0, 0.2, 1.1), 0.7


def usage_rows(jobs: pd.DataFrame, tasks: pd.DataFrame) -> Iterator[Row]:
    """Return what figures 12 and 13 show: memory of every task, and of three kinds of tasks.

    Parameters
    ----------
    tasks : DataFrame
        ``task`` and ``cluster``: light, moderate or heavy.
    """
    peaks = jobs.groupby("task")["memory_peak_gib"]
    upper, largest = peaks.quantile(0.75), peaks.max()
    low, far = int((upper < _USUAL_GB).sum()), int((largest > _FAR_GB).sum())
    count = published.TASK_COUNT
    yield said(
        "Figure 12",
        "tasks with a median and quartiles below 4 GB",
        f"all {count}",
        f"{low} of {len(upper)}",
        low == len(upper),
    )
    yield said("Figure 12", "tasks with far outliers (above 50 GB)", "2", str(far), far == 2)
    yield said(
        "Figure 12",
        "largest memory of all, GB",
        f"{published.LARGEST_GB:g}",
        f"{largest.max():.0f}",
        abs(largest.max() / published.LARGEST_GB - 1) < 0.5,
    )
    kind = jobs["task"].map(tasks.set_index("task")["cluster"])
    top = jobs.groupby(kind)["memory_peak_gib"].max().reindex(list(_CLUSTERS))
    mean = jobs.groupby(kind)["memory_peak_gib"].mean().reindex(list(_CLUSTERS))
    grows = bool(top.is_monotonic_increasing) and bool(mean["heavy"] > mean["light"])
    yield said(
        "Figure 13",
        "largest memory of light, moderate, heavy tasks (GB)",
        "a picture: each above the one before",
        ", ".join(f"{value:.1f}" for value in top),
        grows,
    )


def confusion_rows(found: dict[str, list[Experiment]]) -> Iterator[Row]:
    """Return what figures 15 and 16 show: under-estimates that accuracy hides."""
    task = published.TASKS[0]
    bins = [Binning(tuple(map(float, edges))) for name, edges in published.TABLE_6 if name == task]
    yield _misled(found[task], bins[1])
    best = [best_of(found[task], binning=binning) for binning in bins]
    under = [one.score.u_rate_pct for one in best if one is not None]
    if len(under) < len(_UNDER_PCT):
        yield ours_alone("Figure 16", "under-estimates of the best models", TOO_FEW)
        return
    yield said(
        "Figure 16",
        "under-estimates of the best model with 2, 3, 4 bins (% of test runs)",
        ", ".join(f"{value:g}" for value in _UNDER_PCT),
        ", ".join(f"{value:.1f}" for value in under),
        all(
            abs(ours - theirs) <= _CHANCE_PCT
            for theirs, ours in zip(_UNDER_PCT, under, strict=True)
        ),
    )


def _misled(found: Sequence[Experiment], binning: Binning) -> Row:
    """Look for a model with the better accuracy and the worse u_score."""
    scores = sorted(
        (one.score for one in found if one.binning == binning),
        key=lambda one: (-one.accuracy_pct, -one.u_score),
    )
    pair = next(
        (
            (first, second)
            for place, first in enumerate(scores)
            for second in scores[place + 1 :]
            if first.accuracy_pct > second.accuracy_pct and first.u_score > second.u_score
        ),
        None,
    )
    ours = "no such pair among our models"
    if pair is not None:
        ours = "; ".join(f"{one.accuracy_pct:.1f} %, u_score {one.u_score:.1f}" for one in pair)
    return said(
        "Figure 15",
        "of two models the more accurate one under-estimates more",
        "a picture of two confusion matrices",
        ours,
        pair is not None,
    )
