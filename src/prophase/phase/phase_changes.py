"""Many series at once, sample by sample: who changed its phase?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from prophase.errors import FormatError, MissingColumnError
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


class PhaseWatch:
    """Label samples of any number of series as they arrive, and report changes.

    Parameters
    ----------
    detector : PhaseDetector
        Learned phases.
    factors : mapping, optional
        Column of the source -> (metric, factor), for sources whose columns have other names.
    """

    def __init__(
        self,
        detector: PhaseDetector,
        factors: Mapping[str, tuple[str, float]] | None = None,
    ) -> None:
        self.detector = detector
        self.factors = factors or {}
        self.streams: dict[str, PhaseStream] = {}
        self._was_new: dict[str, bool] = {}

    def push(
        self, series_id: str, time_s: float, values: Mapping[str, float]
    ) -> PhaseChange | None:
        """Take a sample; return a change if there is one."""
        stream = self.streams.setdefault(series_id, self.detector.stream())
        step = stream.push(time_s, values)
        if step is None:
            return None
        turned = step.new != self._was_new.get(series_id, False)
        self._was_new[series_id] = step.new
        if not step.changed and not turned:
            return None
        return PhaseChange(series_id, step, stream.forecast())

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
