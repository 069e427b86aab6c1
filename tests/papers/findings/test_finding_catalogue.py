"""Published findings on tables small enough to count by hand, on any table, on real traces."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prophase.errors import ParameterError
from prophase.papers.findings.finding_catalogue import FINDINGS, published_findings
from prophase.papers.findings.recurring_jobs import past_means
from prophase.papers.findings.waiting_times import high_end
from prophase.trace.trace_tables import Trace, open_trace


def trace_of(nodes: dict | None = None, **columns: list) -> Trace:
    jobs = pd.DataFrame(columns)
    jobs.insert(0, "job_id", [str(n) for n in range(len(jobs))])
    tables = {"jobs": jobs}
    if nodes is not None:
        tables["nodes"] = pd.DataFrame(nodes)
    return Trace(tables, "hand-made", "")


def here(trace: Trace, name: str) -> list[float | None]:
    (finding,) = published_findings(trace, only=[name])
    return [figure.here for figure in finding.figures]


def reasons(trace: Trace, name: str) -> list[str]:
    (finding,) = published_findings(trace, only=[name])
    return [figure.reason for figure in finding.figures]


def test_scale_counts_roles_of_a_job_once():
    trace = trace_of(
        {"node_id": ["n1", "n2"], "gpus": [8.0, 2.0]},
        parent_id=["a", "a", "a", "b"],
        task=["worker", "worker", "ps", "worker"],
        user=["u", "u", "u", "v"],
        instances=[1.0, 1.0, 1.0, 5.0],
    )
    assert here(trace, "scale") == [10.0, 2.0, 3.0, 8.0, 2.0]


def test_gangs_weigh_rows_by_their_instances():
    assert here(trace_of(gang_size=[1.0, 4.0], instances=[1.0, 1.0]), "gangs") == [50.0]
    assert here(trace_of(instances=[1.0, 4.0]), "gangs") == [80.0]
    rows_are_instances = trace_of(instances=[1.0, 1.0])
    assert reasons(rows_are_instances, "gangs") == ["column gang_size missing"]


def test_short_and_long_are_split_at_the_median_run_time():
    trace = trace_of(wait_s=[20.0, 1.0, 500.0, 1.0], duration_s=[10.0, 10.0, 100.0, 100.0])
    # the median is 55 s: of two short ones one waits longer than it runs, of two long ones one
    assert here(trace, "mostly_waiting") == [50.0, 50.0]


def test_waits_are_split_by_sharing_and_by_type():
    trace = trace_of(
        wait_s=[1.0, 2.0, 3.0, 100.0],
        request_gpus=[0.5, 0.5, 1.0, 8.0],
        gpu_type=["T4", None, "V100", "V100M32"],
        after_gpu_type=["T4", "P100", "T4", None],
    )
    assert here(trace, "sharing_waits") == [2.0, 100.0]
    assert here(trace, "waits_by_type") == [3.0, 100.0, 1.0, 2.0]


def test_undisclosed_types_and_mixed_choices():
    types = pd.Series(["A100-SXM4", "1080Ti", "V100M16|V100M32", "T4|V100", "G3", "CPU", None])
    assert high_end(types).tolist() == [1, 0, 1, 0, -1, -1, -1]


def test_requests_count_instances_that_ask_for_something():
    trace = trace_of(request_gpus=[0.0, 1.0, 4.0], instances=[50.0, 90.0, 10.0])
    assert here(trace, "large_requests")[2:4] == [4.0, 4.0]
    assert reasons(trace, "large_requests")[0] == "column request_cpu_cores missing"


def test_use_is_compared_with_requests_per_task():
    trace = trace_of(
        parent_id=["a", "a", "b"],
        task=["w", "w", "w"],
        request_gpus=[0.5, 0.5, 1.0],
        gpu_util_mean_pct=[80.0, 10.0, 100.0],
        request_cpu_cores=[4.0, 4.0, 4.0],
        cpu_mean_cores=[9.0, 1.0, 1.0],
    )
    cpu, gpu, memory = here(trace, "over_asked")
    # task a: mean use 5 of 4 cores, 0.45 of 0.5 GPU; task b uses exactly its GPU
    assert (cpu, gpu, memory) == (50.0, 50.0, None)
    assert here(trace, "median_gpu") == [0.5, 0.8]


def test_sharing_saves_what_rounding_up_would_add():
    trace = trace_of(
        start_s=[0.0, 0.0, 100.0], duration_s=[100.0, 100.0, 100.0], request_gpus=[0.5, 0.5, 1.0]
    )
    # first half: 1 GPU instead of 2; second half: 1 and 1
    mean, most, gpus = here(trace, "sharing_saves")
    assert mean == pytest.approx(100 / 3)
    assert most == pytest.approx(50.0)
    assert gpus == pytest.approx(1.0)


def test_only_what_had_ended_predicts():
    trace = trace_of(
        group=["g"] * 5 + ["h"],
        submit_s=[0.0, 1.0, 200.0, 400.0, 600.0, 0.0],
        duration_s=[100.0, 100.0, 100.0, 100.0, 1000.0, 5.0],
    )
    often, close = here(trace, "recurring")
    assert often == pytest.approx(100 * 5 / 6)
    # the first two have no past; two of the other three are like it
    assert close == pytest.approx(100 * 2 / 3)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 50), st.integers(1, 30)),
        min_size=1,
        max_size=30,
    )
)
def test_past_means_agree_with_a_plain_loop(rows):
    code, time, duration = (np.array(part) for part in zip(*rows, strict=True))
    code = np.unique(code, return_inverse=True)[1]
    end = time + duration
    found = past_means(code, time.astype(float), end.astype(float), duration.astype(float))
    for row in range(len(code)):
        past = duration[(code == code[row]) & (end <= time[row])]
        assert found[row] == pytest.approx(past.mean() if past.size else np.nan, nan_ok=True)


def test_nodes_are_compared_with_the_jobs_that_ran_on_them():
    trace = trace_of(
        {
            "node_id": ["strong", "weak", "small"],
            "cpu_cores": [96.0, 96.0, 96.0],
            "gpus": [8.0, 8.0, 2.0],
            "gpu_type": ["V100", "MISC", "T4"],
        },
        after_node=["strong", "weak", "small", "unknown"],
        start_s=[0.0, 0.0, 50.0, 0.0],
        duration_s=[100.0, 50.0, 50.0, 100.0],
        request_cpu_cores=[48.0, 96.0, 6.0, 1.0],
        request_gpus=[4.0, 4.0, 1.0, 1.0],
    )
    assert here(trace, "cpu_per_gpu") == [12.0, 18.0, 8.0]
    assert here(trace, "allocation") == [50.0, 25.0, 50.0, 50.0]


def test_the_cpu_of_the_node_is_taken_beside_instances_slower_than_their_group():
    trace = trace_of(
        group=["g"] * 4,
        duration_s=[10.0, 10.0, 10.0, 40.0],
        after_machine_cpu=[1.0, 2.0, 3.0, 77.0],
    )
    assert here(trace, "cpu_bottleneck") == [77.0, None, None]


def test_what_needs_a_replay_says_the_command():
    for name in ("shortest_first", "pai_simulator"):
        assert all("prophase simulate" in reason for reason in reasons(trace_of(), name))


def test_an_unknown_finding_is_named_with_its_nearest():
    with pytest.raises(ParameterError, match="Did you mean 'recurring'"):
        published_findings(trace_of(), only=["recuring"])


_NUMBER = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0, 8.0]), st.floats(0, 1e9))
_WORD = st.one_of(st.none(), st.sampled_from(["a", "b", "V100", "T4", "G2", "V100|T4", ""]))
_NUMBERS = (
    "submit_s start_s duration_s wait_s instances gang_size request_cpu_cores request_memory_gib "
    "request_gpus cpu_mean_cores memory_mean_gib gpu_util_mean_pct after_machine_cpu"
).split()
_WORDS = "parent_id user group name task gpu_type after_node after_gpu_type".split()


@st.composite
def any_trace(draw: st.DrawFn) -> Trace:
    def table(numbers: list[str], words: list[str], key: str) -> pd.DataFrame:
        rows = draw(st.integers(0, 6))
        frame = pd.DataFrame({key: [f"n{n}" for n in range(rows)]}, dtype="str")
        for names, values, kind in ((numbers, _NUMBER, "float64"), (words, _WORD, "str")):
            for name in names:
                if draw(st.booleans()):
                    drawn = draw(st.lists(values, min_size=rows, max_size=rows))
                    frame[name] = pd.Series(drawn, dtype=kind)
        return frame

    tables = {}
    if draw(st.integers(0, 9)):
        tables["jobs"] = table(_NUMBERS, _WORDS, "job_id")
    if draw(st.booleans()):
        tables["nodes"] = table(["cpu_cores", "gpus"], ["gpu_type"], "node_id")
    return Trace(tables, "drawn", "")


@settings(max_examples=150, deadline=None)
@given(any_trace())
def test_any_trace_gives_a_finite_number_or_a_reason_for_every_figure(trace):
    found = published_findings(trace)
    assert [one.key for one in found] == list(FINDINGS)
    for figure in (figure for one in found for figure in one.figures):
        assert (figure.here is None) == bool(figure.reason)
        if figure.here is not None:
            assert math.isfinite(figure.here)
            assert figure.here >= -1e-6
            if figure.unit == "%" and "allocated" not in figure.what:
                assert figure.here <= 100 * (1 + 1e-9) or "CPU use of the node" in figure.what
        assert figure.here_words
        assert figure.published_words


@pytest.mark.data
def test_the_pai_sample_has_the_published_nodes_and_requests(shared_data: Path):
    trace = open_trace(shared_data / "pai", source="pai2020")
    assert here(trace, "scale")[:2] == [6742.0, 1897.0]
    assert here(trace, "median_gpu")[0] == 0.5
    offered, _, small = here(trace, "cpu_per_gpu")
    assert offered == 12.0
    assert small > 2
    assert here(trace, "over_asked")[1] > 90
    assert reasons(trace, "mostly_waiting") == ["column wait_s missing"] * 2


@pytest.mark.data
@pytest.mark.parametrize(
    ("path", "computed"),
    [
        ("philly/philly.csv.gz", {"scale", "large_requests", "sharing_saves"}),
        ("openb", {"scale", "mostly_waiting", "sharing_waits", "cpu_per_gpu", "sharing_saves"}),
        ("mit-supercloud", {"scale", "gangs", "mostly_waiting", "large_requests"}),
        ("helios-earth", set()),
    ],
)
def test_real_traces_tell_what_their_columns_allow(shared_data: Path, path: str, computed: set):
    found = published_findings(open_trace(shared_data / path))
    told = {one.key for one in found if any(figure.here is not None for figure in one.figures)}
    assert computed <= told
    assert not computed or not told & {"sharing_costs", "shortest_first"}
    reason = {f.reason for one in found for f in one.figures if one.key == "recurring"}
    assert reason & {"column group or name missing", "table jobs missing"}


def test_findings_fit_into_json():
    from dataclasses import asdict

    json.dumps([asdict(one) for one in published_findings(trace_of(user=["a"]))], allow_nan=False)
