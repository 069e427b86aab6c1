"""The same readers on Spark give the same tables. One session serves all tests."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import BadRowsError, FanOutError, ParameterError, ProphaseError
from prophase.study.pipeline import run_study
from prophase.study.plan import read_plan
from prophase.trace import Workspace, import_trace
from prophase.trace.engine import open_engine
from prophase.trace.synth.pai import make_pai

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
            _end_java()


def _end_java() -> None:
    """End the process that Spark leaves behind for the next session."""
    from pyspark import SparkContext

    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(60)


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


@pytest.mark.filterwarnings("ignore")
def test_a_study_with_spark_and_dask_gives_the_numbers_of_one_process(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    jobs = make_pai(jobs=250, days=3, random_state=0).jobs
    jobs.to_csv(tmp_path / "jobs.csv", index=False)
    plan = """
        trace = "jobs.csv"
        cluster = "30x8 V100 96c 512g"
        steps = ["lint", "describe", "sizing", "proof", "schedules", "next"]
        methods = ["backoff-median"]
        seeds = 2
        splits = 2
    """
    (tmp_path / "here.toml").write_text(plan)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", protocol="tcp://"
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        spread = f'engine = "spark"\nworkers = "{address}"\n'
        (tmp_path / "there.toml").write_text(spread + plan)
        found = {
            name: run_study(read_plan(tmp_path / f"{name}.toml"), out=tmp_path / name)
            for name in ("here", "there")
        }
    assert found["there"].cannot == found["here"].cannot
    assert "schedules" in found["here"].results
    for step, numbers in found["here"].results.items():
        assert found["there"].results[step] == numbers, step


def test_a_spark_master_that_does_not_answer_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProphaseError, match=r"no Spark master answers at spark://127\.0\.0\.1:9"):
        open_engine("spark://127.0.0.1:9", tmp_path)
    with pytest.raises(ParameterError, match="such as spark://"):
        open_engine("spark://nowhere", tmp_path)
    with pytest.raises(ParameterError, match="'sparks://a:1' is unknown"):
        open_engine("sparks://a:1", tmp_path)
