"""Every kind of defect, put into an otherwise sound trace, is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from prophase.trace.lint.linter import lint_tables

Tables = dict[str, pd.DataFrame]


class Defect(NamedTuple):
    kind: str
    seed: Callable[[Tables], None]
    check: str
    place: str
    severity: str
    #: rows that have the defect; None where the count is not exact by nature
    rows: int | None


def change(table: str, column: str, rows: slice, to: Callable[[pd.Series], object]):
    def seed(tables: Tables) -> None:
        frame = tables[table]
        places = frame.index[rows]
        frame.loc[places, column] = to(frame.loc[places, column])

    return seed


def repeat_ids(tables: Tables) -> None:
    ids = tables["jobs"]["job_id"].tolist()
    tables["jobs"]["job_id"] = [*ids[:-30], *(f"{name}#2" for name in ids[:30])]


def copy_jobs(tables: Tables) -> None:
    jobs = tables["jobs"]
    copies = jobs.iloc[:25].assign(job_id=[f"copy{i}" for i in range(25)])
    tables["jobs"] = pd.concat([jobs, copies], ignore_index=True)


def fan_out(tables: Tables) -> None:
    """Join the workers of a run with all measurements of that run, as on a run's id."""
    used = ["cpu_mean_cores", "memory_mean_gib", "memory_peak_gib", "gpu_util_mean_pct"]
    jobs = tables["jobs"].iloc[:400]
    joined = jobs.drop(columns=used).merge(jobs[["parent_id", *used]], on="parent_id")
    copy = joined.groupby("job_id").cumcount()
    joined["job_id"] += np.where(copy == 0, "", "#" + (copy + 1).astype(str))
    tables["jobs"] = joined


def fan_out_with_new_ids(tables: Tables) -> None:
    fan_out(tables)
    tables["jobs"]["job_id"] = [f"row{i}" for i in range(len(tables["jobs"]))]


def percent_error(tables: Tables) -> None:
    rng = np.random.default_rng(3)
    truth = tables["jobs"]["duration_s"].to_numpy()
    guess = truth * np.exp(rng.normal(0, 1.0, len(truth)))
    tables["errors"] = pd.DataFrame(
        {"true_s": truth, "predicted_s": guess, "error_pct": np.abs(guess - truth) / truth}
    )


def split_in_rows(tables: Tables) -> None:
    jobs = tables["jobs"]
    jobs["attr_split"] = np.where(np.arange(len(jobs)) % 2, "test", "train")


def split_with_the_same_job(tables: Tables) -> None:
    jobs = tables["jobs"]
    jobs["attr_split"] = np.where(np.arange(len(jobs)) < 1000, "train", "test")
    again = jobs.iloc[:10].assign(attr_split="test")
    again["job_id"] += "#2"
    tables["jobs"] = pd.concat([jobs, again], ignore_index=True)


def reveal(column: str, of: str):
    def seed(tables: Tables) -> None:
        tables["jobs"][column] = tables["jobs"][of] * 3 + 1

    return seed


def reveal_in_words(tables: Tables) -> None:
    jobs = tables["jobs"]
    rounded = np.exp(np.round(np.log(jobs["duration_s"]) * 4) / 4)
    jobs["duration_s"] = rounded
    jobs["end_s"] = jobs["start_s"] + rounded
    jobs["attr_class"] = "class " + pd.Series(rounded).round(3).astype(str)


def swap_submit(tables: Tables) -> None:
    jobs = tables["jobs"]
    jobs.loc[:39, "submit_s"] = jobs.loc[:39, "start_s"] + 100.0


def cut_at_the_end(tables: Tables) -> None:
    jobs = tables["jobs"]
    last = jobs["submit_s"].max()
    late = jobs["end_s"] > last - 20000
    jobs.loc[late, "end_s"] = last
    jobs["start_s"] = np.minimum(jobs["start_s"], jobs["end_s"])
    jobs["submit_s"] = np.minimum(jobs["submit_s"], jobs["start_s"])
    jobs["duration_s"] = jobs["end_s"] - jobs["start_s"]


def lose_capacity(tables: Tables) -> None:
    tables["nodes"].loc[:2, ["cpu_cores", "memory_gib", "gpus"]] = np.nan


def set_clock_back(tables: Tables) -> None:
    usage = tables["usage"]
    usage.loc[50:99, "time_s"] -= 3600.0


def shorten(tables: Tables) -> None:
    usage = tables["usage"]
    place = usage.groupby("series_id").cumcount()
    tables["usage"] = usage[(place < 5) | (usage["series_id"] < "pod15")].reset_index(drop=True)


def mix_time_units(tables: Tables) -> None:
    jobs = tables["jobs"]
    jobs.loc[:299, "duration_s"] = 1000 * (jobs["end_s"] - jobs["start_s"])


def add(column: str, value: Callable[[int], object]):
    def seed(tables: Tables) -> None:
        tables["jobs"][column] = value(len(tables["jobs"]))

    return seed


def mostly(placeholder: float):
    def values(rows: int) -> np.ndarray:
        return np.where(np.arange(rows) % 5 < 4, placeholder, np.arange(rows, dtype=float))

    return values


DEFECTS = [
    Defect("repeated ids", repeat_ids, "repeated-id", "jobs.job_id", "warning", 30),
    Defect("copied jobs", copy_jobs, "duplicate-jobs", "jobs", "warning", 25),
    Defect("fan-out join", fan_out, "fan-out-join", "jobs", "error", 800),
    Defect("fan-out, new ids", fan_out_with_new_ids, "fan-out-join", "jobs", "warning", 800),
    Defect("repeated node", change("nodes", "node_id", slice(1, 3), lambda _: "node0"),
           "repeated-node", "nodes.node_id", "warning", 2),
    Defect("zero durations", change("jobs", "duration_s", slice(0, 20), lambda _: 0.0),
           "zero-duration", "jobs.duration_s", "warning", 20),
    Defect("negative durations", change("jobs", "duration_s", slice(0, 20), lambda x: -x),
           "negative-duration", "jobs.duration_s", "error", 20),
    Defect("durations of years", change("jobs", "duration_s", slice(0, 3), lambda _: 4e7),
           "absurd-duration", "jobs.duration_s", "warning", 3),
    Defect("durations of centuries", change("jobs", "duration_s", slice(0, 100), lambda _: 4e9),
           "absurd-duration", "jobs.duration_s", "error", 100),
    Defect("durations in ms", mix_time_units, "duration-unit", "jobs.duration_s", "error", 300),
    Defect("pauses in durations", change("jobs", "duration_s", slice(0, 50), lambda x: x / 3),
           "duration-disagrees", "jobs.duration_s", "warning", 50),
    Defect("start before submit", swap_submit, "start-before-submit", "jobs.start_s", "warning",
           40),
    Defect("end before start", change("jobs", "end_s", slice(0, 9), lambda x: x - 1e8),
           "end-before-start", "jobs.end_s", "error", 9),
    Defect("clock in ms", change("jobs", "submit_s", slice(None), lambda x: x * 1000),
           "clock-unit", "jobs.submit_s", "error", 2000),
    Defect("time zero for unknown", change("jobs", "start_s", slice(0, 12), lambda _: 0.0),
           "clock-outlier", "jobs.start_s", "warning", 12),
    Defect("times to come", change("jobs", "end_s", slice(None), lambda x: x + 3e9),
           "future-time", "jobs.end_s", "error", 2000),
    Defect("still running", change("jobs", "end_s", slice(0, 60), lambda _: np.nan),
           "still-running", "jobs.end_s", "warning", 60),
    Defect("cut at the end", cut_at_the_end, "ends-at-trace-end", "jobs.end_s", "warning", None),
    Defect("memory in MiB", change("jobs", "memory_peak_gib", slice(None), lambda x: x * 1024),
           "request-against-use", "jobs.memory_peak_gib", "error", 2000),
    Defect("memory in KiB", change("jobs", "request_memory_gib", slice(None), lambda x: x * 2**20),
           "memory-unit", "jobs.request_memory_gib", "error", 2000),
    Defect("some memory in MiB", change("jobs", "memory_peak_gib", slice(0, 200),
           lambda x: x * 1024),
           "mixed-units", "jobs.memory_peak_gib", "warning", 200),
    Defect("some requests in MB", change("jobs", "request_memory_gib", slice(0, 100),
           lambda x: x * 1000), "mixed-units", "jobs.request_memory_gib", "warning", 100),
    Defect("mean in MiB, peak in GiB", change("jobs", "memory_mean_gib", slice(0, 500),
           lambda x: x * 1024), "mean-above-peak", "jobs.memory_mean_gib", "error", 500),
    Defect("millicores", change("jobs", "request_cpu_cores", slice(None), lambda x: x * 1000),
           "core-unit", "jobs.request_cpu_cores", "warning", 2000),
    Defect("percent of GPUs", change("jobs", "request_gpus", slice(None), lambda x: x * 100),
           "core-unit", "jobs.request_gpus", "warning", 2000),
    Defect("fraction as percent", change("jobs", "gpu_util_mean_pct", slice(None),
           lambda x: x / 100),
           "fraction-as-percent", "jobs.gpu_util_mean_pct", "warning", 2000),
    Defect("percent as fraction", lambda t: t["usage"].insert(2, "memory_util_frac",
           t["usage"]["cpu_util_pct"]), "percent-as-fraction", "usage.memory_util_frac", "warning",
           2000),
    Defect("ratio as percent", percent_error, "ratio-as-percent", "errors.error_pct", "warning",
           2000),
    Defect("memory above request", change("jobs", "request_memory_gib", slice(0, 400),
           lambda _: 0.1),
           "use-above-request", "jobs.memory_peak_gib", "warning", 400),
    Defect("use above the node", change("jobs", "memory_peak_gib", slice(0, 8), lambda _: 900.0),
           "use-above-node", "jobs.memory_peak_gib", "warning", 8),
    Defect("request above every node", change("jobs", "request_gpus", slice(0, 5), lambda _: 16.0),
           "request-above-every-node", "jobs.request_gpus", "warning", 5),
    Defect("a type held twice over", change("nodes", "gpus", slice(None), lambda _: 1e-3),
           "demand-above-capacity", "jobs.request_gpus", "warning", None),
    Defect("nodes without capacity", lose_capacity, "node-without-capacity", "nodes", "warning", 3),
    Defect("use above 100 %", change("usage", "cpu_util_pct", slice(0, 90), lambda x: x + 300),
           "use-above-limit", "usage.cpu_util_pct", "warning", 90),
    Defect("series set back", set_clock_back, "series-goes-back", "usage.time_s", "warning", 1),
    Defect("repeated samples", change("usage", "time_s", slice(10, 20), lambda _: 1.6e9 + 311),
           "repeated-sample", "usage.time_s", "warning", 9),
    Defect("series clock jumps", change("usage", "time_s", slice(50, 100), lambda x: x + 3e7),
           "series-gap", "usage.time_s", "warning", 1),
    Defect("short series", shorten, "short-series", "usage.series_id", "warning", None),
    Defect("same job in both splits", split_with_the_same_job, "split-shares-jobs", "test.job_id",
           "error", 10),
    Defect("same run in both splits", split_in_rows, "split-shares-jobs", "test.parent_id", "error",
           1000),
    Defect("training sees the future", split_in_rows, "split-shares-time", "jobs.end_s", "warning",
           None),
    Defect("hidden duration", reveal("attr_score", "duration_s"), "hidden-outcome",
           "jobs.attr_score", "warning", 2000),
    Defect("hidden memory", reveal("attr_score", "memory_peak_gib"), "hidden-outcome",
           "jobs.attr_score", "warning", 2000),
    Defect("hidden end", lambda t: t["jobs"].insert(3, "attr_deadline", t["jobs"]["end_s"]),
           "hidden-outcome", "jobs.attr_deadline", "warning", 2000),
    Defect("hidden class", reveal_in_words, "hidden-outcome", "jobs.attr_class", "warning", 2000),
    Defect("constant measurement", change("jobs", "gpu_util_mean_pct", slice(None), lambda _: 42.0),
           "constant-column", "jobs.gpu_util_mean_pct", "warning", 2000),
    Defect("all submitted at once", change("jobs", "submit_s", slice(None), lambda _: 0.0),
           "constant-column", "jobs.submit_s", "warning", 2000),
    Defect("empty column", add("attr_script", lambda n: [None] * n), "empty-column",
           "jobs.attr_script", "warning", 2000),
    Defect("mostly -1", add("attr_nice", mostly(-1.0)), "placeholder-value", "jobs.attr_nice",
           "warning", 1600),
    Defect("mostly 4294967295", add("time_limit_s", mostly(4294967295.0)), "placeholder-value",
           "jobs.time_limit_s", "warning", 1600),
    Defect("mostly 9.2e18", add("attr_memory", mostly(2.0**63)), "placeholder-value",
           "jobs.attr_memory", "warning", 1600),
    Defect("memory of 0", change("jobs", "memory_peak_gib", slice(0, 600), lambda _: 0.0),
           "placeholder-value", "jobs.memory_peak_gib", "warning", 600),
]  # fmt: skip


def test_a_sound_trace_gives_no_finding_above_info(sound):
    report = lint_tables(sound, clock="unix")
    assert [f for f in report.findings if f.severity != "info"] == []
    assert report.sound


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda d: d.kind.replace(" ", "-"))
def test_a_seeded_defect_is_found_explained_and_counted(sound, defect):
    defect.seed(sound)
    found = {(f.check, f.place): f for f in lint_tables(sound).findings}
    finding = found.get((defect.check, defect.place))
    assert finding is not None, (
        f"only found {[k for k, f in found.items() if f.severity != 'info']}"
    )
    assert finding.severity == defect.severity
    assert defect.rows in (None, finding.rows)
    assert 0 < finding.share <= 1
    assert len(finding.explanation) > 40
    assert len(finding.advice) > 15


def test_more_than_fifteen_kinds_of_defect_are_seeded_at_warning_or_error():
    assert len({defect.check for defect in DEFECTS}) >= 30
    assert all(defect.severity in ("error", "warning") for defect in DEFECTS)


def test_examples_name_the_rows_that_have_the_defect(sound):
    sound["jobs"].loc[[7, 9], "duration_s"] = 0.0
    zero = next(f for f in lint_tables(sound).findings if f.check == "zero-duration")
    assert zero.where == ("s0-00007", "s0-00009")


def test_jobs_out_of_submission_order_are_a_remark(sound):
    sound["jobs"] = sound["jobs"].iloc[::-1]
    found = {f.check: f.severity for f in lint_tables(sound).findings}
    assert found["unsorted-jobs"] == "info"
    assert "warning" not in found.values()


def test_a_silent_month_is_a_remark(sound):
    jobs = sound["jobs"]
    jobs.loc[1000:, ["submit_s", "start_s", "end_s"]] += 30 * 86400.0
    found = {f.check: f for f in lint_tables(sound).findings}
    assert found["silent-period"].severity == "info"
    assert "30.0 days" in found["silent-period"].explanation


def test_gaps_of_minutes_in_a_series_are_a_remark(sound):
    sound["usage"].loc[50:99, "time_s"] += 1000.0
    found = {f.check: f.severity for f in lint_tables(sound).findings}
    assert found == {**found, "series-gap": "info"}


def test_use_beyond_a_request_that_is_rare_is_a_remark(sound):
    sound["jobs"].loc[:9, "request_memory_gib"] = 0.5
    found = {f.place: f.severity for f in lint_tables(sound).findings}
    assert found["jobs.memory_peak_gib"] == "info"


def test_two_honest_sizes_a_thousand_apart_are_not_mixed_units(sound):
    jobs = sound["jobs"]
    small = jobs["task"] == "ps"
    jobs.loc[small, "memory_peak_gib"] /= 1000
    jobs.loc[small, "memory_mean_gib"] /= 1000
    jobs.loc[small, "request_memory_gib"] /= 1000
    assert "mixed-units" not in {f.check for f in lint_tables(sound).findings}
