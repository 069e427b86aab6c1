"""The audit log: who changed what, when, from where. Lines are added and never changed.

Each line holds the SHA-256 of the line before it, so a line that was changed, removed or put in
between is noticed. It has names of tokens, routes and counts; never a token, a body or a query.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from fcntl import LOCK_EX, flock
from pathlib import Path

from prophase.errors import FormatError, storage_error
from prophase.json_types import JsonMapping, JsonObject
from prophase.trace.workspace_paths import SERVICE
from prophase.write_queue import WriteQueue

log = logging.getLogger("prophase.serve")
#: what the first line holds in place of the line before it
_BEGINNING = "0" * 64
#: routes that answer a question and change nothing
_QUESTIONS = frozenset(
    (
        "/v1/ask", "/v1/predict", "/v1/bins", "/v1/nodes", "/v1/phases", "/ask/file",
        "/v1/submit/kubernetes", "/v1/submit/slurm", "other",
    )
)  # fmt: skip
_SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))


def is_audited(method: str, route: str, status: int) -> bool:
    """Say whether a request belongs into the audit log: a change, or one that was not allowed.

    Examples
    --------
    >>> is_audited("POST", "/v1/observe", 200), is_audited("POST", "/v1/predict", 200)
    (True, False)
    >>> is_audited("GET", "/v1/workspace", 403), is_audited("GET", "/v1/workspace", 401)
    (True, False)
    """
    if status == 403:
        return True
    return method not in _SAFE and route not in _QUESTIONS


@dataclass(frozen=True)
class AuditEntry:
    """One change."""

    #: when, in UTC
    at: str
    #: name of the token, or of the user of this machine
    who: str
    role: str
    #: address it came from
    address: str
    #: method and route, or the command
    what: str
    #: HTTP status; 0 where there was none
    status: int = 0
    details: JsonMapping = field(default_factory=dict)
    #: SHA-256 of the line before
    before: str = ""


class AuditLog:
    """The audit log of a workspace, in ``service/audit.jsonl``.

    Parameters
    ----------
    folder : path
        The workspace.

    Examples
    --------
    >>> audit = AuditLog(getfixture("tmp_path"))
    >>> audit.add("ann", "admin", "10.0.0.7", "POST /v1/learn", status=202)
    >>> audit.close()
    >>> [(one.who, one.what, one.status) for one in audit.entries()], audit.broken_at()
    ([('ann', 'POST /v1/learn', 202)], None)
    """

    def __init__(self, folder: Path | str) -> None:
        self.path = Path(folder) / SERVICE / "audit.jsonl"
        self._waiting = WriteQueue[AuditEntry](self._write, name="audit")

    def add(
        self,
        who: str,
        role: str,
        address: str,
        what: str,
        *,
        status: int = 0,
        details: JsonMapping | None = None,
    ) -> None:
        """Note a change; it is written in the background, in the order of the calls."""
        self._waiting.put(AuditEntry(_now(), who, role, address, what, status, dict(details or {})))

    def close(self) -> None:
        """Write what waits, then stop."""
        self._waiting.close()

    def entries(self) -> Iterator[AuditEntry]:
        """Return every entry, the oldest first."""
        for number, line in enumerate(self._lines(), start=1):
            try:
                yield AuditEntry(**json.loads(line))
            except (ValueError, TypeError) as cause:
                raise FormatError(
                    f"{self.path} line {number}: is no entry of the audit log. It was changed, or "
                    "the disk was full; see the lines around it."
                ) from cause

    def broken_at(self) -> int | None:
        """Return the first line that does not follow the one before it; None if all do."""
        before = _BEGINNING
        for number, line in enumerate(self._lines(), start=1):
            try:
                told = json.loads(line)["before"]
            except (ValueError, KeyError, TypeError):
                return number
            if told != before:
                return number
            before = hashlib.sha256(line).hexdigest()
        return None

    def _lines(self) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as held:
                for line in held:
                    yield line.rstrip(b"\n")
        except FileNotFoundError:
            return
        except OSError as cause:
            raise storage_error(cause, self.path) from cause

    def _write(self, entries: list[AuditEntry]) -> None:
        try:
            append(self.path, entries)
        except OSError as cause:
            log.error("%s", storage_error(cause, self.path))


def note_command(folder: Path, what: str, details: JsonMapping) -> None:
    """Note what somebody did with a command on this machine."""
    try:
        who = getpass.getuser()
    except (KeyError, OSError):
        who = str(os.getuid())
    log_of = AuditLog(folder)
    try:
        append(log_of.path, [AuditEntry(_now(), who, "command", "local", what, 0, dict(details))])
    except OSError as cause:
        raise storage_error(cause, log_of.path) from cause


def append(path: Path, entries: list[AuditEntry]) -> None:
    """Add entries at the end of a file while no other process does; they reach the disk."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(opened, "r+b", buffering=0) as held:
        flock(held, LOCK_EX)
        last = _last_line(opened)
        # a line that a full disk has cut off stays as it is; the next begins anew
        text = b"" if last is None or last.endswith(b"\n") else b"\n"
        before = _BEGINNING if last is None else _digest(last.rstrip(b"\n"))
        for entry in entries:
            told: JsonObject = {**asdict(entry), "before": before}
            line = json.dumps(told, sort_keys=True, ensure_ascii=True).encode()
            before = _digest(line)
            text += line + b"\n"
        held.write(text)
        os.fsync(opened)


def _last_line(opened: int) -> bytes | None:
    """Return the last line of a file, with its end if it has one."""
    size = os.fstat(opened).st_size
    if not size:
        return None
    step = 4096
    while True:
        begin = max(size - step, 0)
        tail = os.pread(opened, size - begin, begin)
        cut = tail.rfind(b"\n", 0, len(tail) - 1)
        if cut >= 0 or begin == 0:
            return tail[cut + 1 :]
        step *= 4


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
