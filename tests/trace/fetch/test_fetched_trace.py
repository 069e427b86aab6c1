"""Fetching a trace: every file complete and on record, or the old state as it was."""

from __future__ import annotations

import hashlib
import subprocess
import threading
from collections import namedtuple
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from prophase.errors import FetchError, ParameterError, StorageError
from prophase.trace.fetch import fetched_trace as module
from prophase.trace.fetch.catalogue import PublicTrace, RemoteFile
from prophase.trace.fetch.download import Patience
from prophase.trace.fetch.fetched_trace import RECORD, fetch, read_record

ONCE = Patience(tries=1, timeout_s=5, sleep=lambda _: None)
JOBS, NODES = b"job_id\na\n", b"node_id\nn\n"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]


Origin = namedtuple("Origin", "url folder asked")


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Origin]:
    """A web server for a folder with two tables, one of them in a folder of its own."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = tmp_path / "origin"
    (folder / "deep").mkdir(parents=True)
    (folder / "jobs.csv").write_bytes(JOBS)
    (folder / "deep" / "nodes.csv").write_bytes(NODES)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    server.asked = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield Origin(f"http://127.0.0.1:{server.server_port}", folder, server.asked)  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()
    thread.join()


def a_trace(origin: Origin, **changes: object) -> PublicTrace:
    """One file with the owner's checksum, one without any, and an optional one."""
    files = (
        RemoteFile("jobs.csv", (f"{origin.url}/jobs.csv",), 9, sha256(JOBS), "owner"),
        RemoteFile("deep/nodes.csv", (f"{origin.url}/deep/nodes.csv",), 10),
        RemoteFile("extra.csv", (f"{origin.url}/extra.csv",), optional=True),
    )
    given = {"files": files, "title": "A trace", "licence": "CC0", "cite": "Us", "page": origin.url}
    return PublicTrace("some", **{**given, **changes})  # type: ignore[arg-type]


def test_files_arrive_with_a_record_that_sha256sum_understands(origin, tmp_path):
    report = fetch(a_trace(origin), tmp_path / "out", patience=ONCE)
    assert [(f.name, f.state, f.voucher) for f in report.files] == [
        ("jobs.csv", "fetched", "owner"),
        ("deep/nodes.csv", "fetched", "first"),
    ]
    assert (tmp_path / "out" / "deep" / "nodes.csv").read_bytes() == NODES
    subprocess.run(["sha256sum", "-c", "--strict", RECORD], cwd=tmp_path / "out", check=True)
    assert "licence: CC0; cite: Us" in (tmp_path / "out" / RECORD).read_text()


def test_what_is_there_and_right_is_not_fetched_again(origin, tmp_path):
    fetch(a_trace(origin), tmp_path / "out", patience=ONCE)
    before = list(origin.asked)
    report = fetch(a_trace(origin), tmp_path / "out", patience=ONCE)
    assert [(f.state, f.voucher) for f in report.files] == [
        ("already there", "owner"),
        ("already there", "record"),
    ]
    assert origin.asked == before


def test_a_damaged_file_is_fetched_again(origin, tmp_path):
    fetch(a_trace(origin), tmp_path / "out", patience=ONCE)
    for name in ("jobs.csv", "deep/nodes.csv"):
        (tmp_path / "out" / name).write_bytes(b"damaged")
    report = fetch(a_trace(origin), tmp_path / "out", patience=ONCE)
    assert [f.state for f in report.files] == ["fetched", "fetched"]
    assert (tmp_path / "out" / "deep" / "nodes.csv").read_bytes() == NODES


def test_a_file_that_changed_at_its_source_is_held_against_the_first_one(origin, tmp_path):
    fetch(a_trace(origin), tmp_path / "out", patience=ONCE)
    (tmp_path / "out" / "deep" / "nodes.csv").unlink()
    (origin.folder / "deep" / "nodes.csv").write_bytes(b"other")
    with pytest.raises(FetchError, match=r"recorded at the first fetch.*delete its line in .*SUMS"):
        fetch(a_trace(origin), tmp_path / "out", patience=ONCE)
    assert not (tmp_path / "out" / "deep" / "nodes.csv").exists()
    assert read_record(tmp_path / "out")["deep/nodes.csv"] == sha256(NODES)


def test_a_wrong_checksum_keeps_nothing_and_says_how_to_go_on(origin, tmp_path):
    (origin.folder / "jobs.csv").write_bytes(b"not the jobs")
    with pytest.raises(FetchError) as told:
        fetch(a_trace(origin), tmp_path / "out", patience=ONCE)
    assert "Nothing was kept" in str(told.value)
    assert f"fetch it by hand ({origin.url}) into {tmp_path / 'out' / 'jobs.csv'}" in str(
        told.value
    )
    assert [p.name for p in (tmp_path / "out").iterdir()] == [".fetching"]


def test_files_fetched_before_a_failure_stay_on_record(origin, tmp_path):
    (origin.folder / "deep" / "nodes.csv").unlink()
    with pytest.raises(FetchError, match="404"):
        fetch(a_trace(origin), tmp_path / "out", patience=ONCE)
    assert read_record(tmp_path / "out") == {"jobs.csv": sha256(JOBS)}


def test_a_file_put_there_by_hand_is_verified(origin, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "jobs.csv").write_bytes(JOBS)
    report = fetch(a_trace(origin), tmp_path / "out", only=["jobs.csv"], patience=ONCE)
    assert (report.files[0].state, report.files[0].voucher) == ("already there", "owner")
    assert origin.asked == []


def test_the_next_address_is_tried_when_one_fails(origin, tmp_path):
    urls = (f"{origin.url}/gone.csv", f"{origin.url}/jobs.csv")
    trace = a_trace(origin, files=(RemoteFile("jobs.csv", urls, 9, sha256(JOBS), "copies"),))
    report = fetch(trace, tmp_path / "out", patience=ONCE)
    assert (report.files[0].state, report.files[0].voucher) == ("fetched", "copies")


def test_a_mirror_stands_in_for_the_owner(origin, tmp_path):
    files = (RemoteFile("deep/nodes.csv", ("http://127.0.0.1:9/nowhere",), None),)
    trace = a_trace(origin, files=files)
    fetch(trace, tmp_path / "out", mirror=origin.url + "/", patience=ONCE)
    assert (tmp_path / "out" / "deep" / "nodes.csv").read_bytes() == NODES
    with pytest.raises(FetchError, match="not an http"):
        fetch(trace, tmp_path / "out", mirror="file:///tmp", patience=ONCE)


def test_the_owners_list_of_checksums_is_used(origin, tmp_path):
    lines = f"{sha256(NODES)} *./deep/nodes.csv\n"
    (origin.folder / "SHA256SUM").write_text(lines)
    trace = a_trace(origin, sums=f"{origin.url}/SHA256SUM")
    report = fetch(trace, tmp_path / "out", patience=ONCE)
    assert [f.voucher for f in report.files] == ["owner", "list"]
    (origin.folder / "SHA256SUM").write_text(f"{'0' * 64}  deep/nodes.csv\n")
    with pytest.raises(FetchError, match="is expected"):
        fetch(trace, tmp_path / "out", patience=ONCE)
    assert (tmp_path / "out" / "deep" / "nodes.csv").read_bytes() == NODES


@pytest.mark.parametrize("content", [None, "<html>moved</html>"])
def test_a_list_of_checksums_that_cannot_be_had_is_reported(content, origin, tmp_path):
    if content is not None:
        (origin.folder / "SHA256SUM").write_text(content)
    trace = a_trace(origin, sums=f"{origin.url}/SHA256SUM")
    report = fetch(trace, tmp_path / "out", patience=ONCE)
    assert "list of checksums was not used" in report.notes[0]
    assert report.files[1].voucher == "first"


def test_progress_is_reported_in_percent(origin, tmp_path):
    told: list[tuple[str, float | None]] = []
    fetch(
        a_trace(origin), tmp_path / "out", only=["jobs.csv"], patience=ONCE,
        progress=lambda step, percent: told.append((step, percent)),
    )  # fmt: skip
    assert told[-1] == ("jobs.csv (0.0 MB)", 100.0)


def test_two_fetches_do_not_write_into_the_same_folder(origin, tmp_path):
    with module._alone(tmp_path / "out"), pytest.raises(FetchError, match="another fetch"):
        fetch(a_trace(origin), tmp_path / "out", patience=ONCE)


def test_a_trace_larger_than_the_disk_is_refused_before_it_starts(origin, tmp_path):
    huge = RemoteFile("huge.bin", (f"{origin.url}/huge.bin",), size=10**18)
    with pytest.raises(StorageError, match="fewer files with --only"):
        fetch(a_trace(origin, files=(huge,)), tmp_path / "out", patience=ONCE)
    assert origin.asked == []


def test_a_pattern_that_fits_nothing_is_asked_wrongly(origin, tmp_path):
    with pytest.raises(ParameterError, match="no file of some fits"):
        fetch(a_trace(origin), tmp_path / "out", only=["*.parquet"])
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_named(origin, tmp_path):
    (tmp_path / "blocked").write_text("")
    with pytest.raises(StorageError, match="blocked"):
        fetch(a_trace(origin), tmp_path / "blocked" / "out", patience=ONCE)
