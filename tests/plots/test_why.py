from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.plots.page import render
from prophase.plots.why import figures, why_page
from prophase.sim import Cluster, Workload
from prophase.sim.why.explanation import why


def answer(queue: str = "strict", cluster: str = "2x4 V100, 1x4"):
    rng = np.random.default_rng(1)
    jobs = pd.DataFrame({"job_id": range(300), "submit_s": np.sort(rng.uniform(0, 3e5, 300))})
    jobs["duration_s"] = rng.lognormal(8, 1, 300)
    jobs["request_gpus"] = rng.choice([1.0, 2.0, 4.0], 300)
    return why(Workload.from_jobs(jobs), Cluster.parse(cluster), queue=queue, clock="unix")


def test_every_part_of_an_answer_has_its_figure():
    drawn = figures(answer())
    assert list(drawn) == ["causes", "classes", "blockers", "idle_0", "idle_1"]
    labels = [tick.get_text() for tick in drawn["causes"][0].axes[0].get_yticklabels()]
    assert "order\nwhoever fits may start" in labels
    assert drawn["idle_1"][0].axes[0].get_title(loc="left") == "Idle GPUs"


def test_without_waits_only_idle_gpus_are_drawn_and_the_page_still_stands():
    idle = answer("skip", "300x4")
    assert list(figures(idle)) == ["idle_0"]
    assert "Nobody waits" in render(why_page(idle, {}))


def test_the_page_shows_shares_beside_effects_and_says_what_causes_mean():
    text = render(why_page(answer(), {"source": "<mine>"}))
    for words in (
        "Causes and effects",
        "at_root_pct",
        "What the jobs in the way lacked",
        "&lt;mine",
    ):
        assert words in text
