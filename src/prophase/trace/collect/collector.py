"""What a collector is: it writes what a system says into files that a reader understands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pandas as pd


@dataclass(frozen=True)
class GatheredJobs:
    """What a system said of a span of time."""

    #: reader of the files that were written; None if there was nothing to write
    reader: str | None
    #: options of the reader
    options: Mapping[str, str] = field(default_factory=dict)
    #: what is true now and replaces what was: nodes, partitions, shares, ...
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Collector(Protocol):
    """Asks one system for the jobs that ended; it changes nothing there and remembers nothing."""

    @property
    def name(self) -> str:
        """Return the word for the system, such as ``slurm``."""
        ...

    @property
    def clock(self) -> str:
        """Return the clock of its times, as readers name them."""
        ...

    def gather(self, folder: Path, *, since_s: float) -> GatheredJobs:
        """Write every job that had not ended by ``since_s`` into files below the folder.

        Jobs that have not ended may be among them. What cannot be had whole is an error:
        whoever asks will ask for the same span again.
        """
        ...
