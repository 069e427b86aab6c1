from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.place.reserve_and_pack import rank

MIXED = Cluster.parse("1x8 V100M32, 1x4 T4, 1x2 MISC")


def table(gpus: list[float], **columns: list) -> pd.DataFrame:
    jobs = pd.DataFrame({"job_id": [str(place) for place in range(len(gpus))]})
    return jobs.assign(
        submit_s=np.arange(len(gpus)) * 1.0, duration_s=1e6, request_gpus=gpus, **columns
    )


def types_used(jobs: pd.DataFrame, cluster: Cluster = MIXED) -> list[str]:
    schedule = simulate(Workload.from_jobs(jobs), cluster, place="reserve_and_pack")
    return cluster.nodes["gpu_type"].iloc[schedule.attempts.node].tolist()


def test_scores_are_those_of_best_fit_with_a_step_between_the_groups(rate) -> None:
    job = {"request_gpus": 1.0}
    assert rate("reserve_and_pack", MIXED, 0, job) == pytest.approx(-7000 - 1)
    assert rate("reserve_and_pack", MIXED, 1, job) == pytest.approx(131072 - 3000 - 1)
    needy = job | {"attr_high_end": 1}
    assert rate("reserve_and_pack", MIXED, 0, needy) == pytest.approx(131072 - 7000 - 1)
    assert rate("reserve_and_pack", MIXED, 1, needy) == pytest.approx(-3000 - 1)


def test_plain_jobs_leave_high_end_gpus_alone_until_nothing_else_fits() -> None:
    used = types_used(table([1.0] * 8))
    assert used == ["MISC"] * 2 + ["T4"] * 4 + ["V100M32"] * 2


@pytest.mark.parametrize(
    "column", [{"gpu_type": ["V100M32"]}, {"attr_high_end": [True]}, {"gpu_type": ["V100M32|T4"]}]
)
def test_a_job_goes_to_high_end_gpus_if_it_accepts_no_other_or_says_that_it_needs_them(
    column: dict,
) -> None:
    accepts_both = column.get("gpu_type") == ["V100M32|T4"]
    assert types_used(table([1.0], **column)) == ["T4" if accepts_both else "V100M32"]


def test_a_wide_job_takes_high_end_gpus_even_if_another_node_would_do() -> None:
    assert types_used(table([8.0, 1.0]), Cluster.parse("1x8 T4, 1x8 A100")) == ["A100", "T4"]


def test_the_node_table_may_say_which_nodes_are_high_end() -> None:
    nodes = pd.DataFrame(
        {"node_id": ["a", "b"], "gpus": [4.0, 4.0], "gpu_type": ["V100", "G3"]}
    ).assign(attr_high_end=[0, 1])
    assert types_used(table([1.0]), Cluster.from_nodes(nodes)) == ["V100"]
    wrong = nodes.assign(attr_high_end=["no", "yes"])
    with pytest.raises(InputError, match="neither true nor false"):
        types_used(table([1.0]), Cluster.from_nodes(wrong))


@pytest.mark.parametrize("size", ["6x8 V100", "3x8 T4, 3x4 T4", "6x8", "2x8 MISC, 3x4 OTHER"])
def test_it_equals_best_fit_where_no_kind_of_gpu_stands_out(size: str) -> None:
    rng = np.random.default_rng(2)
    jobs = table(rng.choice([0.25, 0.5, 1.0, 2.0, 4.0], 300).tolist())
    jobs["duration_s"] = rng.exponential(30.0, 300)
    workload, cluster = Workload.from_jobs(jobs), Cluster.parse(size)
    reserved = simulate(workload, cluster, place="reserve_and_pack")
    packed = simulate(workload, cluster, place="best_fit")
    np.testing.assert_array_equal(reserved.attempts.node, packed.attempts.node)


def test_types_are_ranked_by_model_and_not_by_the_beginning_of_its_name() -> None:
    assert rank("A100-SXM4-80GB") > rank("V100M16") > rank("NVIDIA A10") > rank("T4") > -1
    assert rank("G2") == rank("MISC") == rank("") == rank("A1000") == -1
