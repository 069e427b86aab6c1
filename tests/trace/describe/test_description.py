"""The whole description: never a crash, never NaN in JSON, always a reason."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prophase.trace import Trace, open_trace
from prophase.trace.describe.column_arrays import NotComputable
from prophase.trace.describe.description import Description, describe
from prophase.trace.describe.description_result import description_result
from prophase.trace.schema import JOBS, STATUSES, USAGE, check_jobs, check_usage

HASH = "0" * 64
SETTINGS = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def described(**tables: pd.DataFrame) -> Description:
    """Describe tables and check what holds for every description."""
    found = describe(Trace(tables, "test", HASH), fit_sample=500)
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert "NaN" not in text
    for section in description_result(found).all_sections():
        assert section.texts
        assert all("nan" not in sentence for sentence in section.texts)
    return found


@st.composite
def job_tables(draw: st.DrawFn) -> pd.DataFrame:
    """Draw a table that keeps the schema: any columns, any of them empty or constant."""
    rows = draw(st.integers(1, 40))
    chosen = draw(st.sets(st.sampled_from([c.name for c in JOBS if c.name != "job_id"])))
    table: dict[str, object] = {"job_id": [f"j{n}" for n in range(rows)]}
    for name in sorted(chosen):
        column = JOBS.get(name)
        assert column is not None
        if column.kind == "number":
            numbers = st.sampled_from([0.0, 1.0, 0.5, 3600.0, 1e9, 1e-3, 7.25]) | st.floats(
                0.0 if column.low == 0 else -1e6, 1e10, allow_nan=False
            )
            cells = st.one_of(st.none(), numbers)
            values = draw(
                st.one_of(st.just([None] * rows), st.lists(cells, min_size=rows, max_size=rows))
            )
            table[name] = np.array([np.nan if v is None else v for v in values], dtype=float)
        else:
            words = STATUSES if name == "status" else ("a", "b", "long <name> & more")
            cells = st.one_of(st.none(), st.sampled_from(words))
            table[name] = pd.array(draw(st.lists(cells, min_size=rows, max_size=rows)), dtype="str")
    return pd.DataFrame(table)


@SETTINGS
@given(job_tables(), st.sampled_from(["unix", "local", "relative"]))
def test_any_table_that_keeps_the_schema_can_be_described(jobs: pd.DataFrame, clock: str) -> None:
    check_jobs(jobs)
    found = describe(Trace({"jobs": jobs}, "test", HASH, clock), fit_sample=100)
    json.dumps(found.to_dict(), allow_nan=False)
    assert description_result(found).all_sections()


@SETTINGS
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.floats(-1e6, 1e10),
            st.one_of(st.none(), st.floats(0, 1e6)),
        ),
        max_size=30,
    )
)
def test_any_usage_table_can_be_described(rows: list[tuple[str, float, float | None]]) -> None:
    usage = pd.DataFrame(rows, columns=["series_id", "time_s", "cpu_cores"])
    usage = usage.astype({"series_id": "str", "time_s": "float64", "cpu_cores": "float64"})
    check_usage(usage)
    described(usage=usage)


@pytest.mark.parametrize(
    "jobs",
    [
        pd.DataFrame({"job_id": ["a"]}),
        pd.DataFrame({"job_id": ["a"], "submit_s": [1.0], "duration_s": [5.0], "user": ["u"]}),
        pd.DataFrame({"job_id": [str(n) for n in range(50)], "duration_s": np.zeros(50)}),
        pd.DataFrame({"job_id": ["a", "b"], "submit_s": [np.nan, np.nan], "wait_s": [0.0, 0.0]}),
        pd.DataFrame(
            {"job_id": pd.Series([], dtype="str"), "duration_s": pd.Series([], dtype=float)}
        ),
    ],
    ids=["only ids", "one job", "all zero durations", "empty times", "no rows"],
)
def test_tables_with_almost_nothing_in_them_are_described(jobs: pd.DataFrame) -> None:
    found = described(jobs=jobs)
    assert isinstance(found.service_laws, NotComputable)


def test_what_cannot_be_computed_is_named_with_its_reason() -> None:
    found = described(jobs=pd.DataFrame({"job_id": ["a", "b"], "duration_s": [1.0, 2.0]}))
    assert found.not_computable["arrivals"] == "no submit times"
    assert found.not_computable["arrival_laws"] == "no submit times"
    assert found.not_computable["waits"] == "no submit and start times"
    assert found.not_computable["usage"] == "the trace has no usage table"
    told = description_result(found).section("silent").texts
    assert "Arrivals: no submit times." in told


def test_a_trace_of_usage_alone_is_described_without_jobs() -> None:
    usage = pd.DataFrame({"series_id": ["a", "a"], "time_s": [0.0, 1.0], "cpu_cores": [1.0, 2.0]})
    found = described(usage=usage)
    assert [one.key for one in description_result(found).all_sections()] == ["usage", "missing"]
    assert found.not_computable["counts"] == "the trace has no job table"


def test_the_same_seed_gives_the_same_description() -> None:
    random = np.random.default_rng(0)
    jobs = pd.DataFrame(
        {
            "job_id": [str(n) for n in range(400)],
            "submit_s": np.sort(random.uniform(0, 4e5, 400)),
            "duration_s": random.lognormal(5, 2, 400),
        }
    )
    first, again = described(jobs=jobs), described(jobs=jobs)
    assert first.to_dict() == again.to_dict()


def test_laws_can_be_left_out() -> None:
    jobs = pd.DataFrame({"job_id": ["a"], "duration_s": [1.0]})
    found = describe(Trace({"jobs": jobs}, "test", HASH), laws=False)
    assert found.not_computable["service_laws"] == "laws were not asked for"


def test_metrics_of_the_schema_keep_their_units_in_the_description() -> None:
    usage = pd.DataFrame({"series_id": ["a"], "time_s": [0.0], "memory_gib": [2.0]})
    found = described(usage=usage)
    assert not isinstance(found.usage, NotComputable)
    known = USAGE.get("memory_gib")
    assert known is not None
    assert found.usage.metrics[0].unit == known.unit


@pytest.mark.data
def test_the_philly_trace_is_bursty_heavy_tailed_and_fits_no_arrival_law(
    shared_data: Path,
) -> None:
    trace = open_trace(shared_data / "philly", source="philly")
    found = describe(trace)
    assert not isinstance(found.arrivals, NotComputable)
    assert found.arrivals.gaps.scv > 100
    assert not isinstance(found.arrival_laws, NotComputable)
    assert {fit.verdict for fit in found.arrival_laws.fits} == {"bad"}
    assert not isinstance(found.service_laws, NotComputable)
    verdicts = {fit.law: fit.verdict for fit in found.service_laws.fits}
    assert verdicts["exponential"] == "bad"
    assert found.service_laws.fitted == 50_000
    assert isinstance(found.recurrence, NotComputable)


@pytest.mark.data
def test_the_pai_sample_shows_recurring_groups_and_generous_requests(shared_data: Path) -> None:
    trace = open_trace(shared_data / "pai", source="pai2020")
    found = describe(trace, laws=False)
    assert not isinstance(found.recurrence, NotComputable)
    assert found.recurrence.key == "group + task"
    key = trace.jobs.sort_values("start_s", kind="stable")[["group", "task"]]
    assert found.recurrence.best.seen_before_share == pytest.approx(key.duplicated().mean())
    assert not isinstance(found.utilisation, NotComputable)
    gpu = next(r for r in found.utilisation.resources if r.resource == "GPU, mean use")
    assert gpu.request_above_use_share > 0.9
    assert not isinstance(found.nodes, NotComputable)
    assert found.nodes.gpus == 6742
