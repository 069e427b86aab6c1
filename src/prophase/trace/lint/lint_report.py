"""What the linter says: findings, and the report that holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from prophase import units
from prophase.json_types import JsonObject

#: error: results will be wrong. warning: look before you trust. info: good to know.
Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")

_EXAMPLES = 5
#: what names a row in each table
_ROW_NAMES = {"jobs": "job_id", "usage": "series_id", "nodes": "node_id", "test": "job_id"}


@dataclass(frozen=True)
class LintFinding:
    """One defect: what it is, where it is, how much of it, and what to do.

    Attributes
    ----------
    check : str
        Name of the check, as in ``docs/reference/lint-checks.md``.
    severity : {"error", "warning", "info"}
        *error* only for what makes results wrong and no sound trace can contain.
    table, column : str
        Where it was found; ``table`` is a file name for defects of files.
    rows : int
        Rows that have the defect.
    share : float
        The same as a share of the rows that could have it, 0..1.
    where : tuple of str
        A few of them: job ids, series or lines.
    explanation, advice : str
        What was seen and why it matters; what to do.
    """

    severity: Severity
    table: str
    column: str
    rows: int
    share: float
    where: tuple[str, ...]
    explanation: str
    advice: str
    check: str = ""

    @property
    def place(self) -> str:
        """Table and column in one word."""
        return f"{self.table}.{self.column}" if self.column else self.table


@dataclass(frozen=True)
class LintReport:
    """All findings about one trace, worst first, and what was looked at."""

    findings: Sequence[LintFinding]
    checked: Mapping[str, Any] = field(default_factory=dict)
    data_hash: str = ""

    def count(self, severity: Severity) -> int:
        """Return how many findings have that severity."""
        return sum(finding.severity == severity for finding in self.findings)

    @property
    def sound(self) -> bool:
        """True when nothing was found that makes results wrong."""
        return self.count("error") == 0

    def to_dict(self) -> JsonObject:
        return {
            "findings": [asdict(finding) for finding in self.findings],
            "checked": dict(self.checked),
            "data_hash": self.data_hash,
        }


def spot(
    severity: Severity,
    table: str,
    column: str,
    frame: pd.DataFrame,
    rows: ArrayLike,
    explanation: str,
    advice: str,
    *,
    of: int | None = None,
) -> LintFinding:
    """Return a finding about the rows that ``rows`` (one bool per row) marks.

    ``{n}`` and ``{share}`` in the explanation become the count and its percentage of ``of``
    (default: all rows).
    """
    marked = np.asarray(rows, dtype=bool)
    count = int(marked.sum())
    total = len(frame) if of is None else of
    share = count / total if total else 0.0
    return LintFinding(
        severity=severity,
        table=table,
        column=column,
        rows=count,
        share=share,
        where=examples(table, frame, marked),
        explanation=explanation.format(n=f"{count:,}", share=units.percent(share)),
        advice=advice,
    )


def examples(table: str, frame: pd.DataFrame, marked: np.ndarray) -> tuple[str, ...]:
    """Name the first rows that are marked, each once."""
    places = np.flatnonzero(marked)[: 20 * _EXAMPLES]
    name = _ROW_NAMES.get(table, "")
    if name not in frame:
        return tuple(f"row {place}" for place in places[:_EXAMPLES])
    return tuple(dict.fromkeys(str(value) for value in frame[name].iloc[places]))[:_EXAMPLES]
