from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.plots.illustrations import with_why_figures
from prophase.plots.result_files import page_html
from prophase.plots.why import why_figures
from prophase.sim import Cluster, Workload
from prophase.sim.why.explanation import why
from prophase.sim.why.result import why_result


def answer(queue: str = "strict", cluster: str = "2x4 V100, 1x4"):
    rng = np.random.default_rng(1)
    jobs = pd.DataFrame({"job_id": range(300), "submit_s": np.sort(rng.uniform(0, 3e5, 300))})
    jobs["duration_s"] = rng.lognormal(8, 1, 300)
    jobs["request_gpus"] = rng.choice([1.0, 2.0, 4.0], 300)
    return why(Workload.from_jobs(jobs), Cluster.parse(cluster), queue=queue, clock="unix")


def test_every_part_of_an_answer_has_its_figure():
    drawn = {one.key: one.figure for one in why_figures(answer())}
    assert list(drawn) == ["causes", "classes", "blockers", "idle_0", "idle_1"]
    labels = [tick.get_text() for tick in drawn["causes"].axes[0].get_yticklabels()]
    assert "order\nwhoever fits may start" in labels
    assert drawn["idle_1"].axes[0].get_title(loc="left") == "Idle GPUs"


def test_without_waits_only_idle_gpus_are_drawn_and_the_page_still_stands():
    idle = answer("skip", "300x4")
    assert [one.key for one in why_figures(idle)] == ["idle_0"]
    assert "Nobody waits" in page_html(with_why_figures(why_result(idle), idle))


def test_the_page_shows_shares_beside_effects_and_says_what_causes_mean():
    found = answer()
    text = page_html(with_why_figures(why_result(found), found))
    for words in (
        "What would help",
        "Shares explain it",
        "at_root_pct",
        "What the jobs in the way lacked",
        "Idle GPUs",
    ):
        assert words in text
