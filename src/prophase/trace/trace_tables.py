"""Open any trace in memory: a workspace, or files of a known source."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from prophase.errors import InputError
from prophase.json_types import JsonObject
from prophase.short_form import ShortForm
from prophase.trace.identity.job_identity import file_rule, with_identity
from prophase.trace.reader import reader_named
from prophase.trace.schema import IDENTITY, SCHEMAS
from prophase.trace.source_recognition import recognise_source
from prophase.trace.staged_tables import ImportReport, stage
from prophase.trace.workspace import Workspace


@dataclass(frozen=True, repr=False)
class Trace(ShortForm):
    """The tables of one trace in memory, and where they came from."""

    tables: Mapping[str, pd.DataFrame]
    source: str
    data_hash: str
    clock: str = "relative"
    report: ImportReport | None = None
    truth: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    #: what columns were taken to mean, in TOML, if that was guessed from their names
    guessed: str | None = None

    @property
    def jobs(self) -> pd.DataFrame:
        return self._table("jobs")

    @property
    def usage(self) -> pd.DataFrame:
        return self._table("usage")

    @property
    def nodes(self) -> pd.DataFrame:
        return self._table("nodes")

    @property
    def table(self) -> pd.DataFrame:
        """The jobs; without them the first table there is."""
        return next(iter(self.tables.values())) if "jobs" not in self.tables else self.jobs

    def summary(self) -> list[str]:
        """Say what the trace holds."""
        rows = ", ".join(f"{len(table):,} {name}" for name, table in self.tables.items())
        return [f"Trace of {self.source}: {rows}", f"data {self.data_hash[:12]}"]

    def to_dict(self) -> JsonObject:
        """Return where the tables came from and how many rows they have."""
        return {
            "source": self.source,
            "data_hash": self.data_hash,
            "clock": self.clock,
            "tables": {name: len(table) for name, table in self.tables.items()},
        }

    def _table(self, name: str) -> pd.DataFrame:
        if name not in self.tables:
            held = f"; it has {', '.join(self.tables)}" if self.tables else ""
            raise InputError(f"this trace ({self.source}) has no {name} table{held}.")
        return self.tables[name]


def open_trace(
    path: Path | str,
    *,
    source: str | None = None,
    options: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    max_bad: float = 0.01,
    tables: Sequence[str] | None = None,
    columns: Collection[str] | None = None,
    by: str | None = None,
    by_column: bool = False,
) -> Trace:
    """Return the tables at ``path``: a workspace, a dump of ``source``, or one we recognise.

    Parameters
    ----------
    source : str, optional
        Name of the reader. Without it, a workspace is opened as such and other files are
        recognised by their columns; files that no reader knows are read by a mapping that is
        guessed from the names of their columns.
    tables : sequence of str, optional
        Load only these tables.
    columns : collection of str, optional
        Load only these columns of a workspace's tables, as far as they have them: a table of
        millions of jobs takes 0.4 GiB a million with all of them.
    by : str, optional
        Columns, joined by commas, that tell kinds of job apart, instead of the trace's own rule.
    by_column : bool, default=False
        Leave large tables of a workspace in their files, and read columns as they are asked for.
    """
    folder = Path(path)
    if source is None and Workspace.is_at(folder):
        workspace = Workspace(folder)
        held = workspace.tables
        if not held:
            raise InputError(
                f"{folder}: the workspace is empty. Fill it with: prophase import SOURCE PATH "
                f"--workspace {folder}"
            )
        first = held.get("jobs") or next(iter(held.values()))
        frames = {
            name: workspace.by_column(name)
            if by_column
            else workspace.read(name, _asked(entry.columns, columns), by=by)
            for name, entry in held.items()
            if tables is None or name in tables
        }
        return Trace(frames, first.source, first.source_hash, first.clock)
    guessed = None
    if source is None and "map" not in (options or {}):
        source, guessed = recognise_source(folder, [*SCHEMAS])
    reader = reader_named(source or "csv")
    with TemporaryDirectory(prefix="prophase-") as scratch:
        if guessed is not None:
            mapping = Path(scratch) / "mapping.toml"
            mapping.write_text(guessed, encoding="utf-8")
            options = {**(options or {}), "map": str(mapping)}
        staged = stage(
            reader, folder, Path(scratch), options=options, keep=keep, max_bad=max_bad, by=by
        )
        frames = {
            name: _read_part(part)
            for name, part in staged.parts.items()
            if tables is None or name in tables
        }
    report = staged.report
    return Trace(frames, reader.name, report.source_hash, report.clock, report, guessed=guessed)


def _asked(held: Sequence[str], columns: Collection[str] | None) -> list[str] | None:
    """Return the columns to read: those asked for that are there, or can be made."""
    if columns is None:
        return None
    return [*(name for name in held if name in columns)] + [
        name for name in IDENTITY if name in columns and name not in held
    ]


def _read_part(part: Path) -> pd.DataFrame:
    rule = file_rule(part)
    table = pd.read_parquet(part)
    return table if rule is None else with_identity(table, rule, trusted=True)
