"""GPUs divided by MIG: geometry by hand, against a slow twin, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError, ProphaseError
from prophase.sim import Cluster, Workload, simulate
from prophase.sizing.gpu_grants import gpu_grants
from prophase.units.mig import MODELS, mig_model

#: as ``nvidia-smi mig -lgipp`` prints it for an A100 of 40 GB: length and starts
PRINTED = {
    "1g.5gb": (1, (0, 1, 2, 3, 4, 5, 6)), "1g.10gb": (2, (0, 2, 4, 6)), "2g.10gb": (2, (0, 2, 4)),
    "3g.20gb": (4, (0, 4)), "4g.20gb": (4, (0,)), "7g.40gb": (8, (0,)),
}  # fmt: skip


def jobs(profiles: list[str | None], duration_s: list[float] | float = 10.0, **columns) -> Workload:
    table = pd.DataFrame({"job_id": [f"j{row}" for row in range(len(profiles))], "submit_s": 0.0})
    table = table.assign(duration_s=duration_s, request_gpus=1.0, attr_mig_profile=profiles)
    return Workload.from_jobs(table.assign(**columns))


def starts(workload: Workload, cluster: str = "1x1 A100", **rules) -> list[float]:
    return simulate(workload, Cluster.parse(cluster), **({"mig": "on"} | rules)).start_s.tolist()


def test_the_table_of_profiles_is_what_the_driver_prints() -> None:
    ours = MODELS["A100"].profiles
    assert {name: (one.length, one.starts) for name, one in ours.items()} == PRINTED


@pytest.mark.parametrize(
    ("profiles", "together"),
    [
        (["1g.5gb"] * 8, 7),
        (["2g.10gb"] * 4, 3),
        (["3g.20gb"] * 3, 2),
        (["4g.20gb", "4g.20gb"], 1),
        (["4g.20gb", "3g.20gb"], 2),
        (["3g.20gb", "4g.20gb"], 2),
        (["4g.20gb", "2g.10gb", "1g.5gb"], 3),
        (["7g.40gb", "1g.5gb"], 1),
    ],
)
def test_a_gpu_holds_what_its_geometry_allows(profiles: list[str], together: int) -> None:
    assert starts(jobs(profiles)).count(0.0) == together


def test_a_divided_gpu_is_nobody_elses_until_its_last_instance_ends() -> None:
    workload = jobs(["1g.5gb", "2g.10gb", None], [30.0, 10.0, 10.0])
    assert starts(workload) == [0.0, 0.0, 30.0]
    assert starts(jobs([None, "1g.5gb"])) == [0.0, 10.0]
    assert starts(jobs([None, "1g.5gb"], request_gpus=[0.5, 1.0])) == [0.0, 10.0]


def test_fragmentation_by_geometry_is_said() -> None:
    # from 5 s on four slices are free, two and two: a 3g needs four side by side
    workload = jobs(["2g.10gb", "2g.10gb", "2g.10gb", "3g.20gb"], [20.0, 5.0, 20.0, 10.0])
    found = simulate(workload, Cluster.parse("1x1 A100"), mig="on")
    assert found.start_s[3] == 20.0
    assert any("waited 20 s in all; in 15 s of it a GPU had enough" in note for note in found.notes)


def test_fixed_instances_are_taken_by_name_and_empty_gpus_divided_anew_if_allowed() -> None:
    workload = jobs(["1g.5gb", "3g.20gb", "3g.20gb"], 10.0)
    layout = "layout=3g.20gb+3g.20gb"
    with pytest.raises(ProphaseError, match="divided as they are"):
        starts(workload, mig=layout)
    left = simulate(workload, Cluster.parse("1x1 A100"), mig=layout, leave_out_unfit=True)
    assert left.start_s.tolist() == [0.0, 0.0]
    # the GPU is divided into seven for the first, and into two when that has ended
    assert starts(workload, mig=f"{layout},repartition=empty") == [0.0, 10.0, 10.0]


def test_nodes_may_have_a_layout_each() -> None:
    nodes = Cluster.parse("2x1 A100").nodes.assign(mig_layout=["7g.40gb", None])
    found = simulate(jobs(["7g.40gb", None]), Cluster.from_nodes(nodes), mig="on")
    assert found.attempts.node.tolist() == [0, 1]


def test_the_same_name_has_another_length_on_another_model() -> None:
    # 1g.10gb covers two slices of an A100 of 40 GB and one of 80
    assert starts(jobs(["1g.10gb"] * 5)).count(0.0) == 4
    assert starts(jobs(["1g.10gb"] * 8), "1x1 A100-80GB").count(0.0) == 7
    assert mig_model("Tesla V100") is None


def test_an_a30_gives_quarters() -> None:
    nodes = pd.DataFrame({"gpus": [4], "features": ["a30,1g.6gb,2g.12gb"]})
    assert [one.share for one in gpu_grants(nodes)] == [0.25, 0.5, 1.0]
    assert starts(jobs(["1g.6gb"] * 5), "1x1 A30").count(0.0) == 4


@pytest.mark.parametrize(
    ("profile", "cluster", "rules", "said"),
    [
        ("1g.6gb", "1x1 A100", {}, "job j0 asks for '1g.6gb', which no GPU .* offers"),
        ("1g.5gb", "1x1 V100", {}, "no GPU of this cluster can be divided"),
        ("1g.5gb", "1x1 A100", {"mig": "layout=4g.20gb+4g.20gb"}, "does not fit on the A100"),
        ("1g.5gb", "1x1 A100", {"mig": "layout=9g.20gb"}, "has no profile '9g.20gb'"),
        ("1g.5gb", "1x1 A100", {"mig": "repartition=always"}, "never, empty"),
        ("1g.5gb", "1x1 A100", {"mig": "column=profile"}, "no column profile"),
        ("1g.5gb", "1x1 A100", {"preempt": "on"}, "preempt= cannot be combined with mig="),
        ("1g.5gb", "1x1 A100", {"elastic": "max=2"}, "mig= cannot be combined with elastic="),
        ("1g.5gb", "1x1 A100", {"queue": "easy"}, "queue=easy cannot be combined with mig="),
    ],
)
def test_what_cannot_be_is_explained(profile: str, cluster: str, rules, said: str) -> None:
    with pytest.raises((InputError, ParameterError), match=said):
        starts(jobs([profile]), cluster, **rules)


# --- a slow twin ------------------------------------------------------------------------------


class Twin:
    """GPUs as lists of eight slices; every place is tried, every other place counted."""

    def __init__(self, nodes: int, gpus: int, layout: list[tuple[str, int]] | None) -> None:
        self.gpus = {(n, g): [None] * 8 for n in range(nodes) for g in range(gpus)}
        self.whole: dict[tuple[int, int], int] = {}
        self.layout = {at: list(layout) for at in self.gpus} if layout else {}

    def free_at(self, at, profile: str, start: int) -> bool:
        length = PRINTED[profile][0]
        return all(one is None for one in self.gpus[at][start : start + length])

    def lost(self, at, profile: str, start: int) -> int:
        mine = set(range(start, start + PRINTED[profile][0]))
        return sum(
            bool(mine & set(range(begin, begin + length)))
            for other, (length, begins) in PRINTED.items()
            for begin in begins
            if self.free_at(at, other, begin)
        )

    def start(self, job: int, profile: str | None, gpus: int) -> bool:
        if profile is None:
            return not self.layout and self.start_whole(job, gpus)
        found = []
        for at, slices in self.gpus.items():
            if at in self.whole:
                continue
            busy = sum(one is not None for one in slices)
            if at in self.layout:
                there = [s for name, s in self.layout[at] if name == profile]
                there = [s for s in there if self.free_at(at, profile, s)]
                if not there and busy == 0:
                    there = [PRINTED[profile][1][0]]
                found += [(0, -busy, at, s) for s in there]
            else:
                there = [s for s in PRINTED[profile][1] if self.free_at(at, profile, s)]
                found += [(self.lost(at, profile, s), -busy, at, s) for s in there]
        if not found:
            return False
        _, _, at, begin = min(found)
        length, begins = PRINTED[profile]
        if at in self.layout and (profile, begin) not in self.layout[at]:
            full = [s for s in begins if s % length == 0]
            self.layout[at] = [(profile, s) for s in full]
        self.gpus[at][begin : begin + length] = [job] * length
        return True

    def start_whole(self, job: int, gpus: int) -> bool:
        for node in sorted({node for node, _ in self.gpus}):
            free = [
                at
                for at, slices in self.gpus.items()
                if at[0] == node and at not in self.whole and not any(s is not None for s in slices)
            ]
            if len(free) >= gpus:
                self.whole |= dict.fromkeys(free[:gpus], job)
                return True
        return False

    def end(self, job: int) -> None:
        self.whole = {at: one for at, one in self.whole.items() if one != job}
        for at, slices in self.gpus.items():
            self.gpus[at] = [None if one == job else one for one in slices]


def twin_starts(table: pd.DataFrame, twin: Twin) -> list[float]:
    begun: dict[int, float] = {}
    running: dict[int, float] = {}
    waiting: list[int] = []
    coming = list(range(len(table)))
    while coming or waiting or running:
        now = min([*running.values(), *(table["submit_s"][coming[:1]])])
        for job in [job for job, end in running.items() if end <= now]:
            twin.end(job)
            del running[job]
        while coming and table["submit_s"][coming[0]] <= now:
            waiting.append(coming.pop(0))
        for job in list(waiting):
            row = table.loc[job]
            profile = row["attr_mig_profile"] if isinstance(row["attr_mig_profile"], str) else None
            if twin.start(job, profile, int(row["request_gpus"])):
                waiting.remove(job)
                begun[job] = now
                running[job] = now + row["duration_s"]
    return [begun[job] for job in range(len(table))]


@pytest.mark.parametrize("layout", [None, [("3g.20gb", 0), ("2g.10gb", 4), ("1g.5gb", 6)]])
@pytest.mark.parametrize("seed", range(6))
def test_schedules_equal_those_of_the_slow_twin(seed: int, layout) -> None:
    rng, count = np.random.default_rng(seed), 60
    names = [*PRINTED, *([] if layout else [None])]
    table = pd.DataFrame({"job_id": [f"j{row:03}" for row in range(count)]})
    table["submit_s"] = np.sort(rng.integers(0, 120, count)).astype(float)
    table["duration_s"] = rng.integers(1, 60, count).astype(float)
    table["attr_mig_profile"] = pd.Series(rng.choice(np.array(names, object), count), dtype=object)
    table["request_gpus"] = rng.integers(1, 3, count).astype(float)
    table.loc[table["attr_mig_profile"].notna(), "request_gpus"] = 1.0
    said = "on" if layout is None else "layout=3g.20gb+2g.10gb+1g.5gb,repartition=empty"
    ours = simulate(
        Workload.from_jobs(table), Cluster.parse("2x2 A100"), mig=said, place="first_fit"
    )
    table = ours.workload.jobs
    assert ours.start_s.tolist() == twin_starts(table, Twin(2, 2, layout))
