from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.plots.result_files import page_html
from prophase.plots.validation import validation_figures
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.validation.result import validation_result
from prophase.sim.validation.wait_validation import Validation, validate, without_outcomes


@pytest.fixture
def found() -> Validation:
    rng = np.random.default_rng(0)
    jobs = pd.DataFrame({"job_id": [f"j{i}" for i in range(400)]})
    jobs["submit_s"] = np.cumsum(rng.exponential(900.0, 400))
    jobs["duration_s"], jobs["request_gpus"] = rng.lognormal(8, 1, 400), rng.choice([1.0, 2.0], 400)
    jobs["wait_s"] = rng.exponential(500.0, 400)
    return validate(
        jobs, simulate(Workload.from_jobs(without_outcomes(jobs)), Cluster.uniform(2, 4))
    )


def test_the_figures_show_both_sides(found: Validation) -> None:
    drawn = {one.key: one.figure for one in validation_figures(found)}
    assert list(drawn) == ["wait-distributions", "wait-quantiles"]
    labels = [line.get_label() for line in drawn["wait-distributions"].axes[0].lines]
    assert labels == ["observed", "simulated"]
    named = drawn["wait-quantiles"].axes[0].get_legend_handles_labels()[1]
    assert "all jobs" in named
    assert len(named) > 1


def test_the_page_says_what_the_simulation_is_valid_for(found: Validation) -> None:
    result = validation_result(found).illustrated(lambda: validation_figures(found))
    text = page_html(result)
    assert "Not valid." in text
    assert "not valid for the mean wait" in text.replace("&#x27;", "'")
    assert "Limits: mean off by 15" in text
    assert text.count("<figure>") == 2


def test_nobody_waiting_is_drawn_too(found: Validation) -> None:
    jobs = pd.DataFrame({"job_id": [f"j{i}" for i in range(20)], "duration_s": 1.0})
    jobs["submit_s"], jobs["wait_s"] = 10.0 * jobs.index, 0.0
    schedule = simulate(Workload.from_jobs(without_outcomes(jobs)), Cluster.uniform(1, 1))
    assert len(list(validation_figures(validate(jobs, schedule)))) == 2
