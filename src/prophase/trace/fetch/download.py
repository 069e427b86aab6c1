"""Download one file: go on where it stopped, try again, and keep nothing that is wrong.

Bytes go into ``NAME.part`` and become ``NAME`` only when they are complete and their
SHA-256 is the expected one. What makes an interrupted part usable later, the server's
own mark of the file's version, is kept next to it in ``NAME.part.json``.
"""

from __future__ import annotations

import http.client
import json
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from prophase.errors import FetchError, StorageError, storage_error
from prophase.json_types import JsonObject
from prophase.trace.source_files import file_hash
from prophase.version import __version__

#: called with how many bytes are there, and how many there will be if that is known
Progress = Callable[[int, int | None], object]

_CHUNK = 1 << 18
#: this much new data counts as progress, so that the tries start over
_PROGRESS_BYTES = 1 << 20
#: leave this much of the disk free
_SPARE_BYTES = 64 << 20
_PASSING_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Patience:
    """How often to try, how long to wait."""

    tries: int = 5
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    timeout_s: float = 30.0
    sleep: Callable[[float], object] = time.sleep

    def wait(self, failures: int, asked_s: float | None) -> None:
        """Wait twice as long after each failure, or as long as the server asks for."""
        pause = self.first_wait_s * 2 ** (failures - 1) if asked_s is None else asked_s
        self.sleep(min(pause, self.longest_wait_s))


class _PassingError(Exception):
    """Something went wrong that may go right the next time."""

    def __init__(self, said: str, wait_s: float | None = None) -> None:
        super().__init__(said)
        self.wait_s = wait_s


def download(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    progress: Progress = lambda done, total: None,
    patience: Patience | None = None,
) -> str:
    """Fetch ``url`` into ``target`` and return the SHA-256 of the file.

    Parameters
    ----------
    target : Path
        The file to make. One that is there is replaced only by a complete, right one.
    sha256 : str, optional
        What the file's hash must be; a file with another one is removed.
    """
    refuse_other_schemes(url)
    part = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        resumed = _complete(url, part, sha256, progress, patience or Patience())
        found = file_hash(part)
        if sha256 is not None and found != sha256 and resumed:
            # the part may have been of an older file: once more from the start
            _discard(part)
            _complete(url, part, sha256, progress, patience or Patience())
            found = file_hash(part)
        if sha256 is not None and found != sha256:
            _discard(part)
            raise FetchError(
                f"{url}: the file has SHA-256 {found}, but {sha256} is expected. Nothing was kept. "
                "Try again later; if it stays so, the file was changed at its source or on the way."
            )
        part.replace(target)
        _discard(part)
    except OSError as cause:
        raise storage_error(cause, cause.filename or target) from cause
    return found


def read_text(url: str, *, limit: int = 8 << 20, patience: Patience | None = None) -> str:
    """Return a small text file at an address."""
    refuse_other_schemes(url)
    patience = patience or Patience()
    try:
        with _open(urllib.request.Request(url, headers=_headers()), patience) as answer:
            content = answer.read(limit + 1)
    except (_PassingError, OSError, http.client.HTTPException) as cause:
        raise FetchError(f"{url}: cannot be read: {cause}.") from cause
    if len(content) > limit:
        raise FetchError(f"{url}: is larger than {limit >> 20} MiB, too large for a list.")
    return content.decode("utf-8", errors="replace")


def refuse_other_schemes(url: str) -> None:
    """Refuse file:, ftp:, gs: and whatever else is not http."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise FetchError(f"{url}: is not an http or https address. Give one that is.")


def _complete(
    url: str, part: Path, sha256: str | None, progress: Progress, patience: Patience
) -> bool:
    """Fill the part until it is complete; return whether it began with older bytes."""
    failures = 0
    while True:
        before = _size(part)
        try:
            return _attempt(url, part, sha256, progress, patience)
        except _PassingError as cause:
            grown = _size(part) - before >= _PROGRESS_BYTES
            failures = 1 if grown else failures + 1
            if failures >= patience.tries:
                raise FetchError(
                    f"{url}: {cause}, {failures} times in a row. {_size(part):,} bytes are kept "
                    f"in {part}; run the same command again to go on from there."
                ) from cause
            patience.wait(failures, cause.wait_s)


def _attempt(
    url: str, part: Path, sha256: str | None, progress: Progress, patience: Patience
) -> bool:
    """Ask for what is missing and append it; return whether older bytes were used."""
    have, version = _resumable(url, part, sha256)
    headers = _headers()
    if have:
        headers["Range"] = f"bytes={have}-"
        if version:
            headers["If-Range"] = version
    try:
        with _open(urllib.request.Request(url, headers=headers), patience) as answer:
            start, total = _place(answer, have)
            if start and version and _version(answer) not in (version, None):
                _discard(part)
                raise _PassingError("the file was changed at its source meanwhile")
            _check_space(part, None if total is None else total - start)
            if total is None and not answer.chunked and sha256 is None:
                raise FetchError(
                    f"{url}: the server does not say how long the file is and no checksum is "
                    "known, so a file cut short would look complete. Nothing was fetched."
                )
            _remember(url, part, answer)
            _copy(answer, part, start, total, progress)
            return start > 0
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and have and _length_after_slash(error) == have:
            return True
        if error.code == 416 and have:
            _discard(part)
            raise _PassingError("the server has fewer bytes than the part") from error
        raise _refusal(url, error) from error
    except (urllib.error.URLError, http.client.HTTPException, ConnectionError) as cause:
        raise _PassingError(_words(cause)) from cause
    except TimeoutError as cause:
        raise _PassingError(f"no answer for {patience.timeout_s:g} s") from cause


def _resumable(url: str, part: Path, sha256: str | None) -> tuple[int, str | None]:
    """Return how many bytes can be kept, and the version of the file they belong to."""
    have = _size(part)
    if not have:
        return 0, None
    try:
        known: JsonObject = json.loads(_note_of(part).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    version = known.get("version") if known.get("url") == url else None
    if version is None and sha256 is None:
        # without a version or a checksum nothing would detect two files glued together
        return 0, None
    return have, version


def _place(answer: HTTPResponse, have: int) -> tuple[int, int | None]:
    """Return where the delivered bytes begin and how many the whole file has."""
    length = answer.headers.get("Content-Length")
    count = int(length) if length and length.isdigit() else None
    if answer.status != 206:
        return 0, count
    span = answer.headers.get("Content-Range", "")
    if not have or not span.startswith(f"bytes {have}-"):
        raise _PassingError(f"the server sent the range {span!r}, which was not asked for")
    total = _length_after_slash(answer)
    return have, total if total is not None or count is None else have + count


def _copy(
    answer: HTTPResponse, part: Path, start: int, total: int | None, progress: Progress
) -> None:
    done = start
    with part.open("ab" if start else "wb") as out:
        progress(done, total)
        while chunk := _read(answer):
            out.write(chunk)
            done += len(chunk)
            progress(done, total)
    if total is not None and done < total:
        raise _PassingError(f"the connection ended after {done:,} of {total:,} bytes")


def _read(answer: HTTPResponse) -> bytes:
    """Read on; an error of the network must not look like one of the disk."""
    try:
        return answer.read(_CHUNK)
    except (OSError, http.client.HTTPException) as cause:
        raise _PassingError(_words(cause)) from cause


def _check_space(part: Path, needed: int | None) -> None:
    free = shutil.disk_usage(part.parent).free
    if needed is not None and needed + _SPARE_BYTES > free:
        raise StorageError(
            f"{part.parent}: {needed / 1e6:,.0f} MB are needed and {free / 1e6:,.0f} MB are free. "
            "Free some space or choose another folder with --out."
        )


def _remember(url: str, part: Path, answer: HTTPResponse) -> None:
    """Keep the strong version mark of the file, if the server gives one."""
    note = {"url": url, "version": _version(answer)}
    _note_of(part).write_text(json.dumps(note), encoding="utf-8")


def _version(answer: HTTPResponse) -> str | None:
    etag: str = answer.headers.get("ETag", "")
    modified: str | None = answer.headers.get("Last-Modified")
    # a weak ETag (W/...) does not promise the same bytes
    return etag if etag.startswith('"') else modified


def _refusal(url: str, error: urllib.error.HTTPError) -> Exception:
    if error.code in _PASSING_STATUS:
        asked = error.headers.get("Retry-After", "")
        wait = float(asked) if asked.isdigit() else None
        return _PassingError(f"the server answered {error.code} {error.reason}", wait)
    if 300 <= error.code < 400:
        return FetchError(
            f"{url}: the server's redirects go in a circle or lead to something other than http."
        )
    return FetchError(f"{url}: the server answered {error.code} {error.reason}.")


class _HttpOnly(urllib.request.HTTPRedirectHandler):
    """Follow redirects, but never out of http and never from https down to http."""

    max_redirections = 10

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any,
        newurl: str,
    ) -> urllib.request.Request | None:  # fmt: skip
        if urlsplit(newurl).scheme not in ("https", urlsplit(req.full_url).scheme):
            fp.close()
            raise FetchError(
                f"{req.full_url}: leads to {newurl}, which is not followed: only http and https "
                "are, and never from https to http."
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _open(request: urllib.request.Request, patience: Patience) -> HTTPResponse:
    # built by hand: the usual opener would also know file:, ftp: and data:
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        _HttpOnly(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
    ):
        opener.add_handler(handler)
    answer: HTTPResponse = opener.open(request, timeout=patience.timeout_s)
    return answer


def _headers() -> dict[str, str]:
    # packed on the way, ranges and checksums would be those of other bytes
    return {"User-Agent": f"prophase/{__version__}", "Accept-Encoding": "identity"}


def _length_after_slash(answer: HTTPResponse | urllib.error.HTTPError) -> int | None:
    total = str(answer.headers.get("Content-Range", "")).rpartition("/")[2]
    return int(total) if total.isdigit() else None


def _words(cause: Exception) -> str:
    reason = getattr(cause, "reason", cause)
    if isinstance(reason, TimeoutError):
        return "no answer in time"
    return f"the connection failed ({reason or type(cause).__name__})"


def _note_of(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    _note_of(part).unlink(missing_ok=True)
