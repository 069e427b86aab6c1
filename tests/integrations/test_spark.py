"""The same readers on Spark give the same tables. One session serves all tests."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import BadRowsError, FanOutError
from prophase.trace import Workspace, import_trace

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[None]:
    spark = pytest.importorskip("pyspark.sql", reason='needs: pip install "prophase[spark]"')
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17")
    with warnings.catch_warnings():
        # pyspark and ibis' adapter to it warn about their own internals
        warnings.simplefilter("ignore")
        yield
        active = spark.SparkSession.getActiveSession()
        if active is not None:
            active.stop()


def both(source: str, path: Path, tmp_path: Path, **options: object) -> dict[str, pd.DataFrame]:
    frames = {}
    for engine in ("duckdb", "spark"):
        workspace = Workspace.create(tmp_path / engine)
        report = import_trace(source, path, workspace, engine=engine, **options)  # type: ignore[arg-type]
        assert report.engine == engine
        frames[engine] = workspace.read("jobs")
    return frames


@pytest.mark.filterwarnings("ignore")
def test_pai_tables_are_equal_on_duckdb_and_spark(pai_dump: Path, tmp_path: Path) -> None:
    frames = both("pai2020", pai_dump, tmp_path)
    assert len(frames["spark"]) == 5
    pd.testing.assert_frame_equal(frames["duckdb"], frames["spark"])


@pytest.mark.filterwarnings("ignore")
def test_damaged_rows_are_counted_alike_and_refused_alike(pai_dump: Path, tmp_path: Path) -> None:
    path = pai_dump / "pai_instance_table.csv"
    rows = path.read_text() + "j1,worker\n" + "j1,ps,i9,w9,id1,Terminated,soon,900,m1\n"
    path.write_text(rows)
    frames = both("pai2020", pai_dump, tmp_path, max_bad=0.5)
    pd.testing.assert_frame_equal(frames["duckdb"], frames["spark"])
    messages = []
    for engine in ("duckdb", "spark"):
        with pytest.raises(BadRowsError, match="line 6") as caught:
            import_trace("pai2020", pai_dump, Workspace.create(tmp_path / "x"), engine=engine)
        messages.append(str(caught.value).split("\n")[0])
    assert messages[0] == messages[1]


@pytest.mark.filterwarnings("ignore")
def test_a_fan_out_is_refused_on_spark_too(pai_dump: Path, tmp_path: Path) -> None:
    path = pai_dump / "pai_group_tag_table.csv"
    path.write_text(path.read_text() + "id1,u1,,g1,bert\n")
    with pytest.raises(FanOutError, match="inst_id"):
        import_trace("pai2020", pai_dump, Workspace.create(tmp_path / "ws"), engine="spark")


@pytest.mark.data
@pytest.mark.filterwarnings("ignore")
def test_the_real_philly_trace_is_equal_on_both(shared_data: Path, tmp_path: Path) -> None:
    frames = both("philly", shared_data / "philly", tmp_path)
    pd.testing.assert_frame_equal(frames["duckdb"], frames["spark"])
