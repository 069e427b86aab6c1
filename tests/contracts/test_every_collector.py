"""Every collector keeps each job once; Slurm's is told by a real Slurm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.contracts.collector_contract import check_collector
from tools.slurm_referee import SlurmReferee

from prophase.integrations.slurm.collector import SlurmCollector
from prophase.trace.collect.collector import GatheredJobs
from prophase.trace.workspace import Workspace

FIELDS = "JobID|DBIndex|Submit|Start|End|State|JobName|ReqMem|MaxRSS"


@dataclass
class WrittenSite:
    """The smallest system: a list of records, of which one job still runs."""

    name: str = "written"
    clock: str = "unix"
    rows: list[str] = field(default_factory=list)

    def end_jobs(self) -> set[str]:
        place = len(self.rows) // 2
        for number in (place, place + 1):
            at = f"2026-03-01T{number:02d}:00"
            self.rows += [
                f"{number}|{number}|{at}:00|{at}:01|{at}:30|COMPLETED|train|1G|",
                f"{number}.batch|{number}||{at}:01|{at}:30|COMPLETED|batch||300M",
            ]
        return {str(place), str(place + 1)}

    def gather(self, folder: Path, *, since_s: float) -> GatheredJobs:
        running = "99|99|2026-03-01T00:00:00|2026-03-01T00:00:01|Unknown|RUNNING|train|1G|"
        (folder / "sacct.psv").write_text("\n".join([FIELDS, *self.rows, running]) + "\n")
        return GatheredJobs("sacct")


def test_a_list_of_records(tmp_path: Path) -> None:
    site = WrittenSite()
    check_collector(site, site.end_jobs, Workspace.prepare(tmp_path / "ws"))


def test_slurm(real_slurm: SlurmReferee, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(real_slurm.bin), prepend=":")

    def array(tasks: int) -> Callable[[], set[str]]:
        def end() -> set[str]:
            job = real_slurm.sbatch(f"--array=1-{tasks}", "--mem=20M", wrap="true")
            return set(real_slurm.wait(job))

        return end

    real_slurm.wait()
    check_collector(SlurmCollector(), array(3), Workspace.prepare(tmp_path / "ws"))
