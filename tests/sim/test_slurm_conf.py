from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import FormatError, MissingFileError
from prophase.sim import Cluster, Workload
from prophase.sim.slurm_conf import find_conf, slurm_settings
from prophase.sim.validation.scheduler_clocks import replay_clocks
from prophase.sim.validation.wait_validation import validate, without_outcomes
from prophase.trace.trace_tables import open_trace

MICRO = Path(__file__).parents[2] / "benchmarks" / "quality" / "micro-slurm"


def conf(folder: Path, text: str) -> Path:
    path = folder / "slurm.conf"
    path.write_text(text + "\nNodeName=n1 CPUs=4\n")
    return path


def test_weights_spans_and_backfilling_come_from_the_configuration() -> None:
    settings = slurm_settings(find_conf(MICRO))
    assert settings["order"] == "multifactor"
    assert settings["order_options"]["size"] == 200_000
    assert settings["order_options"]["max_age_s"] == 5 * 3600
    assert settings["half_life_s"] == 4 * 3600
    assert settings["backfill"].every_s == 30
    assert settings["backfill"].window_s == 4320 * 60
    assert settings["place"] == "slurm_tree"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7-0", 604_800), ("0-5", 18_000), ("1-2:30", 95_400), ("5", 300), ("2:30", 150)],
)
def test_spans_of_time_are_read_as_slurm_writes_them(
    tmp_path: Path, text: str, seconds: float
) -> None:
    path = conf(tmp_path, f"PriorityType=priority/multifactor\nPriorityMaxAge={text}")
    assert slurm_settings(find_conf(path))["order_options"]["max_age_s"] == seconds


def test_a_cluster_without_backfilling_is_strict(tmp_path: Path) -> None:
    settings = slurm_settings(find_conf(conf(tmp_path, "SchedulerType=sched/builtin")))
    assert settings["queue"] == "strict"
    assert "backfill" not in settings


def test_a_missing_file_and_a_bad_number_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"slurm\.conf"):
        find_conf(tmp_path)
    path = conf(tmp_path, "PriorityType=priority/multifactor\nPriorityWeightAge=lots")
    with pytest.raises(FormatError, match="priorityweightage = 'lots'"):
        slurm_settings(find_conf(path))


@pytest.mark.data
def test_the_micro_cluster_waits_as_its_real_run_did(shared_data: Path) -> None:
    """The published configuration alone: mean wait within 25 %, rank correlation above 0.85."""
    jobs = open_trace(shared_data / "ubccr-micro-slurm").jobs
    workload = Workload.from_jobs(without_outcomes(jobs))
    settings = {
        **slurm_settings(find_conf(MICRO)),
        "shares": pd.read_csv(MICRO / "shares.csv"),
    }
    cluster = Cluster.from_nodes(open_trace(MICRO).nodes)
    schedule, *others = replay_clocks(workload, cluster, settings, 10)
    found = validate(jobs, schedule, others=others, theory=False)
    total = found.scores["all jobs"]
    assert total.observed_mean_s == pytest.approx(8162, abs=1)
    assert total.simulated_mean_s == pytest.approx(8162, rel=0.25)
    assert total.rank_correlation is not None
    assert total.rank_correlation.value > 0.85
