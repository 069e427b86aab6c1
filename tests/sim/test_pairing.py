"""Which kinds share a GPU, and that the replay follows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.pairing import pair_jobs
from prophase.sim.signatures import ASK_MILLI


def jobs(tasks: str, **columns) -> Workload:
    table = pd.DataFrame({"job_id": [f"{i}" for i in range(len(tasks))], "submit_s": 0.0})
    table["duration_s"], table["request_gpus"], table["task"] = 100.0, 1.0, list(tasks)
    return Workload.from_jobs(table.assign(**columns))


def speeds(tmp_path, **pairs: float) -> str:
    rows = [
        {"kind": one, "neighbour": other, "speed": speed}
        for (one, other), speed in ((tuple(name), value) for name, value in pairs.items())
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "pairs.csv", index=False)
    return f"table={tmp_path / 'pairs.csv'}"


def test_light_kinds_share_with_all_and_heavy_ones_only_with_light_ones(tmp_path):
    # a goes with itself and with b; two b would stand in each other's way; c suits nobody
    how = speeds(tmp_path, aa=0.9, ab=0.8, ba=0.9, bb=0.5, cc=0.5, ac=0.5, ca=0.5, bc=0.5, cb=0.5)
    pairs = pair_jobs(jobs("abc"), how)
    assert (pairs.heavy, pairs.light) == (("b",), ("a",))
    assert pairs.workload.asks[:, ASK_MILLI].tolist() == [400, 600, 1000]
    assert [pairs.rows[0][name] for name in ("kind", "neighbour")] == ["a", "a"]


def test_the_replay_lets_only_good_pairs_meet_and_pays_their_speeds(tmp_path):
    how = speeds(tmp_path, aa=0.9, ab=0.8, ba=0.5, bb=0.5)
    pairs = pair_jobs(jobs("abb"), f"{how},gain=1.25")
    schedule = simulate(pairs.workload, Cluster.parse("1x1"), share=pairs.sharing)
    # a and the first b share: b runs at half speed until a has ended at 125 s; the second b waits
    assert schedule.start_s.tolist() == [0.0, 0.0, 162.5]
    assert schedule.end_s == pytest.approx([125.0, 162.5, 262.5])


def test_the_set_with_most_hours_is_taken_and_pairs_not_measured_stay_apart(tmp_path):
    how = speeds(tmp_path, aa=0.9, bb=0.9)
    workload = jobs("aab", duration_s=[10.0, 10.0, 100.0])
    assert pair_jobs(workload, how).light == ("b",)
    assert pair_jobs(jobs("aab"), how).light == ("a",)


def test_busy_gpus_are_divided_and_memory_must_hold_both():
    busy = {
        "gpu_util_mean_pct": [20.0] * 3 + [90.0] * 3,
        "gpu_memory_peak_gib": [4.0] * 3 + [9] * 3,
    }
    pairs = pair_jobs(jobs("aaabbb", **busy), "usage,overhead=0")
    assert (pairs.heavy, pairs.light) == (("b",), ("a",))
    speed = {(row["kind"], row["neighbour"]): row["speed"] for row in pairs.rows}
    assert speed["a", "a"] == 1.0
    assert speed["a", "b"] == pytest.approx(1 / 1.1)
    assert "say gpu_memory_gib" in pairs.remarks[-1]
    small = pair_jobs(jobs("aaabbb", **busy), "usage,gpu_memory_gib=10")
    assert (small.heavy, small.light) == ((), ("a",))


def test_kinds_that_hardly_ran_are_not_paired():
    workload = jobs("aab", gpu_util_mean_pct=[10.0, 10.0, 10.0])
    pairs = pair_jobs(workload, "usage")
    assert pairs.light == ()
    assert "No kind goes well" in pairs.remarks[0]
    assert np.array_equal(pairs.workload.asks, workload.asks)


@pytest.mark.parametrize(
    ("how", "error", "said"),
    [
        ("usage", InputError, "does not tell how busy GPUs are"),
        ("guess", ParameterError, "is usage, measured=PATH or table=FILE"),
        ("usage,gain=0.5", ParameterError, "pair gain = 0.5"),
    ],
)
def test_what_cannot_be_paired_is_refused(how, error, said):
    with pytest.raises(error, match=said):
        pair_jobs(jobs("ab"), how)


def test_speeds_of_other_kinds_are_refused(tmp_path):
    with pytest.raises(InputError, match="none of the kinds of this trace"):
        pair_jobs(jobs("xy"), speeds(tmp_path, aa=0.9))
    with pytest.raises(InputError, match="no job asks for one GPU"):
        pair_jobs(jobs("xy", request_gpus=2.0), speeds(tmp_path, aa=0.9))
