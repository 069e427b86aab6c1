"""Fetch a public trace: every file complete, checked, and on record.

A folder of fetched files carries ``SHA256SUMS``, which ``sha256sum -c`` understands. A
file whose owner publishes a checksum must have it. One without is taken as it comes the
first time; from then on the record is what it must have, so a later change is noticed.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from prophase.atomic_files import held_by_one, write_whole
from prophase.errors import FetchError, StorageError
from prophase.trace.fetch.catalogue import PublicTrace, RemoteFile
from prophase.trace.fetch.download import Patience, download, read_text, refuse_other_schemes
from prophase.trace.source_files import file_hash

RECORD = "SHA256SUMS"
#: what vouches for a file: the owner, copies of it, the owner's list, our record, or nothing yet
Voucher = Literal["owner", "copies", "list", "record", "first"]
VOUCHERS: dict[Voucher, str] = {
    "owner": "checksum published by the owner",
    "copies": "checksum found on copies of this version",
    "list": "checksum from the list next to the files",
    "record": "checksum recorded when it was first fetched",
    "first": "no checksum is published: recorded now, checked from now on",
}
#: called with what is being fetched and how far it is, 0..100 (None: not known)
Progress = Callable[[str, float | None], object]

_SUM_LINE = re.compile(r"([0-9a-f]{64})[ \t]+\*?(?:\./)?(\S.*?)\s*")


@dataclass(frozen=True)
class FetchedFile:
    """What became of one file."""

    name: str
    state: Literal["fetched", "already there"]
    size: int
    sha256: str
    voucher: Voucher


@dataclass(frozen=True)
class FetchReport:
    """What a fetch brought, and from where."""

    source: str
    folder: Path
    files: tuple[FetchedFile, ...]
    notes: tuple[str, ...] = field(default=())


def fetch(
    trace: PublicTrace,
    folder: Path | str,
    *,
    only: Sequence[str] = (),
    mirror: str | None = None,
    progress: Progress = lambda step, percent: None,
    patience: Patience | None = None,
) -> FetchReport:
    """Bring the files of a public trace into a folder and check them.

    What is there and right is not fetched again. An interrupted fetch goes on where it
    stopped. A wrong checksum keeps nothing, and leaves a good file as it was.

    Parameters
    ----------
    trace : PublicTrace
        An entry of the catalogue: see ``catalogue.public_trace``.
    only : sequence of str
        Patterns of file names; without it, all files that are not optional.
    mirror : str, optional
        Address of a folder that holds the files under the same names.
    """
    target = Path(folder)
    chosen = trace.chosen(only)
    if mirror is not None:
        refuse_other_schemes(mirror)
    with _alone(target):
        _refuse_if_too_large(target, chosen)
        listed, notes = _listed_sums(trace, mirror, patience)
        record = read_record(target)
        done = []
        for file in chosen:
            errand = _Errand(file, target, *_expected(file, listed, record))
            one = errand.present() or errand.bring(trace, mirror, progress, patience)
            record[file.name] = one.sha256
            _write_record(target, trace, record)
            done.append(one)
    return FetchReport(trace.name, target, tuple(done), tuple(notes))


def read_record(folder: Path) -> dict[str, str]:
    """Return the hashes on record in a folder, by file name."""
    path = folder / RECORD
    return parse_sums(path.read_text(encoding="utf-8")) if path.is_file() else {}


def parse_sums(text: str) -> dict[str, str]:
    """Read lines of ``sha256sum``; whatever else stands there is passed over.

    Examples
    --------
    >>> list(parse_sums("# a list\\n" + "0" * 64 + " *./job_events/a.csv.gz\\n"))
    ['job_events/a.csv.gz']
    """
    matches = (_SUM_LINE.fullmatch(line) for line in text.splitlines())
    return {match[2]: match[1] for match in matches if match}


def _listed_sums(
    trace: PublicTrace, mirror: str | None, patience: Patience | None
) -> tuple[dict[str, str], list[str]]:
    """Return the owner's checksums, where there is a list of them."""
    if trace.sums is None:
        return {}, []
    address = trace.sums if mirror is None else _below(mirror, trace.sums.rpartition("/")[2])
    try:
        listed = parse_sums(read_text(address, patience=patience))
    except FetchError as cause:
        listed, why = {}, str(cause)
    else:
        why = f"{address}: holds no SHA-256 lines."
    if listed:
        return listed, []
    return {}, [f"The owner's list of checksums was not used. {why}"]


def _expected(
    file: RemoteFile, listed: dict[str, str], record: dict[str, str]
) -> tuple[str | None, Voucher]:
    """Return the hash a file must have, and who says so; the owner's word goes first."""
    if file.sha256 is not None:
        return file.sha256, "owner" if file.basis == "owner" else "copies"
    if file.name in listed:
        return listed[file.name], "list"
    if file.name in record:
        return record[file.name], "record"
    return None, "first"


@dataclass(frozen=True)
class _Errand:
    """One file to have: where, with which hash, and who vouches for it."""

    file: RemoteFile
    folder: Path
    wanted: str | None
    voucher: Voucher

    @property
    def path(self) -> Path:
        return self.folder / self.file.name

    def present(self) -> FetchedFile | None:
        """Return what is already there, if it is right or nothing says that it is not."""
        if not self.path.is_file():
            return None
        found = file_hash(self.path)
        return self._done("already there", found) if self.wanted in (None, found) else None

    def bring(
        self,
        trace: PublicTrace,
        mirror: str | None,
        progress: Progress,
        patience: Patience | None,
    ) -> FetchedFile:
        """Try one address after the other."""

        def report(done: int, total: int | None) -> None:
            whole = total or self.file.size
            step = f"{self.file.name} ({done / 1e6:,.1f} MB)"
            progress(step, min(100.0, 100 * done / whole) if whole else None)

        said = []
        addresses = self.file.urls if mirror is None else (_below(mirror, self.file.name),)
        for address in addresses:
            try:
                found = download(
                    address, self.path, sha256=self.wanted, progress=report, patience=patience
                )
            except FetchError as cause:
                said.append(str(cause))
                continue
            return self._done("fetched", found)
        by_hand = f"Or fetch it by hand ({trace.page}) into {self.path}, then run again to verify."
        if self.voucher == "record":
            said.append(
                "The expected hash is the one recorded at the first fetch. If the new file is the "
                f"right one, delete its line in {self.folder / RECORD} and run again."
            )
        raise FetchError(f"{self.file.name} could not be fetched.\n" + "\n".join([*said, by_hand]))

    def _done(self, state: Literal["fetched", "already there"], found: str) -> FetchedFile:
        size = self.path.stat().st_size
        return FetchedFile(self.file.name, state, size, found, self.voucher)


def _refuse_if_too_large(folder: Path, chosen: Sequence[RemoteFile]) -> None:
    """Stop before hours of fetching end on a full disk."""
    missing = sum(file.size or 0 for file in chosen if not (folder / file.name).is_file())
    free = shutil.disk_usage(folder).free
    if missing > free:
        raise StorageError(
            f"{folder}: about {missing / 1e9:,.1f} GB are to be fetched and {free / 1e9:,.1f} GB "
            "are free. Choose another folder with --out, or fewer files with --only."
        )


def _below(folder: str, name: str) -> str:
    return folder.rstrip("/") + "/" + name


def _write_record(folder: Path, trace: PublicTrace, record: dict[str, str]) -> None:
    today = datetime.now(UTC).date().isoformat()
    head = [
        f"# {trace.title}",
        f"# {trace.page}",
        f"# licence: {trace.licence}; cite: {trace.cite}",
        f"# last fetched {today}; check with: sha256sum -c {RECORD}",
    ]
    lines = [f"{digest}  {name}" for name, digest in sorted(record.items())]
    write_whole(folder / RECORD, "\n".join([*head, *lines]) + "\n")


def _alone(folder: Path) -> AbstractContextManager[None]:
    """Hold the folder, so that two fetches do not write into the same part."""
    busy = f"{folder}: another fetch is writing here. Wait until it has finished."
    return held_by_one(folder / ".fetching", FetchError(busy))
