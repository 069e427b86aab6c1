"""Charts as data: what to draw, not how; plots and the dashboard draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from prophase.errors import ParameterError

ChartKind = Literal["bars", "intervals", "lines", "points"]
_KINDS = ("bars", "intervals", "lines", "points")


@dataclass(frozen=True)
class Chart:
    """A figure described by its numbers.

    Parameters
    ----------
    key : str
        Unique within a result; also the name of its file.
    title : str
        What the figure shows; a sentence that says the finding is best.
    kind : {"bars", "intervals", "lines", "points"}
        ``bars``: one group per row, one bar per column of ``y``. ``intervals``: a dot with its
        range per row. ``lines``: columns of ``y`` over ``x``. ``points``: ``y`` against ``x``
        with the diagonal, as for predicted against true.
    rows : sequence of mappings
        The numbers; ``c_low`` and ``c_high`` are the interval of column ``c``.
    x : str
        Column of labels (bars, intervals) or of positions (lines, points).
    y : sequence of str
        Columns that are drawn.
    unit : str
        Title of the value axis, with the unit.
    x_title : str
        Title of the other axis.
    log : bool
        Whether the value axis is logarithmic.
    reference : float, optional
        Where a line marks what to compare with.
    caption : str
        What the reader should see, in one sentence.

    Examples
    --------
    >>> rows = [{"order": "fifo", "wait_s": 60.0}, {"order": "shortest", "wait_s": 20.0}]
    >>> Chart("waits", "Waits", "bars", rows, x="order", y=["wait_s"], unit="s").y
    ['wait_s']
    """

    key: str
    title: str
    kind: ChartKind
    rows: Sequence[Mapping[str, object]]
    x: str
    y: Sequence[str]
    unit: str = ""
    x_title: str = ""
    log: bool = False
    reference: float | None = None
    caption: str = ""

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ParameterError(
                f"Chart {self.key}: kind is {self.kind!r}; known: {', '.join(_KINDS)}."
            )
        wanted = {self.x, *self.y}
        missing = [name for name in wanted if not any(name in row for row in self.rows)]
        if self.rows and missing:
            raise ParameterError(
                f"Chart {self.key}: no row has {', '.join(sorted(missing))}. "
                f"Columns: {', '.join(dict.fromkeys(key for row in self.rows for key in row))}."
            )
