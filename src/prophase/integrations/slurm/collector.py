"""Collects the jobs of a Slurm site: from its programs, or from slurmrestd."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from prophase.errors import FetchError, storage_errors
from prophase.integrations.slurm import site
from prophase.integrations.slurm.accounting import sacct_rows
from prophase.integrations.slurm.commands import SlurmCommands
from prophase.integrations.slurm.rest import SlurmRest
from prophase.trace.collect.collector import GatheredJobs
from prophase.trace.readers.sacct_json import SEPARATOR, Row, rest_rows, write_dump

_DUMP, _NODES = "sacct.psv", "slurm-nodes.conf"


@dataclass(frozen=True)
class SlurmCollector:
    """Asks ``sacct``, ``scontrol`` and ``sshare``; or slurmrestd, if one is named."""

    commands: SlurmCommands = field(default_factory=SlurmCommands)
    rest: SlurmRest | None = None
    name: str = "slurm"
    clock: str = "unix"

    def gather(self, folder: Path, *, since_s: float) -> GatheredJobs:
        """Write the accounting and the nodes into the folder."""
        if self.rest is not None:
            return self._from_rest(self.rest, folder, since_s)
        rows = sacct_rows(self.commands, since_s)
        notes: list[str] = []
        tables: dict[str, pd.DataFrame] = {}
        # accounting is what must not be lost; a controller that is away only leaves the rest old
        try:
            why = site.why_no_memory(site.settings(self.commands))
            notes += [why] if why else []
            _write(folder / _NODES, site.nodes_text(self.commands))
            tables["partitions"] = site.partitions(self.commands)
            shared = site.shares(self.commands)
            if shared is not None and len(shared):
                tables["shares"] = shared
        except FetchError as error:
            notes.append(f"Nodes, partitions and shares stay as they were: {error}")
        return self._gathered(folder, rows, tables, notes)

    def _from_rest(self, rest: SlurmRest, folder: Path, since_s: float) -> GatheredJobs:
        release = rest.release()
        query = {"start_time": f"uts{max(0, int(since_s))}"}
        if release.hides_attempts:
            query["show_duplicates"] = "true"
        asked = rest.get(f"slurmdb/{release.name}/jobs", **query)
        rows = list(rest_rows(asked))
        notes = ["Shares are not asked for over HTTP."]
        try:
            _write(folder / _NODES, site.rest_nodes_text(rest.get(f"slurm/{release.name}/nodes")))
        except FetchError as error:
            notes.append(f"Nodes stay as they were: {error}")
        return self._gathered(folder, rows, {}, notes)

    def _gathered(
        self,
        folder: Path,
        rows: Sequence[Row],
        tables: Mapping[str, pd.DataFrame],
        notes: Sequence[str],
    ) -> GatheredJobs:
        if rows:
            write_dump(rows, folder / _DUMP)
        there = bool(rows) or (folder / _NODES).is_file()
        return GatheredJobs(
            "sacct" if there else None,
            {"delimiter": SEPARATOR} if rows else {},
            tables,
            tuple(notes),
        )


def _write(path: Path, text: str) -> None:
    with storage_errors(path):
        path.write_text(text, encoding="utf-8")
