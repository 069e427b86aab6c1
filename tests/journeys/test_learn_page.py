"""The page about one's own history is followed to the letter, on exports as clusters write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run, prophase_here
from tests.journeys.learn_page import typed_in
from tests.journeys.raw_exports import WASTEFUL, write_nextflow, write_odd_csv, write_sacct

assert prophase_here  # the fixture

#: what scontrol show node prints of one node
_NODE = (
    "NodeName=n{number} Arch=x86_64 CoresPerSocket=32 CPUAlloc=0 CPUTot=64 "
    "Gres=(null) RealMemory=515000 State=IDLE Partitions=batch\n\n"
)


def _typed(prophase_here: Run, words: list[str]) -> str:
    said = prophase_here(*words)
    assert said.returncode == 0, said.stderr
    return said.stdout


@pytest.mark.parametrize("steps", [True, False], ids=["with steps", "without steps"])
def test_the_slurm_part_leads_to_a_study(steps: bool, prophase_here: Run, tmp_path: Path) -> None:
    dump = write_sacct(tmp_path / "sacct.txt")
    if not steps:
        lines = dump.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if "." not in line.partition("|")[0]]
        dump.write_text("\n".join(kept) + "\n", encoding="utf-8")
    nodes = "".join(_NODE.format(number=number) for number in range(4))
    (tmp_path / "nodes.txt").write_text(nodes, encoding="utf-8")
    (imported,) = typed_in("Slurm", "import")
    (studied,) = typed_in("Slurm", "study")
    _typed(prophase_here, imported)
    end = _typed(prophase_here, studied)
    assert len(end.splitlines()) <= 12
    # without steps Slurm says nothing of memory, and cores are what is left to size
    assert ("memory" if steps else "cores") in end.partition("\n")[0]


def test_the_nextflow_part_leads_to_recommendations(prophase_here: Run, tmp_path: Path) -> None:
    write_nextflow(tmp_path / "trace.txt")
    (imported,) = typed_in("Nextflow", "import")
    _typed(prophase_here, imported)
    sized = json.loads(_typed(prophase_here, ["size", "ws", "--format", "json"]))
    changed = {one["task"] for one in sized["tasks"] if one["advice"] < one["now"]}
    assert {name.upper() for name in WASTEFUL} <= changed


def test_the_csv_part_leads_to_the_study_that_all_end_with(
    prophase_here: Run, tmp_path: Path
) -> None:
    write_odd_csv(tmp_path / "jobs.csv")
    *_, guessed = typed_in("Any CSV", "import")[:-1]
    imported = typed_in("Any CSV", "import")[-1]
    *words, arrow, mapping = guessed
    assert arrow == ">"
    (tmp_path / mapping).write_text(_typed(prophase_here, words), encoding="utf-8")
    _typed(prophase_here, imported)
    (tmp_path / "nodes.csv").write_text("node_id,cpu_cores,memory_gib\na,64,512\nb,64,512\n")
    (tmp_path / "prices.toml").write_text("core_hour = 0.03\ngib_hour = 0.004\n")
    (studied,) = typed_in("Then, for every source", "study")
    _typed(prophase_here, studied)
    assert (tmp_path / "ws" / "reports" / "study" / "report.html").is_file()
