from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.phase.detector import PhaseDetector
from prophase.phase.phase_demand import killed_share, phase_demand
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.rules.demand import PhasedDemand


def usage(names: str, seed: int) -> pd.DataFrame:
    """Series that load 8 GiB for 20 samples and keep 2 for 40, several times."""
    rng, parts = np.random.default_rng(seed), []
    for name in names:
        gib = np.tile(np.repeat([8.0, 2.0], [20, 40]), 3) + rng.normal(0.0, 0.05, 180)
        times = 10.0 * np.arange(180)
        parts.append(pd.DataFrame({"series_id": name, "time_s": times, "memory_gib": gib}))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def detector() -> PhaseDetector:
    return PhaseDetector(n_phases=2, window=1).fit(usage("abc", 0))


def test_a_phase_holds_what_it_was_seen_to_need(detector: PhaseDetector) -> None:
    table = phase_demand(detector, usage("x", 1))
    assert table["memory_gib"].round().tolist() == [8.0, 2.0] * 3
    assert np.diff(table["after_s"]) == pytest.approx([200.0, 400.0] * 2 + [200.0], abs=21.0)
    tight = phase_demand(detector, usage("x", 1), hold="q50")
    assert killed_share(tight) == 1.0
    assert (tight["memory_gib"] < table["memory_gib"]).all()


def test_jobs_packed_by_phase_end_sooner_than_packed_by_request(detector: PhaseDetector) -> None:
    series = usage("xy", 1)
    jobs = pd.DataFrame({"job_id": ["x", "y"], "submit_s": 0.0, "duration_s": 1800.0})
    workload = Workload.from_jobs(jobs.assign(request_gpus=0.0, request_memory_gib=9.0))
    cluster = Cluster.parse("1x0 11g")
    table = phase_demand(detector, series).drop(columns="used_memory_gib")
    by_request, by_phase = (
        simulate(workload, cluster, **rule) for rule in ({}, {"demand": PhasedDemand(table)})
    )
    assert by_request.end_s.max() == 3600.0
    assert by_phase.end_s.max() < 3000.0


def test_what_cannot_be_packed_by_is_said(detector: PhaseDetector) -> None:
    with pytest.raises(ParameterError, match="hold 'most' is unknown"):
        phase_demand(detector, usage("x", 1), hold="most")
    other = usage("ab", 2).rename(columns={"memory_gib": "gpu_util_pct"})
    found = PhaseDetector(n_phases=2, window=1).fit(other)
    with pytest.raises(InputError, match="learn them from memory_gib or cpu_cores"):
        phase_demand(found, other)
