"""Many series at once, sample by sample: who changed its phase?"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prophase.errors import FormatError, MissingColumnError, MissingFileError, storage_error
from prophase.phase.detector import PhaseDetector
from prophase.phase.next_phase import PhaseForecast
from prophase.phase.phase_stream import PhaseStream, StreamedPhase

#: names that a series and a time go by in files that are written elsewhere
SERIES_NAMES = ("series_id", "pod.id", "pod", "container", "container_ip")
TIME_NAMES = ("time_s", "timestamp", "time")


@dataclass(frozen=True)
class PhaseChange:
    """A series went to another phase, or began or ceased to be unlike all that is known."""

    series_id: str
    step: StreamedPhase
    forecast: PhaseForecast | None


@dataclass(eq=False)
class PhaseWatch:
    """Label samples of any number of series as they arrive, and report changes."""

    detector: PhaseDetector
    #: column of the source -> (metric, factor), for sources whose columns have other names
    factors: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    #: told once per series what is wrong with its samples
    tell: Callable[[str], None] = lambda said: None
    streams: dict[str, PhaseStream] = field(default_factory=dict, init=False)
    _told: set[tuple[str, str]] = field(default_factory=set, init=False)
    _was_new: dict[str, bool] = field(default_factory=dict, init=False)

    def push(
        self, series_id: str, time_s: float, values: Mapping[str, float]
    ) -> PhaseChange | None:
        """Take a sample; return a change if there is one."""
        stream = self.streams.setdefault(series_id, self.detector.stream())
        last_s = stream.last_s
        if time_s <= last_s:
            self._once(
                series_id,
                "order",
                f"{series_id}: a sample at {time_s:.0f} s came after one at {last_s:.0f} s and is "
                "left out, as all such are. If two series share this id, give each its own.",
            )
        step = stream.push(time_s, values)
        lacking = stream.lacking(time_s) if time_s > last_s else []
        if lacking:
            self._once(
                series_id,
                "lacking",
                f"{series_id}: no recent value of {', '.join(lacking)} at {time_s:.0f} s, so no "
                "phase is told until there is one.",
            )
        else:
            self._told.discard((series_id, "lacking"))
        if step is None:
            return None
        turned = step.new != self._was_new.get(series_id, False)
        self._was_new[series_id] = step.new
        if not step.changed and not turned:
            return None
        return PhaseChange(series_id, step, stream.forecast())

    def _once(self, series_id: str, what: str, said: str) -> None:
        if (series_id, what) not in self._told:
            self._told.add((series_id, what))
            self.tell(said)

    def changes(self, rows: Iterable[Mapping[str, str]]) -> Iterator[PhaseChange]:
        """Yield the changes in rows of text, such as those of a growing CSV."""
        for number, row in enumerate(rows, start=1):
            change = self.push(*self._understood(row, number))
            if change is not None:
                yield change

    def _understood(
        self, row: Mapping[str, str], number: int
    ) -> tuple[str, float, dict[str, float]]:
        who = next((name for name in SERIES_NAMES if name in row), None)
        when = next((name for name in TIME_NAMES if name in row), None)
        if who is None or when is None:
            raise MissingColumnError(
                f"the rows have no column for the series ({', '.join(SERIES_NAMES)}) or the time "
                f"({', '.join(TIME_NAMES)}), but {', '.join(row)}."
            )
        series_id = row[who]
        if "service" in row and who == "pod.id":
            series_id = f"{row['service']}/{series_id}"
        own = {metric: (name, factor) for name, (metric, factor) in self.factors.items()}
        values = {}
        for metric in self.detector.metrics_:
            name, factor = (metric, 1.0) if metric in row else own.get(metric, (metric, 1.0))
            if name not in row:
                raise MissingColumnError(
                    f"the rows lack {metric}, which the phases were learned with; they have "
                    f"{', '.join(row)}."
                )
            values[metric] = _number(row[name], name, number) * factor
        return series_id, _number(row[when], when, number), values


def _number(text: str, name: str, row: int) -> float:
    if text.strip() in ("", "NaN", "nan", "NA", "null"):
        return float("nan")
    try:
        return float(text)
    except ValueError as cause:
        raise FormatError(
            f"row {row}: {name} is {text!r}, which is not a number. Correct what writes the file."
        ) from cause


#: seconds between two looks at a file that has not grown
POLL_S = 0.5


def tail_rows(
    path: Path | str,
    *,
    follow: bool = True,
    poll_s: float = POLL_S,
    go_on: Callable[[], bool] = lambda: True,
) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV by column name; with ``follow``, wait for further ones.

    A row counts when its line has ended. A file that became shorter was started over, and is read
    from its header on. A row with more or fewer fields than the header is refused.

    Parameters
    ----------
    go_on : callable
        Asked before every wait; following ends when it says no.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "usage.csv"
    >>> _ = path.write_text("series_id,time_s,cpu\\na,1,2.5\\na,2,")
    >>> list(tail_rows(path, follow=False))
    [{'series_id': 'a', 'time_s': '1', 'cpu': '2.5'}]
    """
    source = Path(path)
    if not source.is_file():
        raise MissingFileError(f"{source}: there is no file at this path.")
    header: list[str] | None = None
    at, line_number, rest = 0, 0, b""
    while True:
        try:
            size = source.stat().st_size
            if size < at:
                header, at, line_number, rest = None, 0, 0, b""
            with source.open("rb") as stream:
                stream.seek(at)
                fresh = stream.read()
        except OSError as cause:
            raise storage_error(cause, source) from cause
        at += len(fresh)
        *lines, rest = (rest + fresh).split(b"\n")
        for line in lines:
            line_number += 1
            text = line.decode("utf-8", errors="replace").rstrip("\r")
            if not text:
                continue
            fields = next(csv.reader([text]))
            if header is None:
                header = fields
                continue
            if len(fields) != len(header):
                raise FormatError(
                    f"{source} line {line_number}: has {len(fields)} fields under {len(header)} "
                    "names. Correct what writes the file."
                )
            yield dict(zip(header, fields, strict=True))
        if fresh:
            continue
        if not follow or not go_on():
            return
        time.sleep(poll_s)
