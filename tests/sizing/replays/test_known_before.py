from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.sizing.recommender import learn_recommender
from prophase.sizing.replays.task_runs import known_before, known_of
from prophase.sizing.resources import RESOURCES
from prophase.trace.identity.job_identity import rule_of, with_identity


@pytest.mark.parametrize("resource", RESOURCES)
def test_one_job_is_known_as_its_row_of_a_table_is(resource: str) -> None:
    jobs = with_identity(
        pd.DataFrame(
            {
                "user": ["ann", "bob", "ann"],
                "name": ["fit_lr3e-4_0017", "fit_lr1e-3_0018", "prep"],
                "request_memory_gib": [8.0, np.nan, 2.0],
                "request_cpu_cores": [4, 2, 1],
                "request_gpus": [0.5, 1.2, np.nan],
                "time_limit_s": [3600.0, 60.0, np.nan],
                "submit_s": [1.0, 2.0, 3.0],
                "attr_batch": [32.0, np.nan, 8.0],
                "attr_image": ["a:1", None, "b"],
                "attr_input_bytes": [2.0**31, np.nan, 1.0],
                "queue": ["long", "short", None],
            }
        ),
        by="user,name",
    )
    what = RESOURCES[resource]
    rule = rule_of(jobs)
    assert rule is not None
    for row, told in zip(
        jobs.to_dict("records"), known_before(jobs, "strict", what)[1], strict=True
    ):
        known = {name: value for name, value in row.items() if value is not None and value == value}
        assert known_of(known, what, rule) == told
    assert known_before(jobs, "strict", what)[1][0]["lr"] == 3e-4


def test_numbers_of_a_name_tell_how_much_a_job_needs() -> None:
    rng = np.random.default_rng(1)
    batch = rng.choice([8, 16, 32, 64, 128], 400)
    jobs = pd.DataFrame(
        {
            "job_id": [f"j{i}" for i in range(400)],
            "user": "ann",
            "name": [f"fit_{i:04d}_bs{size}" for i, size in enumerate(batch)],
            "submit_s": 700.0 * np.arange(400),
            "duration_s": 600.0,
            "request_memory_gib": 64.0,
            "memory_peak_gib": 0.2 * batch * rng.uniform(0.98, 1.02, 400),
            "status": "completed",
        }
    )
    found = learn_recommender(with_identity(jobs, by="user,name"), resources=["memory"])
    asked = {"user": "ann", "request_memory_gib": 64.0, "submit_s": 1e6}
    small, large = (
        found.recommend({**asked, "name": f"fit_0999_bs{size}"})[0] for size in (8, 128)
    )
    assert small.task == large.task == "ann/fit_#_bs#"
    assert small.ladder[0] < 4 < 25 < large.ladder[0]
    assert large.chance is not None
