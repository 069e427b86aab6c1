"""A result as CSV: the rows of its table, else every single value with its place."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from prophase.result.blocks import Table
from prophase.result.document import Result


def render(result: Result) -> str:
    """Return the result as CSV text.

    Examples
    --------
    >>> print(render(Result("waits", values={"waits": {"mean_s": 3.5}})), end="")
    part,what,value
    waits,mean_s,3.5
    """
    rows = result.rows or ([] if result.tables else list(flat_rows(result.values or {})))
    table = Table("records", rows)
    out = io.StringIO()
    writer = csv.DictWriter(out, table.columns, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(table.rows)
    return out.getvalue()


def flat_rows(value: object, path: tuple[str, ...] = ()) -> Iterator[dict[str, object]]:
    """Yield every single number or text of an answer with the part and place it is at."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from flat_rows(item, (*path, str(key)))
    elif isinstance(value, list):
        # curves and histograms are for drawing: JSON has them
        if value and not isinstance(value[0], int | float | None):
            for place, item in enumerate(value):
                yield from flat_rows(item, (*path, str(place)))
    else:
        yield {"part": path[0], "what": ".".join(path[1:]), "value": value}
