from __future__ import annotations

import hashlib
import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from prophase.trace.fetch import catalogue

LOG = (
    "timestamp,duration,num_gpus,gpu_time,cluster\n"
    "2017-10-01 01:00:00,60,1,60,vc1\n"
    "2017-10-01 02:00:00,90,2,180,vc2\n"
)
ENTRY = """
[philly]
title = "A small Philly"
licence = "CC0"
cite = "Us"
page = "http://example.org"
reader = "philly"
[[philly.files]]
name = "philly.csv"
urls = ["http://127.0.0.1:9/philly.csv"]
size = 100
sha256 = "{sha256}"
basis = "owner"
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A mirror of a catalogue with one small trace."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = tmp_path / "origin"
    folder.mkdir()
    (folder / "philly.csv").write_text(LOG)
    entry = ENTRY.format(sha256=hashlib.sha256(LOG.encode()).hexdigest())
    known = catalogue.parse_catalogue(entry)
    monkeypatch.setattr(catalogue, "all_public_traces", lambda: known)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_catalogue_is_listed_with_size_licence_and_checksum_state(prophase_here):
    done = prophase_here("fetch", "list", "--format", "json")
    assert done.returncode == 0
    known = {row["trace"]: row for row in json.loads(done.stdout)}
    assert known["philly"]["checksum"] == "owner"
    assert known["philly"]["size_mb"] == 1056.0
    assert known["acme"]["checksum"] == "first fetch"
    assert known["google2011"]["checksum"] == "owner's list"
    assert known["helios"]["licence"] == "CC-BY-4.0"


def test_the_catalogue_is_part_of_the_installed_program(prophase):
    done = prophase("fetch", "list")
    assert done.returncode == 0, done.stderr
    assert "pai2020" in done.stdout


def test_a_dry_run_names_files_and_addresses_and_touches_nothing(prophase_here, tmp_path):
    done = prophase_here("fetch", "openb", "--dry-run")
    assert done.returncode == 0
    assert "openb_pod_list_default.csv" in done.stdout
    assert "https://raw.githubusercontent.com/alibaba/clusterdata" in done.stdout
    assert "more files can be had with --only" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_fetched_trace_can_be_imported_by_the_command_that_is_named(
    prophase_here, mirror, tmp_path
):
    done = prophase_here("fetch", "philly", "--mirror", mirror)
    assert done.returncode == 0, done.stderr
    assert "checksum published by the owner" in done.stdout
    assert "Licence: CC0. Cite: Us." in done.stderr
    assert "Next: prophase import philly traces/philly" in done.stdout
    imported = prophase_here("import", "philly", "traces/philly", "--workspace", "ws")
    assert imported.returncode == 0, imported.stderr
    assert (tmp_path / "traces" / "philly" / "SHA256SUMS").is_file()


def test_a_wrong_checksum_leaves_with_one_and_keeps_nothing(prophase_here, mirror, tmp_path):
    (tmp_path / "origin" / "philly.csv").write_text("changed")
    done = prophase_here("fetch", "philly", "--mirror", mirror, "--out", "here")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Nothing was kept" in done.stderr
    assert "fetch it by hand (http://example.org) into here/philly.csv" in done.stderr
    assert not (tmp_path / "here" / "philly.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("phily",), "Did you mean 'philly'?"),
        (("philly", "--file", "*.parquet"), "no file of philly fits"),
    ],
)
def test_asking_for_what_is_not_there_leaves_with_two(prophase_here, arguments, words):
    done = prophase_here("fetch", *arguments)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_trace_without_a_reader_says_so(prophase_here, mirror, monkeypatch):
    entry = ENTRY.replace('reader = "philly"\n', "")
    entry = entry.format(sha256=hashlib.sha256(LOG.encode()).hexdigest())
    monkeypatch.setattr(catalogue, "all_public_traces", lambda: catalogue.parse_catalogue(entry))
    done = prophase_here("fetch", "philly", "--mirror", mirror)
    assert done.returncode == 0, done.stderr
    assert "No reader takes these files as they are" in done.stdout
