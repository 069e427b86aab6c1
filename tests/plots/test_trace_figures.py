"""Every figure of a description draws, with units on its axes, and leaves no global behind."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import _pylab_helpers

from prophase.errors import StorageError
from prophase.plots.illustrations import with_trace_figures
from prophase.plots.result_files import page_html, write_figures
from prophase.plots.style import save
from prophase.plots.trace_figures import trace_figures
from prophase.result import Result
from prophase.trace import Trace
from prophase.trace.describe.description import Description, describe
from prophase.trace.describe.description_result import description_result


def told(found: Description, command: str = "") -> Result:
    return with_trace_figures(description_result(found, command=command), found)


def jobs(count: int = 600) -> pd.DataFrame:
    random = np.random.default_rng(0)
    submit = np.sort(random.uniform(1.5e9, 1.5e9 + 20 * 86400, count))
    return pd.DataFrame(
        {
            "job_id": [str(n) for n in range(count)],
            "user": random.integers(0, 9, count).astype(str),
            "group": random.integers(0, 50, count).astype(str),
            "task": random.choice(["ps", "worker"], count),
            "workload": random.choice(["bert", "<ctr> & co", "resnet"], count),
            "submit_s": submit,
            "wait_s": random.exponential(60, count),
            "duration_s": np.r_[np.zeros(5), random.lognormal(6, 2, count - 5)],
            "request_gpus": random.choice([0.0, 0.5, 4.0], count),
            "gpu_util_mean_pct": random.uniform(0, 90, count),
            "request_cpu_cores": random.choice([1.0, 6.0, np.nan], count),
            "cpu_mean_cores": random.uniform(0, 4, count),
        }
    )


@pytest.fixture(scope="module")
def found() -> Description:
    usage = pd.DataFrame(
        {
            "series_id": ["a"] * 50,
            "time_s": np.arange(50.0),
            "memory_gib": np.r_[np.nan, np.linspace(1, 900, 49)],
            "cpu_cores": np.zeros(50),
        }
    )
    nodes = pd.DataFrame({"node_id": ["a", "b"], "gpus": [8.0, 0.0], "gpu_type": ["V100", None]})
    tables = {"jobs": jobs(), "usage": usage, "nodes": nodes}
    return describe(Trace(tables, "test", "0" * 64, "local"))


def test_every_part_of_a_full_description_has_its_figures(found: Description) -> None:
    before = dict(mpl.rcParams)
    figures = {item.key: item.figure for item in trace_figures(found)}
    assert list(figures) == [
        "arrivals-over-time",
        "arrivals-by-hour",
        "arrivals-by-weekday",
        "burstiness",
        "run-time-histogram",
        "run-time-cdf",
        "wait-histogram",
        "wait-cdf",
        "run-time-by-gpus",
        "run-time-by-workload",
        "wait-by-class",
        "use-over-request",
        "utilisation-by-task",
        "utilisation-by-workload",
        "recurrence",
        "arrival-laws",
        "run-time-laws",
        "run-time-qq",
        "usage-memory-gib",
        "usage-cpu-cores",
        "nodes",
        "missing-values",
    ]
    for name, figure in figures.items():
        axes = figure.axes[0]
        assert axes.get_title(loc="left"), name
        assert axes.get_ylabel() or axes.get_xlabel(), name
    assert dict(mpl.rcParams) == before
    assert not _pylab_helpers.Gcf.figs


def test_the_page_of_a_trace_tells_numbers_hash_version_and_command(found: Description) -> None:
    text = page_html(told(found, command="prophase describe <here>"))
    assert "&lt;ctr&gt; &amp; co" in text
    assert found.data_hash in text
    assert "prophase describe &lt;here&gt;" in text
    assert f"prophase {found.version}" in text
    assert text.count("<figure>") == 22
    assert any(title in text for title in ("Good fit.", "Rough fit.", "Bad fit."))


def test_the_page_of_a_poor_trace_says_what_is_missing_and_why() -> None:
    poor = describe(Trace({"jobs": pd.DataFrame({"job_id": ["a"]})}, "test", "0" * 64))
    text = page_html(told(poor))
    assert "What could not be computed" in text
    assert "no submit times" in text


@pytest.mark.parametrize("count", [1, 2, 25])
def test_small_traces_draw_without_a_warning(count: int) -> None:
    small = describe(Trace({"jobs": jobs(30).tail(count)}, "test", "0" * 64))
    page_html(told(small))


def test_figures_are_written_as_png_and_svg(tmp_path: Path) -> None:
    few = jobs(40)[["job_id", "duration_s"]]
    small = describe(Trace({"jobs": few}, "test", "0" * 64), laws=False)
    names = write_figures(told(small), tmp_path / "figures")
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"{name}.{ending}" for name in names for ending in ("png", "svg")
    }


def test_a_figure_is_the_same_bytes_every_time(found: Description, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        item = next(trace_figures(found))
        save(item.figure, tmp_path / folder, item.key, formats=["svg"])
    one, two = (tmp_path / folder / "arrivals-over-time.svg" for folder in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    small = describe(Trace({"jobs": jobs(40)}, "test", "0" * 64), laws=False)
    with pytest.raises(StorageError, match="file"):
        write_figures(told(small), tmp_path / "file" / "below")
