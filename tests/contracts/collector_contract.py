"""What every collector keeps, told by a site whose jobs can be made to end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from prophase.errors import FetchError
from prophase.trace.collect.collection import STATE, collect
from prophase.trace.collect.collector import Collector, GatheredJobs
from prophase.trace.workspace import Workspace


@dataclass(frozen=True)
class Interrupted:
    """A collector that writes everything, and then its system is gone."""

    inner: Collector

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def clock(self) -> str:
        return self.inner.clock

    def gather(self, folder: Path, *, since_s: float) -> GatheredJobs:
        self.inner.gather(folder, since_s=since_s)
        raise FetchError("the connection broke")


def check_collector(
    collector: Collector, end_jobs: Callable[[], set[str]], workspace: Workspace
) -> None:
    """Every job that ended is kept once, whatever happens in between.

    Parameters
    ----------
    end_jobs : callable
        Makes some jobs end and returns their ids.
    """

    def ids() -> list[str]:
        return sorted(workspace.read("jobs")["job_id"])

    there = collect(collector, workspace).jobs
    before = set(ids()) if there else set()
    first = end_jobs()
    with pytest.raises(FetchError, match="broke"):
        collect(Interrupted(collector), workspace)
    assert (set(ids()) if there else set()) == before, "a round that fails changes nothing"
    found = collect(collector, workspace)
    assert found.new == len(first)
    assert ids() == sorted(before | first)
    again = collect(collector, workspace)
    assert (again.new, again.changed, again.jobs) == (0, 0, len(before | first))
    entry = workspace.tables["jobs"]
    second = end_jobs()
    assert collect(collector, workspace).new == len(second)
    assert workspace.tables["jobs"].source_hash != entry.source_hash
    everything = sorted(before | first | second)
    assert ids() == everything
    # a crash between the tables and the note how far they go
    state = workspace.folder / STATE / f"{collector.name}.json"
    state.write_text('{"until_s": 1')
    assert collect(collector, workspace).new == 0
    state.unlink()
    assert collect(collector, workspace).new == 0
    # the clock of this machine was set back by a year
    until = collect(collector, workspace).until_s
    assert until is not None
    assert collect(collector, workspace, now_s=until - 365 * 86_400).new == 0
    assert ids() == everything
    kept = workspace.read("jobs")
    assert not set(kept["status"]) & {"running", "pending"}
    assert kept["end_s"].notna().all()
