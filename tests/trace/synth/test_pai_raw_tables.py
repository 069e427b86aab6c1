from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, StorageError
from prophase.trace.readers.pai2020 import HEADERS
from prophase.trace.synth import pai_raw_tables as pai_raw
from prophase.trace.synth.cluster import make_cluster
from prophase.trace.synth.pai import make_pai
from prophase.trace.synth.pai_raw_tables import write_raw
from prophase.trace.trace_tables import Trace, open_trace

EIGHT_HOURS = 8 * 3600


@pytest.fixture(scope="module")
def trace() -> Trace:
    return make_pai(jobs=1_500, random_state=2)


@pytest.fixture(scope="module")
def dump(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw")
    write_raw(trace, folder)
    return folder


@pytest.fixture(scope="module")
def imported(dump: Path) -> Trace:
    return open_trace(dump, source="pai2020")


def test_seven_headerless_tables_and_their_headers_are_written(dump: Path) -> None:
    assert len(list(dump.glob("pai_*.csv"))) == 7
    for table, columns in HEADERS.items():
        (header,) = dump.glob(f"pai_{table}*.header")
        assert header.read_text().strip().split(",") == columns.split()
        first = header.with_suffix(".csv").read_text().splitlines()[0]
        assert len(first.split(",")) == len(columns.split())
        assert columns.split()[0] not in first


def test_the_reader_finds_every_worker_and_every_join(trace: Trace, imported: Trace) -> None:
    report = imported.report
    assert report is not None
    count = report.tables["jobs"]
    workers = int(trace.jobs["instances"].sum())
    assert count.read == count.kept == workers
    assert count.joined["job"] == count.joined["task"] == count.joined["group_tag"] == workers
    measured = trace.jobs["instances"][trace.jobs["cpu_mean_cores"].notna()].sum()
    assert count.joined["sensor"] == count.joined["machine_metric"] == measured


def test_what_comes_back_is_what_was_made(trace: Trace, imported: Trace) -> None:
    made = trace.jobs.loc[trace.jobs.index.repeat(trace.jobs["instances"].astype(int))]
    back = imported.jobs
    for column in ("duration_s", "wait_s", "gang_size", "request_cpu_cores",
                   "request_memory_gib", "request_gpus"):  # fmt: skip
        ours = np.sort(made[column].to_numpy(float))
        np.testing.assert_allclose(np.sort(back[column].to_numpy(float)), ours)
    for column in ("status", "workload", "task", "after_gpu_type"):
        ours = made[column].value_counts(dropna=True).to_dict()
        theirs = back[column].value_counts(dropna=True).to_dict()
        assert sum(ours.values()) - sum(theirs.values()) <= made["start_s"].isna().sum()
        assert column == "after_gpu_type" or ours == theirs
    assert back["parent_id"].nunique() == trace.jobs["parent_id"].nunique()
    assert back["user"].nunique() == trace.jobs["user"].nunique()
    assert back["group"].nunique() == trace.jobs["group"].nunique()
    assert abs(back["cpu_mean_cores"].mean() / made["cpu_mean_cores"].mean() - 1) < 0.02


def test_raw_times_are_utc_where_the_trace_is_eight_hours_east(trace: Trace, dump: Path) -> None:
    names = HEADERS["job"].split()
    raw = pd.read_csv(dump / "pai_job_table.csv", header=None, names=names)
    assert raw["start_time"].min() + EIGHT_HOURS == trace.jobs["submit_s"].min()


def test_workers_of_a_gang_sit_on_nodes_of_their_type(imported: Trace) -> None:
    on_type = imported.jobs.dropna(subset=["after_gpu_type", "gpu_type"])
    demanded = on_type[on_type["request_gpus"].notna()]
    assert len(demanded) > 50
    assert (demanded["gpu_type"] == demanded["after_gpu_type"]).all()
    largest = imported.jobs.groupby("parent_id")["after_node"].nunique().max()
    assert largest > 1


def test_a_dump_in_pieces_equals_a_dump_in_one(
    trace: Trace, dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pai_raw, "_CHUNK", 500)
    shares: list[float] = []
    rows = write_raw(trace, tmp_path, progress=shares.append)
    assert len(shares) > 5
    assert shares[-1] == 100
    for table in ("instance", "sensor", "task", "job"):
        names = HEADERS[table].split()
        (path,) = tmp_path.glob(f"pai_{table}*.csv")
        pieces = pd.read_csv(path, header=None, names=names)
        whole = pd.read_csv(dump / path.name, header=None, names=names)
        assert len(pieces) == len(whole) == rows[table]
    assert pieces["job_name"].is_unique


def test_compressed_tables_read_the_same(trace: Trace, imported: Trace, tmp_path: Path) -> None:
    write_raw(trace, tmp_path, compress=True)
    assert not list(tmp_path.glob("*.csv"))
    again = open_trace(tmp_path, source="pai2020").jobs
    pd.testing.assert_frame_equal(again, imported.jobs)


def test_a_trace_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match="no jobs table"):
        write_raw(make_cluster("small"), "unused")


def test_a_full_disk_is_said_to_be_full(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "disk")

    monkeypatch.setattr(pai_raw, "_write_tables", no_space)
    with pytest.raises(StorageError, match="no space left"):
        write_raw(trace, tmp_path)
