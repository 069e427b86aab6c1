from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.integrations.prometheus.conftest import Running
from tests.integrations.prometheus.small_cluster import past_pods

from prophase.errors import InputError, ParameterError
from prophase.integrations.prometheus.client import Prometheus
from prophase.integrations.prometheus.cluster_tables import Gathered, gather
from prophase.integrations.prometheus.label_names import LabelNames
from prophase.trace.trace_tables import Trace, open_trace

_DAYS = 2 * 86_400.0


@pytest.fixture(scope="module")
def gathered(
    prometheus: Running, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Trace, Gathered]:
    folder = tmp_path_factory.mktemp("gathered") / "dump"
    server = Prometheus(prometheus.url, per_second=1e6)
    now_s = time.time()
    found = gather(server, folder, start_s=prometheus.now_s - _DAYS, end_s=now_s, step_s=120.0)
    return open_trace(folder, source="prometheus"), found


def test_every_pod_of_a_job_becomes_a_row_and_services_are_left_out(
    gathered: tuple[Trace, Gathered],
) -> None:
    trace, found = gathered
    wanted = {pod.job_id for pod in past_pods() if pod.owner_kind == "Job"} | {"ml/live-e"}
    assert set(trace.jobs["job_id"]) == wanted
    assert found.jobs == len(wanted)
    assert any("1 pod of services" in note for note in found.notes)


def test_clocks_requests_and_use_are_those_of_the_pods(gathered: tuple[Trace, Gathered]) -> None:
    jobs = gathered[0].jobs.set_index("job_id")
    for pod in past_pods():
        if pod.phase == "Succeeded":
            row: Any = jobs.loc[pod.job_id]
            assert row["duration_s"] == 60 * pod.minutes
            assert row["wait_s"] == 90
            assert row["request_memory_gib"] == 16
            assert row["request_cpu_cores"] == 4
            # one scrape saw the peak, though samples are two minutes apart
            assert row["memory_peak_gib"] == pytest.approx(pod.peak_gib)
            assert row["cpu_mean_cores"] == pytest.approx(pod.cores, rel=0.02)
            assert row["parent_id"] == f"{pod.namespace}/{pod.owner}"


def test_gpus_are_found_by_the_exported_labels_of_dcgm(gathered: tuple[Trace, Gathered]) -> None:
    row: Any = gathered[0].jobs.set_index("job_id").loc["ml/bert-0-x0"]
    assert row["request_gpus"] == 1
    assert row["gpu_util_mean_pct"] == pytest.approx(80)
    assert row["gpu_memory_peak_gib"] == pytest.approx(2)


def test_labels_name_user_group_and_workload_as_a_manifest_does(
    gathered: tuple[Trace, Gathered],
) -> None:
    row: Any = gathered[0].jobs.set_index("job_id").loc["ml/bert-1-x1"]
    assert (row["user"], row["group"], row["workload"]) == ("ann", "nlp", "bert")
    assert (row["queue"], row["name"]) == ("ml", "bert-1")


def test_the_image_is_that_of_the_container_that_asks_for_most_as_in_a_manifest(
    gathered: tuple[Trace, Gathered],
) -> None:
    jobs = gathered[0].jobs
    assert set(jobs["attr_image"].dropna()) == {"reg/train:1.4"}
    assert set(jobs["attr_owner_kind"].dropna()) == {"Job"}


def test_jobs_of_a_cron_job_share_its_name_as_their_group(gathered: tuple[Trace, Gathered]) -> None:
    assert gathered[0].jobs.set_index("job_id").loc["etl/nightly-1-b", "group"] == "nightly"


def test_ends_are_distinguished(gathered: tuple[Trace, Gathered]) -> None:
    status = gathered[0].jobs.set_index("job_id")["status"]
    assert status["ml/killed-0-a"] == "oom"
    assert status["ml/bert-0-x0"] == "completed"
    assert status["ml/live-e"] == "running"
    # deleted before it ended, as far as anyone saw
    assert status["ml/gone-d"] == "unknown"


def test_usage_has_a_sample_per_step_and_nodes_their_size(
    gathered: tuple[Trace, Gathered],
) -> None:
    trace, found = gathered
    one = trace.usage[trace.usage["series_id"] == "ml/bert-4-x4"]
    assert 17 <= one["memory_gib"].notna().sum() <= 20
    assert one["time_s"].diff().dropna().eq(120).all()
    assert found.samples == len(trace.usage)
    assert trace.nodes.iloc[0][["node_id", "cpu_cores", "memory_gib", "gpus"]].tolist() == [
        "n1", 32, 128, 2,
    ]  # fmt: skip
    assert trace.nodes.iloc[0]["gpu_type"] == "Tesla T4"


def test_a_span_without_pods_says_what_to_check(prometheus: Running, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="kube-state-metrics"):
        gather(Prometheus(prometheus.url), tmp_path / "none", start_s=1e9, end_s=1e9 + 3600)


def test_namespaces_can_be_chosen_and_services_taken(prometheus: Running, tmp_path: Path) -> None:
    labels = LabelNames.of({"namespaces": "we.*", "services": "yes"})
    server = Prometheus(prometheus.url, per_second=1e6)
    now = prometheus.now_s
    gather(server, tmp_path / "web", start_s=now - _DAYS, end_s=now, step_s=600, labels=labels)
    jobs = open_trace(tmp_path / "web", source="prometheus").jobs
    assert jobs["job_id"].tolist() == ["web/web-7f-c"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"colour": "red"}, "no such option"),
        ({"user": "label-x"}, "no label name"),
        ({"namespaces": 'a"b'}, "not allowed"),
        ({"services": "maybe"}, "not allowed"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        LabelNames.of(options)
