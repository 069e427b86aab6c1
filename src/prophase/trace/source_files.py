"""Find, unpack and vouch for the files of a dump.

Engines only ever see plain text files. Compressed ones are unpacked once into a
scratch folder, which verifies them (DuckDB reads a truncated .gz without a word)
and lets a CSV be read on all cores.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, Any

from prophase.errors import FormatError, MissingFileError, storage_error, storage_errors
from prophase.plural import as_typed


class _Zst(io.RawIOBase):
    """A zstd file as a stream of bytes; one that is cut or damaged ends like other such files."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        self._file = path.open("rb")
        self._stream = pa.CompressedInputStream(self._file, "zstd")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            chunk = self._stream.read(len(buffer))
        except OSError as cause:
            raise EOFError(str(cause)) from cause
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        self._file.close()
        super().close()


_STREAMS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": lambda path: io.BufferedReader(_Zst(path)),
}
_ARCHIVES = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar", ".zip")
_CHUNK = 1 << 20
#: how Parquet files begin and end
_PARQUET = b"PAR1"
#: how compressed files begin, whatever their name
_MARKS = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}


@dataclass(frozen=True)
class SourceFile:
    """One table of a dump as plain text, and the file it came from."""

    path: Path
    origin: Path

    @property
    def name(self) -> str:
        """Name without folder and without compression suffix."""
        return self.path.name

    @property
    def stem(self) -> str:
        return self.path.name.split(".")[0]


def files_below(root: Path) -> list[Path]:
    """Return the file itself, or every visible file below a folder, in name order."""
    with storage_errors(root):
        there = root.exists()
        if root.is_dir():
            # rglob passes over a folder that may not be read
            next(root.iterdir(), None)
    if not there:
        raise MissingFileError(
            f"{root}: there is nothing at this path. Check the spelling; relative paths start "
            f"at {Path.cwd()}."
        )
    if root.is_file():
        return [root]
    found = sorted(
        path
        for path in root.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(root).parts)
    )
    if not found:
        raise MissingFileError(f"{root}: the folder holds no files. Point to the trace's folder.")
    return found


def plain_name(path: Path) -> str:
    """Return the name a file has once unpacked."""
    for suffix in (*_ARCHIVES, *_STREAMS):
        if path.name.endswith(suffix):
            return path.name.removesuffix(suffix)
    return path.name


def matches(path: Path, patterns: Sequence[str]) -> bool:
    """Return whether the unpacked name fits one of the patterns."""
    return any(fnmatch(plain_name(path), pattern) for pattern in patterns)


def unpack(path: Path, scratch: Path, advance: Callable[[int], object]) -> list[SourceFile]:
    """Return the plain text files inside ``path``; a plain file is returned as it is.

    What has been unpacked before is used again, so an interrupted import goes on.
    """
    try:
        if path.name.endswith(_ARCHIVES):
            return [
                SourceFile(_write_once(_own_folder(scratch, path) / name, stream, advance), path)
                for name, stream in _members(path)
            ]
        if path.suffix in _STREAMS:
            with _STREAMS[path.suffix](path) as stream:
                target = _own_folder(scratch, path.parent) / path.stem
                plain = _write_once(target, stream, advance)
            return [SourceFile(plain, path)]
    except (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile) as cause:
        raise FormatError(
            f"{path}: the compressed data end too early or are damaged. "
            "Copy or fetch the file again."
        ) from cause
    except (gzip.BadGzipFile, ValueError) as cause:
        raise FormatError(f"{path}: is not the {path.suffix} file its name says.") from cause
    except OSError as cause:
        full = cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise storage_error(cause, cause.filename or (scratch if full else path)) from cause
    return [SourceFile(path, path)]


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading, through its compression if it has one."""
    if path.suffix not in _STREAMS:
        return path.open("rb")
    stream: IO[bytes] = _STREAMS[path.suffix](path)
    return stream


def _own_folder(scratch: Path, origin: Path) -> Path:
    """Keep files of one name apart: many traces have the same file once per cluster."""
    return scratch / combined_hash([origin.resolve()])[:8]


def _members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the regular files of an archive under their names in it."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if not info.is_dir():
                    yield _inside(info.filename), archive.open(info)
        return
    with tarfile.open(path) as tar:
        for member in tar:
            stream = tar.extractfile(member)
            if stream is not None:
                yield _inside(member.name), stream


def _inside(name: str) -> str:
    """Return a member's name without anything that leads out of the folder it is put in."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return "/".join(parts).replace(":", "_")


def _write_once(target: Path, stream: IO[bytes], advance: Callable[[int], object]) -> Path:
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    with part.open("wb") as out:
        while chunk := stream.read(_CHUNK):
            out.write(chunk)
            advance(len(chunk))
    return part.rename(target)


def first_lines(path: Path, count: int = 2, *, shown: Path | None = None) -> list[str]:
    """Return the first lines of a text file, refusing what is empty or not text.

    Errors name ``shown``, the file of the user, if ``path`` is an unpacked copy.
    """
    shown = shown or path
    with storage_errors(shown), path.open("rb") as handle:
        block = 1 << 22 if count > 1 else 1 << 20
        head = handle.read(block)
    return decoded(head, shown, cut=len(head) == block).splitlines()[:count]


def is_parquet(path: Path) -> bool:
    """Return whether a file begins as a Parquet file does, whatever its name."""
    with storage_errors(path), path.open("rb") as handle:
        return handle.read(len(_PARQUET)) == _PARQUET


def parquet_columns(path: Path, *, shown: Path | None = None) -> list[str]:
    """Return the column names of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as cause:
        raise FormatError(
            f"{shown or path}: is a Parquet file that is cut or damaged. Copy or fetch it again."
        ) from cause


def parquet_rows(path: Path, count: int) -> list[dict[str, Any]]:
    """Return the first rows of a Parquet file."""
    import pyarrow.parquet as pq

    part = next(pq.ParquetFile(path).iter_batches(batch_size=count), None)
    return [] if part is None else part.to_pylist()


def refuse_no_text(path: Path) -> None:
    """Stop at a file that is empty, binary or in another encoding; archives are not opened."""
    if path.is_file() and not path.name.endswith(_ARCHIVES) and not is_parquet(path):
        try:
            with open_bytes(path) as stream:
                head = stream.read(_CHUNK)
        except (EOFError, zlib.error, lzma.LZMAError, OSError):
            # reported better where the file is unpacked
            return
        decoded(head, path, cut=len(head) == _CHUNK)


def decoded(head: bytes, shown: Path, *, cut: bool) -> str:
    """Return the beginning of a file as text, or refuse it if it is empty or not UTF-8.

    ``cut``: the file may go on, so that the last bytes may be a part of a character.
    """
    if not head.strip():
        raise FormatError(f"{shown}: the file is empty. Export or fetch it again.")
    encoding = _utf16(head)
    if encoding:
        raise FormatError(f"{shown}: is UTF-16 text, not UTF-8: {_recode(shown, encoding)}")
    for mark, suffix in _MARKS.items():
        if head.startswith(mark):
            raise FormatError(
                f"{shown}: is compressed ({suffix}) although its name does not say so. Rename it: "
                f"mv {as_typed(shown)} {as_typed(f'{shown}{suffix}')}"
            )
    if head.startswith(_PARQUET):
        raise FormatError(
            f'{shown}: is a Parquet file. Write it as CSV, for example: python -c "import pandas; '
            f"pandas.read_parquet('{shown}').to_csv('{shown.stem}.csv', index=False)\""
        )
    if b"\x00" in head[:65536]:
        raise FormatError(
            f"{shown}: is a binary file or an archive, not text. Unpack it, or point to the CSV."
        )
    try:
        return head.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        if cut and cause.start >= len(head) - 4:
            return head[: cause.start].decode("utf-8-sig")
        above = head.count(b"\n", 0, cause.start)
        raise not_utf8(shown, above + 1, head.split(b"\n")[above]) from cause


def _utf16(head: bytes) -> str:
    """Return the name of the encoding if it is given by a mark, or by zeros between letters."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    even, odd = head[0:4096:2], head[1:4096:2]
    for zeros, letters, name in ((odd, even, "UTF-16LE"), (even, odd, "UTF-16BE")):
        if 0 not in letters and 2 * zeros.count(0) > len(zeros) > 1:
            return name
    return ""


def not_utf8(path: Path, number: int, line: bytes) -> FormatError:
    """Say which line is not UTF-8 text, and how to make it so."""
    return FormatError(
        f"{path} line {number}: {line[:80]!r} is not UTF-8 text. Save the file as UTF-8. "
        f"If it is Latin-1: {_recode(path, 'LATIN1')}"
    )


def _recode(path: Path, encoding: str) -> str:
    old, new = as_typed(plain_name(path)), as_typed(f"utf8-{plain_name(path)}")
    return f"convert it with: iconv -f {encoding} -t UTF-8 {old} > {new}"


def first_line_not_utf8(path: Path) -> tuple[int, bytes] | None:
    """Return number and bytes of the first line that is not UTF-8 text (reads the whole file)."""
    with path.open("rb") as handle:
        for number, line in enumerate(handle, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number, line
    return None


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with storage_errors(path), path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def combined_hash(parts: Sequence[object]) -> str:
    """Return one SHA-256 over several strings, in their order."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(str(part).encode() + b"\x00")
    return digest.hexdigest()
