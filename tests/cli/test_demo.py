from __future__ import annotations

import json


def test_the_demo_ends_with_a_report_that_stands_alone(prophase, tmp_path):
    done = prophase("demo", "d", "--quick", "--format", "json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["lint"]["errors"] == 0
    waits = {(row["queue"], row["order"]): row["mean_wait_s"] for row in answer["replay"]}
    assert waits["skip", "shortest"] < waits["skip", "fifo"] < waits["strict", "fifo"]
    page = (tmp_path / "d" / "report.html").read_text(encoding="utf-8")
    assert "What other queue orders would do" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_the_demo_leaves_a_workspace_with_other_tables_alone(prophase):
    assert prophase("synth", "pai", "--jobs", "50", "--out", "mine").returncode == 0
    before = prophase("show", "mine").stdout
    refused = prophase("demo", "mine", "--quick")
    assert refused.returncode == 1
    assert "mine: already has jobs from synth-pai" in refused.stderr
    assert prophase("show", "mine").stdout == before


def test_the_demo_may_be_run_again(prophase):
    assert prophase("demo", "d", "--quick").returncode == 0
    assert prophase("demo", "d", "--quick", "--seed", "1").returncode == 0
