"""Clocks in the files as they were written, before an import sorts the rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from prophase import units
from prophase.trace.lint.check_registry import Floats, LintFinding, LintSubject, check
from prophase.trace.lint.raw_file import ROWS_SAMPLED, RawFile

_TIME = re.compile(r"time|date|clock", re.IGNORECASE)
_ELAPSED = re.compile(
    r"limit|dur|elapsed|wait|cpu|gpu|run|wall|real|update|per_|_per", re.IGNORECASE
)
_NAMES_A_SERIES = re.compile(r"(^|[._ -])(id|ip|vm|vc|pod|node|host|series|container)s?$|_id$|_sn$",
                             re.IGNORECASE)  # fmt: skip
#: more steps back than this are an order of another kind, not a clock that jumped
_FEW = 0.01


@check("time-goes-back", "files")
def time_goes_back(subject: LintSubject) -> Iterator[LintFinding]:
    """Times that run backwards in file order."""
    for file in subject.files:
        orders = [order for order in _orders(file) if order.steps]
        if not orders:
            continue
        # a file is kept in the order of one of its clocks at most
        best = min(orders, key=lambda order: order.share)
        if not best.lines:
            continue
        jump = best.share <= _FEW
        looked = "" if file.rows <= ROWS_SAMPLED else f" (first {ROWS_SAMPLED:,} rows)"
        yield LintFinding(
            "warning" if jump else "info",
            file.name,
            f"Time runs backwards {len(best.lines):,} times in file order{looked}, "
            f"{units.percent(best.share)} of the steps: "
            + (
                "a clock was set back, two logs were put behind each other, or a writer "
                "restarted. Sorting hides it and mixes the samples of both."
                if jump
                else "the file is not kept in this order. An import sorts it."
            ),
            "Look at the lines named here; shift or remove the part after the jump."
            if jump
            else "Nothing, unless the order of the file was meant to be the order of events.",
            column=best.column,
            rows=len(best.lines),
            share=best.share,
            where=tuple(f"line {line}" for line in best.lines[:5]),
        )


class _Order(NamedTuple):
    """How well a file keeps the order of one clock."""

    column: str
    steps: int
    lines: Sequence[int]

    @property
    def share(self) -> float:
        return len(self.lines) / self.steps


def _is_clock(name: str) -> bool:
    return bool(_TIME.search(name)) and not _ELAPSED.search(name)


def _orders(file: RawFile) -> Iterator[_Order]:
    """Yield how well the file keeps the order of each of its first clocks."""
    clocks = [name for name in file.header if _is_clock(name)][:3]
    keys = [name for name in file.header if _NAMES_A_SERIES.search(name) and name not in clocks][:4]
    frame = file.columns([*clocks, *keys]) if clocks else pd.DataFrame()
    if len(frame) < 3:
        return
    series = [pd.factorize(frame[key])[0] for key in keys]
    # a key that hardly repeats orders nothing
    series = [codes for codes in series if codes.max() + 1 <= len(frame) / 3]
    for column in clocks:
        times = clock_values(frame[column])
        found = [_back(times, codes) for codes in (None, *series)]
        steps, back = min(found, key=lambda one: len(one[1]) / max(one[0], 1))
        yield _Order(column, steps, [int(place) + 2 for place in back])


def _back(times: Floats, codes: np.ndarray | None) -> tuple[int, np.ndarray]:
    """Return the number of steps and the rows at which time is earlier than just before."""
    order = np.arange(len(times)) if codes is None else np.argsort(codes, kind="stable")
    order = order[~np.isnan(times[order])]
    step = np.diff(times[order])
    inside = np.ones(len(step), dtype=bool) if codes is None else np.diff(codes[order]) == 0
    if np.sum(inside & (step == 0)) > 0.5 * inside.sum():
        return 0, order[:0]  # stands still most of the time: a setting, not a clock
    return int(inside.sum()), np.sort(order[1:][inside & (step < 0)])


def clock_values(texts: pd.Series) -> Floats:
    """Return times as numbers, whether written as numbers or as dates; else NaN."""
    values = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if len(values) and np.isnan(values).mean() > 0.5:
        stamps = pd.to_datetime(texts, errors="coerce", utc=True, format="ISO8601")
        values = stamps.astype("int64").to_numpy(dtype=np.float64, copy=True) / 1e9
        values[stamps.isna().to_numpy()] = np.nan
    return values
