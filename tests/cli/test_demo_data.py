from __future__ import annotations

import numpy as np

from prophase.cli.demo_data import FIRST_MONDAY, scheduled
from prophase.trace.synth.pai import make_pai


def test_what_runs_at_a_time_fits_on_the_nodes_of_the_demo_and_has_dates() -> None:
    drawn = make_pai(400, days=2.0, utilisation=0.8, random_state=3)
    trace = scheduled(drawn, 2.0)
    jobs = trace.jobs
    assert jobs["submit_s"].min() >= FIRST_MONDAY.timestamp()
    assert FIRST_MONDAY.weekday() == 0
    last = FIRST_MONDAY.timestamp() + 2 * 86400
    held = (jobs["request_gpus"].fillna(0) * jobs["instances"]).to_numpy(float)
    start, end = jobs["start_s"].to_numpy(float), jobs["end_s"].fillna(last).to_numpy(float)
    ran = ~np.isnan(start)
    moments = np.concatenate([start[ran], end[ran]])
    change = np.concatenate([held[ran], -held[ran]])
    # what ends at a moment is free for what starts then
    order = np.lexsort((change, moments))
    assert change[order].cumsum().max() <= trace.nodes["gpus"].sum() + 1e-6
    assert (jobs["wait_s"].dropna() >= 0).all()
    assert set(jobs["status"]) <= {"completed", "failed", "running", "pending"}
    assert jobs["duration_s"].notna().equals(jobs["status"].isin(["completed", "failed"]))
    assert trace.data_hash != drawn.data_hash
