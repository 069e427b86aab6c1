"""Downloads against a real server on this machine that misbehaves in every known way."""

from __future__ import annotations

import hashlib
import threading
from collections import namedtuple
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from prophase.errors import FetchError, StorageError
from prophase.trace.fetch import download as module
from prophase.trace.fetch.download import Patience, download, read_text

CONTENT = bytes(range(256)) * 40_000  # 10 MB
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class QuietServer(ThreadingHTTPServer):
    """Says nothing when a client hangs up, which some tests do on purpose."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass


class Server:
    """Serves one file; each of its flags is a way in which real servers differ or fail."""

    def __init__(self) -> None:
        self.content = CONTENT
        self.etag: str | None = '"v1"'
        self.modified: str | None = None
        self.ranges = True
        self.honours_if_range = True
        #: answer the first requests with these status codes
        self.failures: list[int] = []
        self.headers: dict[str, str] = {}
        #: close the connection after so many bytes, once per entry
        self.drops: list[int] = []
        self.redirect: str | None = None
        self.claims = 0
        self.tells_length = True
        self.requests: list[dict[str, str]] = []
        self.paths: list[str] = []
        handler = type("Handler", (_Handler,), {"server_state": self})
        self.http = QuietServer(("127.0.0.1", 0), handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}/file.bin"

    def ranges_asked(self) -> list[str | None]:
        return [request.get("Range") for request in self.requests]

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


class _Handler(BaseHTTPRequestHandler):
    server_state: Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        state = self.server_state
        state.requests.append(dict(self.headers))
        state.paths.append(self.path)
        if state.failures:
            return self._answer(state.failures.pop(0), b"no", state.headers)
        if state.redirect is not None:
            return self._answer(302, b"", {"Location": state.redirect})
        start = self._start()
        if start is not None and start >= len(state.content):
            return self._answer(416, b"", {"Content-Range": f"bytes */{len(state.content)}"})
        body = state.content[start or 0 :]
        headers = {"Content-Length": str(len(body) + state.claims)}
        if state.etag:
            headers["ETag"] = state.etag
        if state.modified:
            headers["Last-Modified"] = state.modified
        if start is not None:
            headers["Content-Range"] = (
                f"bytes {start}-{len(state.content) - 1}/{len(state.content)}"
            )
        if state.drops:
            body = body[: state.drops.pop(0)]
        return self._answer(200 if start is None else 206, body, headers)

    def _start(self) -> int | None:
        state = self.server_state
        asked = self.headers.get("Range")
        if asked is None or not state.ranges:
            return None
        condition = self.headers.get("If-Range")
        if condition and state.honours_if_range and condition not in (state.etag, state.modified):
            return None
        return int(asked.removeprefix("bytes=").rstrip("-"))

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            if name != "Content-Length" or self.server_state.tells_length:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    running = Server()
    yield running
    running.close()


Waits = namedtuple("Waits", "patience slept")


@pytest.fixture
def waits() -> Waits:
    """Patience that does not wait, and what it would have waited."""
    slept: list[float] = []
    return Waits(Patience(tries=3, timeout_s=5, sleep=slept.append), slept)


def leave_part(target: Path, content: bytes, url: str, version: str | None) -> None:
    target.with_name(target.name + ".part").write_bytes(content)
    note = {"url": url, "version": version}
    target.with_name(target.name + ".part.json").write_text(module.json.dumps(note))


def test_a_file_is_fetched_and_its_hash_returned(server, waits, tmp_path):
    told: list[tuple[int, int | None]] = []
    target = tmp_path / "new" / "file.bin"
    found = download(
        server.url, target, sha256=SHA256, patience=waits.patience,
        progress=lambda done, total: told.append((done, total)),
    )  # fmt: skip
    assert found == SHA256
    assert target.read_bytes() == CONTENT
    assert told[0] == (0, len(CONTENT))
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [path.name for path in target.parent.iterdir()] == ["file.bin"]


def test_a_dropped_connection_goes_on_where_it_stopped(server, waits, tmp_path):
    server.drops = [3_000_000, 2_000_000]
    download(server.url, tmp_path / "f", sha256=SHA256, patience=waits.patience)
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert server.ranges_asked() == [None, "bytes=3000000-", "bytes=5000000-"]
    assert server.requests[1]["If-Range"] == '"v1"'


def test_a_length_larger_than_what_is_delivered_is_not_taken_for_complete(server, waits, tmp_path):
    server.claims, server.ranges = 100, False
    with pytest.raises(FetchError, match=r"ended after 10,240,000 of 10,240,100 bytes"):
        download(server.url, tmp_path / "f", patience=waits.patience)
    assert not (tmp_path / "f").exists()
    assert (tmp_path / "f.part").stat().st_size == len(CONTENT)


def test_a_file_of_unknown_length_needs_a_checksum(server, waits, tmp_path):
    server.tells_length = False
    with pytest.raises(FetchError, match="a file cut short would look complete"):
        download(server.url, tmp_path / "f", patience=waits.patience)
    assert list(tmp_path.iterdir()) == []
    assert download(server.url, tmp_path / "f", sha256=SHA256, patience=waits.patience) == SHA256


def test_a_server_that_takes_its_length_back_is_believed(server, waits, tmp_path):
    server.claims = 100
    assert download(server.url, tmp_path / "f", patience=waits.patience) == SHA256


def test_a_later_run_goes_on_with_the_part_of_an_earlier_one(server, waits, tmp_path):
    leave_part(tmp_path / "f", CONTENT[:1000], server.url, '"v1"')
    download(server.url, tmp_path / "f", sha256=SHA256, patience=waits.patience)
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert server.ranges_asked() == ["bytes=1000-"]


def test_a_server_without_ranges_sends_all_and_the_part_starts_over(server, waits, tmp_path):
    server.ranges = False
    leave_part(tmp_path / "f", b"x" * 1000, server.url, '"v1"')
    download(server.url, tmp_path / "f", sha256=SHA256, patience=waits.patience)
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_file_that_changed_between_two_attempts_is_fetched_whole(server, waits, tmp_path):
    leave_part(tmp_path / "f", b"old" * 1000, server.url, '"v0"')
    found = download(server.url, tmp_path / "f", patience=waits.patience)
    assert found == SHA256
    assert server.requests[0]["If-Range"] == '"v0"'


def test_a_server_that_ignores_if_range_cannot_glue_two_files_together(server, waits, tmp_path):
    server.honours_if_range = False
    leave_part(tmp_path / "f", b"old" * 1000, server.url, '"v0"')
    assert download(server.url, tmp_path / "f", patience=waits.patience) == SHA256
    assert server.ranges_asked() == ["bytes=3000-", None]


def test_a_date_does_as_a_version_where_the_etag_is_weak(server, waits, tmp_path):
    server.etag, server.modified = 'W/"v1"', "Wed, 01 Jul 2020 00:00:00 GMT"
    server.drops = [1_000_000]
    download(server.url, tmp_path / "f", patience=waits.patience)
    assert server.requests[1]["If-Range"] == server.modified


def test_without_a_version_and_a_checksum_a_part_is_not_trusted(server, waits, tmp_path):
    server.etag = None
    leave_part(tmp_path / "f", b"old" * 1000, server.url, None)
    assert download(server.url, tmp_path / "f", patience=waits.patience) == SHA256
    assert server.ranges_asked() == [None]


def test_a_part_from_another_address_is_not_glued_to_this_one(server, waits, tmp_path):
    leave_part(tmp_path / "f", b"old" * 1000, "http://elsewhere/f", '"v1"')
    assert download(server.url, tmp_path / "f", patience=waits.patience) == SHA256
    assert server.ranges_asked() == [None]


def test_a_stale_part_is_dropped_when_the_checksum_shows_it(server, waits, tmp_path):
    server.etag = None
    leave_part(tmp_path / "f", b"old" * 1000, server.url, None)
    download(server.url, tmp_path / "f", sha256=SHA256, patience=waits.patience)
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert server.ranges_asked() == ["bytes=3000-", None]


def test_a_part_that_is_already_complete_is_only_checked(server, waits, tmp_path):
    leave_part(tmp_path / "f", CONTENT, server.url, '"v1"')
    assert download(server.url, tmp_path / "f", sha256=SHA256, patience=waits.patience) == SHA256


def test_a_part_longer_than_the_file_starts_over(server, waits, tmp_path):
    leave_part(tmp_path / "f", CONTENT + b"more", server.url, '"v1"')
    assert download(server.url, tmp_path / "f", patience=waits.patience) == SHA256


def test_a_wrong_checksum_keeps_nothing(server, waits, tmp_path):
    with pytest.raises(FetchError, match=f"{SHA256}, but {'0' * 64} is expected. Nothing was kept"):
        download(server.url, tmp_path / "f", sha256="0" * 64, patience=waits.patience)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_checksum_leaves_a_file_that_was_there(server, waits, tmp_path):
    (tmp_path / "f").write_bytes(b"good")
    with pytest.raises(FetchError):
        download(server.url, tmp_path / "f", sha256="0" * 64, patience=waits.patience)
    assert (tmp_path / "f").read_bytes() == b"good"


def test_a_server_in_trouble_is_asked_again_later_and_later(server, waits, tmp_path):
    server.failures = [500, 503]
    download(server.url, tmp_path / "f", patience=waits.patience)
    assert waits.slept == [1.0, 2.0]


def test_a_server_that_says_when_to_come_back_is_heard(server, waits, tmp_path):
    server.failures, server.headers = [429], {"Retry-After": "7"}
    download(server.url, tmp_path / "f", patience=waits.patience)
    assert waits.slept == [7.0]


def test_patience_ends(server, waits, tmp_path):
    server.failures = [500] * 9
    with pytest.raises(FetchError, match=r"answered 500 .*, 3 times in a row"):
        download(server.url, tmp_path / "f", patience=waits.patience)
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_file_that_is_not_there_is_not_asked_for_again(status, server, waits, tmp_path):
    server.failures = [status]
    with pytest.raises(FetchError, match=f"the server answered {status}"):
        download(server.url, tmp_path / "f", patience=waits.patience)
    assert len(server.requests) == 1
    assert list(tmp_path.iterdir()) == []


def test_nobody_listening_is_reported_as_that(waits, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(FetchError, match="the connection failed"):
        download("http://127.0.0.1:9/f", tmp_path / "f", patience=waits.patience)


def test_a_server_that_never_answers_is_given_up(tmp_path, monkeypatch):
    import socket

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        patience = Patience(tries=2, timeout_s=0.05, sleep=lambda _: None)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/f"
        with pytest.raises(FetchError, match="no answer"):
            download(url, tmp_path / "f", patience=patience)


def test_redirects_are_followed(server, waits, tmp_path):
    other = Server()
    try:
        other.redirect = server.url
        assert download(other.url, tmp_path / "f", patience=waits.patience) == SHA256
    finally:
        other.close()


@pytest.mark.parametrize(
    "where", ["/file.bin", "file:///etc/passwd", "ftp://127.0.0.1/f", "gs://b"]
)
def test_redirects_in_a_circle_or_out_of_http_are_refused(where, server, waits, tmp_path):
    server.redirect = where
    with pytest.raises(FetchError, match=r"circle|not followed"):
        download(server.url, tmp_path / "f", patience=waits.patience)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://host/f", "gs://bucket/f", "f", "http:"]
)
def test_only_http_addresses_are_taken(url, tmp_path):
    with pytest.raises(FetchError, match="not an http or https address"):
        download(url, tmp_path / "f")


def test_a_full_disk_is_noticed_before_the_first_byte(server, waits, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage(1, 1, 5_000_000))
    with pytest.raises(StorageError, match=r"10 MB are needed and 5 MB are free"):
        download(server.url, tmp_path / "f", patience=waits.patience)
    assert not (tmp_path / "f.part").exists()


def test_a_folder_that_cannot_be_written_is_named(server, waits, tmp_path):
    (tmp_path / "blocked").write_text("a file, not a folder")
    with pytest.raises(StorageError, match="blocked"):
        download(server.url, tmp_path / "blocked" / "f", patience=waits.patience)


def test_progress_resets_the_count_of_failures(server, waits, tmp_path):
    server.drops = [2_000_000] * 4
    download(server.url, tmp_path / "f", sha256=SHA256, patience=waits.patience)
    assert len(server.requests) == 5
    assert waits.slept == [1.0] * 4


def test_a_small_text_is_read(server, waits):
    server.content = b"hello\n"
    assert read_text(server.url, patience=waits.patience) == "hello\n"


def test_a_text_that_is_too_long_is_refused(server, waits):
    with pytest.raises(FetchError, match="larger than"):
        read_text(server.url, limit=1 << 20, patience=waits.patience)


@pytest.mark.parametrize("break_it", [lambda s: s.failures.append(404), lambda s: s.close()])
def test_a_text_that_is_not_there_is_an_error_of_ours(
    break_it: Callable[[Server], None], waits, monkeypatch
):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    broken = Server()
    url = broken.url
    break_it(broken)
    with pytest.raises(FetchError, match="cannot be read"):
        read_text(url, patience=waits.patience)
    if broken.thread.is_alive():
        broken.close()
