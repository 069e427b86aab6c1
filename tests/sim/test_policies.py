from __future__ import annotations

import subprocess
import sys

import pytest

from prophase.errors import ParameterError
from prophase.sim.policies import named, order_policies, place_policies

_REPLAY = """
import sys
import pandas as pd
from prophase.sim import Cluster, Workload, simulate
jobs = pd.DataFrame({"job_id": ["a"], "submit_s": [0.0], "duration_s": [5.0]})
simulate(Workload.from_jobs(jobs), Cluster.uniform(2, 8), place="worst_fit")
print(*sorted(name for name in sys.modules if name.startswith(("prophase.sim.place.", "ibis"))))
"""


def test_every_policy_bears_the_name_of_its_file():
    for known in (order_policies(), place_policies()):
        assert len(known) == len(list(known))
        for name, policy in known.items():
            assert policy.name == name


def test_a_policy_of_another_name_is_refused_and_the_nearest_suggested():
    assert "tightest_gpu" not in place_policies()
    with pytest.raises(ParameterError, match="dot_product"):
        named("dotproduct", place_policies(), "place")


def test_a_replay_loads_only_the_policy_it_uses_and_no_table_engine():
    done = subprocess.run(
        [sys.executable, "-c", _REPLAY], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [
        "prophase.sim.place.tightest_gpu",
        "prophase.sim.place.worst_fit",
    ]
