"""Files as they were written: cut off, ragged, refused by their reader, or out of order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from prophase import units
from prophase.errors import FanOutError
from prophase.trace.lint.check_registry import Floats, LintFinding, LintSubject, check
from prophase.trace.lint.raw_file import ROWS_SAMPLED, RawFile
from prophase.trace.text_table import BAD

#: an import refuses a table with more damage than this, unless asked to
_TOLERATED = 0.01
#: a last line is called short only if nearly all others have one width
_AGREEMENT = 0.9
#: reasons that another check reports in its own words
_ELSEWHERE = ("wrong number of fields", "duration_s is negative")


@check("truncated-file", "files")
def truncated_file(subject: LintSubject) -> Iterator[LintFinding]:
    """Files that end too early."""
    for file in subject.files:
        if file.damage:
            yield LintFinding(
                "error",
                file.name,
                file.damage.splitlines()[0],
                "Copy or download the file again and compare its checksum.",
                rows=1,
                where=("end of file",),
            )
        elif not file.ends_with_newline and file.rows > 1:
            agreed = file.widths[file.width] >= _AGREEMENT * (file.rows - 1)
            short = file.last_width < file.width and agreed
            yield LintFinding(
                "error" if short else "info",
                file.name,
                f"The last line has {file.last_width} of {file.width} fields and no newline: the "
                "file was cut while it was written or copied."
                if short
                else "The last line has no newline. Many programs write it so, but a cut in the "
                "last field looks the same.",
                "Export or copy the file again; rows after the cut are lost."
                if short
                else "Compare the number of rows with the source if in doubt.",
                rows=1,
                share=1 / file.rows,
                where=("last line",),
            )


@check("header-width", "files")
def header_width(subject: LintSubject) -> Iterator[LintFinding]:
    """Headers with more or fewer names than the rows below have fields."""
    for file in subject.files:
        named, usual = len(file.header), file.width
        if not named or not file.rows or named == usual:
            continue
        index = usual == named + 1
        yield LintFinding(
            "warning" if index else "error",
            file.name,
            f"The header names {named} columns, but {file.widths[usual]:,} rows have {usual} fields"
            + (
                ": probably a row number in front that has no name. A reader that trusts the "
                "header takes every value from the column beside."
                if index
                else ". Every value may be read from the wrong column."
            ),
            "Add the missing name to the first line (such as `row,`), or use a reader that knows "
            "this layout."
            if index
            else "Correct the header, or export the file again with one name per field.",
            rows=file.widths[usual],
            share=file.widths[usual] / file.rows,
            where=("line 1",),
        )


@check("row-width", "files")
def row_width(subject: LintSubject) -> Iterator[LintFinding]:
    """Rows with more or fewer fields than most."""
    for file in subject.files:
        odd = file.rows - file.widths.get(file.width, 0)
        if file.last_width != file.width and not file.ends_with_newline:
            odd -= 1  # that line is reported as a cut
        if odd <= 0:
            continue
        share = odd / file.rows
        looked = "" if file.whole else f" in the first {file.rows:,} lines"
        yield LintFinding(
            "warning" if share <= _TOLERATED else "error",
            file.name,
            f"{odd:,} of {file.rows:,} rows ({units.percent(share)}){looked} do not have the "
            f"{file.width} fields of the others; an import leaves them out.",
            "Look at the lines named here: a separator inside an unquoted value, a line break in "
            "a name, or two writers in one file.",
            rows=odd,
            share=share,
            where=tuple(f"line {line} ({width} fields)" for line, width in file.odd),
        )


@check("unreadable", "refusal")
def unreadable(subject: LintSubject) -> Iterator[LintFinding]:
    """Traces that their reader refuses."""
    if subject.refusal is None or isinstance(subject.refusal, FanOutError):
        return
    if any(file.damage for file in subject.files):
        return
    said = str(subject.refusal).splitlines()
    yield LintFinding(
        "error",
        subject.source,
        f"The {subject.source} reader refuses these files, so the tables could not be checked. "
        + " ".join(said),
        "Correct what the message names, or choose another reader with --source.",
    )


@check("damaged-rows", "counts")
def damaged_rows(subject: LintSubject) -> Iterator[LintFinding]:
    """Rows the import left out because a value is impossible or missing."""
    for table, count in subject.counts.items():
        bad = {
            reason.removeprefix(BAD): n
            for reason, n in count.dropped.items()
            if reason.startswith(BAD) and reason.removeprefix(BAD) not in _ELSEWHERE
        }
        total = sum(bad.values())
        if not total:
            continue
        share = total / count.read
        listed = "; ".join(f"{n:,} x {reason}" for reason, n in bad.items())
        yield LintFinding(
            "warning" if share <= _TOLERATED else "error",
            table,
            f"{total:,} of {count.read:,} rows are damaged and were left out: {listed}.",
            "Correct them at the source. What is left may no longer be a fair sample.",
            rows=total,
            share=share,
        )


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
