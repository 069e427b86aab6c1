"""save_model, load_model: learnt models as one safe, checked file.

A model file is a zip that any unzip program opens:

    manifest.json    format, kind, columns, data hash, seed, SHA-256 of every other member
    meta.json        settings and small learnt values
    arrays.npz       NumPy arrays, none of them of Python objects
    blobs/NAME       bytes in a library's own format, such as XGBoost's UBJSON

The zip comment ends in the SHA-256 of all bytes before it, so a damaged file is
refused before anything in it is interpreted. Nothing is compressed: the same
model gives the same bytes on every machine, and a file cannot unpack to more
than its size. No pickle is ever read or written, so a file cannot run code.

A file is read once, and its arrays are used where they lie: a model of a million
jobs is there in a tenth of a second. It is not mapped, since a mapped file that
somebody overwrites would change a model that was checked, or end the process.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophase.atomic_files import write_whole
from prophase.errors import ModelFileError, ParameterError, storage_error
from prophase.version import __version__

FORMAT = "prophase-model"
#: raised when an older reader could misread a newer file
FORMAT_VERSION = 1
#: larger models are refused when saved and when loaded
MAX_BYTES = 2 << 30

_MANIFEST, _META, _ARRAYS, _BLOBS = "manifest.json", "meta.json", "arrays.npz", "blobs/"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")
#: the last bytes of a model file: this mark, then 64 hexadecimal digits
_MARK = FORMAT.encode() + b" sha256 "
_TAIL = len(_MARK) + 64
#: the earliest date a zip can hold; a real one would change the bytes
_DATE = (1980, 1, 1, 0, 0, 0)
#: members begin at multiples of this, so that arrays can be used where they lie
_ALIGNED = 64
#: what a zip calls a field that only fills up
_FILLING = 0xD935
#: of a zip's header of a member: all of it, and where the lengths of name and fields stand
_HEADER, _LENGTHS = 30, slice(26, 30)

#: how foreign files begin, and what they are
_FOREIGN = (
    (b"\x80\x02", "a pickle"),
    (b"\x80\x03", "a pickle"),
    (b"\x80\x04", "a pickle"),
    (b"\x80\x05", "a pickle"),
    (b"\x89HDF", "an HDF5 file (Keras, PyTables)"),
    (b"\x93NUMPY", "a NumPy array file"),
    (b"\x1f\x8b", "gzip data (perhaps a compressed pickle or joblib file)"),
    (b"BZh", "bzip2 data (perhaps a compressed pickle or joblib file)"),
    (b"\xfd7zXZ", "xz data (perhaps a compressed pickle or joblib file)"),
    (b"\x78", "zlib data (perhaps a compressed joblib file)"),
    (b"PAR1", "a Parquet table"),
    (b"SQLite", "a SQLite database"),
    (b"{L", "a bare UBJSON model (XGBoost)"),
    (b"{", "JSON text"),
)


@dataclass(frozen=True)
class Parts:
    """What a model file keeps of something learnt, before the model adds its own."""

    meta: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    blobs: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    """What a model file holds, and where it came from."""

    kind: str
    meta: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    blobs: Mapping[str, bytes]
    #: the columns the model reads, in its order
    columns: tuple[str, ...]
    #: hash of the data it learnt from
    data_hash: str
    seed: int | None
    #: version of Prophase that wrote it
    version: str
    #: SHA-256 over the whole file; two files with the same one hold the same model
    checksum: str


def save_model(
    path: Path | str,
    *,
    kind: str,
    meta: Mapping[str, Any] | None = None,
    arrays: Mapping[str, NDArray[Any]] | None = None,
    blobs: Mapping[str, bytes] | None = None,
    columns: Sequence[str] = (),
    data_hash: str = "",
    seed: int | None = None,
) -> str:
    """Write a model to one file and return its checksum.

    The file appears whole or not at all, and the same model gives the same bytes.

    Parameters
    ----------
    path : path
        Where to write; a file that is there is replaced.
    kind : str
        What the model is, such as ``"sizing.peak"``. Loading asks for it by this name.
    meta : mapping, optional
        Settings and small learnt values: what JSON can hold and gives back unchanged.
    arrays : mapping of name to array, optional
        Learnt numbers and text. Arrays of Python objects are refused.
    blobs : mapping of name to bytes, optional
        Parts in a library's own safe format.
    columns : sequence of str
        Columns the model reads, in its order.
    data_hash : str
        Hash of the data it learnt from.
    seed : int, optional
        Seed of everything random in its making.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> checksum = save_model(
    ...     folder / "peak.model", kind="sizing.peak", arrays={"peak_gib": np.array([4.0])}
    ... )
    >>> load_model(folder / "peak.model", kind="sizing.peak").arrays["peak_gib"]
    array([4.])
    """
    target = Path(path)
    _check_words(kind, columns, data_hash, seed)
    members = {
        _META: _json_bytes(_checked_meta(dict(meta or {}))),
        _ARRAYS: _npz_bytes(arrays or {}),
        **{_BLOBS + _checked_name("blob", name): bytes(b) for name, b in (blobs or {}).items()},
    }
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "prophase_version": __version__,
        "kind": kind,
        "columns": list(columns),
        "data_hash": data_hash,
        "seed": seed,
        "members": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in sorted(members.items())
        },
    }
    if sum(map(len, members.values())) > MAX_BYTES:
        raise ParameterError(
            f"{target}: the model is larger than {MAX_BYTES >> 30} GiB and was not saved. "
            "Learn a smaller one: fewer trees, fewer kept samples, float32 arrays."
        )
    content = _zip_bytes({_MANIFEST: _json_bytes(manifest), **dict(sorted(members.items()))})
    write_whole(target, content)
    return content[-64:].decode()


def load_model(path: Path | str, kind: str | None = None) -> Model:
    """Return the model in a file, or say why the file cannot be trusted.

    Parameters
    ----------
    path : path
        A file written by ``save_model``.
    kind : str, optional
        The kind that is needed; a model of another kind is refused.

    Raises
    ------
    ModelFileError
        The file is damaged, truncated, foreign, newer than this version, or another kind.
    """
    source = Path(path)
    content = _read(source)
    _refuse_foreign(source, content)
    _refuse_damaged(source, content)
    members = _members(source, content)
    manifest = _manifest(source, members)
    if kind is not None and manifest["kind"] != kind:
        raise ModelFileError(
            f"{source}: holds a model of kind {manifest['kind']!r}, but {kind!r} is needed. "
            "Point to the other file, or train the model that is needed."
        )
    return Model(
        kind=manifest["kind"],
        meta=_parse_json(source, _META, members[_META]),
        arrays=_arrays(source, members[_ARRAYS]),
        blobs={
            name.removeprefix(_BLOBS): bytes(content)
            for name, content in members.items()
            if name.startswith(_BLOBS)
        },
        columns=tuple(manifest["columns"]),
        data_hash=manifest["data_hash"],
        seed=manifest["seed"],
        version=manifest["prophase_version"],
        checksum=bytes(content[-64:]).decode(),
    )


# saving


def _check_words(kind: str, columns: Sequence[str], data_hash: str, seed: int | None) -> None:
    _checked_name("kind", kind)
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise ParameterError(f"columns is {columns!r}. Pass a list of column names.")
    if not isinstance(data_hash, str):
        raise ParameterError(f"data_hash is {data_hash!r}. Pass the hash as text.")
    if seed is not None and type(seed) is not int:
        raise ParameterError(
            f"seed is {seed!r}. Pass a whole number, or None if nothing is random."
        )


def _checked_name(what: str, name: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ParameterError(
            f"{what} name {name!r}: use letters, digits, '_', '-' and '.', at most 100, "
            "and begin with a letter, a digit or '_'."
        )
    return name


def _checked_meta(meta: dict[str, Any]) -> dict[str, Any]:
    """Refuse what JSON would turn into something else without a word."""
    try:
        returned = json.loads(json.dumps(meta, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as cause:
        raise ParameterError(
            f"meta cannot be written as JSON: {cause}. Keep to text, finite numbers, lists and "
            "dictionaries; put NumPy values and non-finite numbers into arrays."
        ) from cause
    if returned != meta:
        changed = next(key for key in meta if returned.get(key) != meta[key])
        raise ParameterError(
            f"meta[{changed!r}] would come back different from JSON. Use lists instead of tuples "
            "and text as keys."
        )
    return meta


def _json_bytes(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, indent=1, allow_nan=False).encode("utf-8") + b"\n"


def _npz_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    members = {}
    for name, value in sorted(arrays.items()):
        array = _checked_array(_checked_name("array", name), value)
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
        members[name + ".npy"] = buffer.getvalue()
    return _zip_bytes(members, seal=False)


def _checked_array(name: str, value: NDArray[Any]) -> NDArray[Any]:
    if isinstance(value, np.ma.MaskedArray):
        raise ParameterError(
            f"array {name!r} is masked, and a file would lose its mask. Save .filled(np.nan), "
            "or data and mask as two arrays."
        )
    array = np.asarray(value)
    if array.dtype.hasobject or array.dtype.kind in "OT":
        raise ParameterError(
            f"array {name!r} holds Python objects ({array.dtype}), which only a pickle could keep. "
            "Convert it: numbers to float64 or int64, text with .astype('U'), categories to codes "
            "and a list of names."
        )
    if array.dtype.names is not None:
        raise ParameterError(f"array {name!r} has named fields. Save one array per field.")
    return array


def _zip_bytes(members: Mapping[str, bytes], *, seal: bool = True) -> bytes:
    """Return an uncompressed zip whose bytes depend on nothing but its members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _DATE)
            info.external_attr = 0o644 << 16
            info.create_system = 3
            info.extra = _filling(buffer.tell() + _HEADER + len(name.encode()))
            archive.writestr(info, content)
        if seal:
            archive.comment = _MARK + b"0" * 64
    if not seal:
        return buffer.getvalue()
    sealed = buffer.getbuffer()
    digest = hashlib.sha256(sealed[:-64]).hexdigest().encode()
    sealed[-64:] = digest
    sealed.release()
    return buffer.getvalue()


def _filling(place: int) -> bytes:
    """Return a field of a zip that moves what follows to the next multiple."""
    missing = -place % _ALIGNED
    if not missing:
        return b""
    # number and length of a field take four bytes
    empty = (missing - 4) % _ALIGNED
    return struct.pack("<HH", _FILLING, empty) + bytes(empty)


# loading


def _read(source: Path) -> memoryview:
    if not source.is_file():
        raise ModelFileError(f"{source}: there is no model file at this path. Train and save one.")
    try:
        size = source.stat().st_size
        # members, and room for the manifest and the zip's own directory
        if size > MAX_BYTES + (64 << 20):
            raise ModelFileError(
                f"{source}: is {size / 2**30:.1f} GiB; model files have at most "
                f"{MAX_BYTES >> 30} GiB. Check that it is a model file."
            )
        # arrays are changed where they lie; bytes could not be
        content = bytearray(size)
        with source.open("rb") as handle:
            return memoryview(content)[: handle.readinto(content)]
    except OSError as cause:
        raise storage_error(cause, source) from cause


def _refuse_foreign(source: Path, content: memoryview) -> None:
    if not content:
        raise ModelFileError(f"{source}: is empty. Copy the model file again, or train again.")
    begin = bytes(content[:100])
    what = next((text for start, text in _FOREIGN if begin.startswith(start)), None)
    if begin.startswith(b"PK") and _MANIFEST.encode() not in begin:
        what = _kind_of_zip(content)
    elif what is None and not begin.startswith(b"PK"):
        what = "of no kind that is known"
    if what is not None:
        raise ModelFileError(
            f"{source}: is not a Prophase model file; it is {what}. Prophase never loads pickle, "
            "joblib or other files that can run code. Train the model with Prophase and save it."
        )


def _kind_of_zip(content: memoryview) -> str:
    try:
        with zipfile.ZipFile(_InMemory(content)) as archive:
            names = archive.namelist()
    except Exception:
        return "a zip that is damaged or cut off"
    if any(name.endswith("data.pkl") for name in names):
        return "a PyTorch checkpoint, which is a pickle"
    if names and all(name.endswith(".npy") for name in names):
        return "a NumPy .npz file"
    return "some other zip"


def _refuse_damaged(source: Path, content: memoryview) -> None:
    tail = bytes(content[-_TAIL:])
    right = hashlib.sha256(content[:-64]).hexdigest().encode()
    if not tail.startswith(_MARK) or tail[-64:] != right:
        raise ModelFileError(
            f"{source}: is damaged: it was truncated, changed or repacked after it was saved. "
            "Copy it again from where it was made, or train the model again."
        )


def _crafted(source: Path, what: str, cause: Exception | None = None) -> ModelFileError:
    """Return the error for a file whose checksum fits and whose content does not."""
    error = ModelFileError(
        f"{source}: {what}. Prophase did not write this file; do not use it, and ask where it "
        "came from."
    )
    error.__cause__ = cause
    return error


class _InMemory(io.RawIOBase):
    """A file whose bytes are in memory; they are not copied before they are read."""

    def __init__(self, content: memoryview) -> None:
        self._content, self._place = content, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place}.get(whence, len(self._content))
        if place < 0:
            raise OSError("before the first byte")
        self._place = place
        return place

    def readinto(self, buffer: Any) -> int:
        found = self._content[self._place : self._place + len(buffer)]
        buffer[: len(found)] = found
        self._place += len(found)
        return len(found)


def _stored(content: memoryview, info: zipfile.ZipInfo) -> memoryview:
    """Return a member's bytes where they lie."""
    begin = info.header_offset
    name, fields = struct.unpack("<HH", content[begin:][_LENGTHS])
    begin += _HEADER + name + fields
    found = content[begin : begin + info.file_size]
    if len(found) != info.file_size or info.compress_size != info.file_size:
        raise zipfile.BadZipFile(f"{info.filename!r} is not where the directory says")
    return found


def _members(source: Path, content: memoryview) -> dict[str, memoryview]:
    """Return the members of the zip: stored as they are, each name once and without a path."""
    try:
        with zipfile.ZipFile(_InMemory(content)) as archive:
            infos = archive.infolist()
        found: dict[str, memoryview] = {}
        for info in infos:
            bare = info.filename.removeprefix(_BLOBS)
            if not _NAME.fullmatch(bare) or info.filename in found:
                raise _crafted(source, f"the member {info.filename!r} is not allowed")
            if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & ~0x800:
                raise _crafted(source, f"the member {info.filename!r} is packed or encrypted")
            found[info.filename] = _stored(content, info)
            # the seal speaks of all bytes; this one finds a seal that was made anew
            if zlib.crc32(found[info.filename]) != info.CRC:
                raise _crafted(source, f"the member {info.filename!r} was changed")
        if sum(map(len, found.values())) > len(content):
            raise _crafted(source, "its members claim more bytes than the file has")
        return found
    except ModelFileError:
        raise
    except Exception as cause:  # zipfile lets many kinds through: struct, index, Unicode errors
        raise _crafted(source, "the zip directory does not fit", cause) from cause


def _manifest(source: Path, members: Mapping[str, memoryview]) -> dict[str, Any]:
    manifest = _parse_json(source, _MANIFEST, members.get(_MANIFEST, memoryview(b"")))
    version = manifest.get("format_version")
    if manifest.get("format") != FORMAT or type(version) is not int or version < 1:
        raise _crafted(source, "the manifest does not say that it is a Prophase model")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{source}: has format {version}, written by Prophase "
            f"{str(manifest.get('prophase_version'))[:30]}; this is Prophase {__version__}, which "
            f"reads up to format {FORMAT_VERSION}. Update with: pip install --upgrade prophase"
        )
    listed = manifest.get("members")
    actual = {name: len(content) for name, content in members.items() if name != _MANIFEST}
    if _sizes(listed) != actual or not {_META, _ARRAYS} <= set(actual):
        raise _crafted(source, "the members are not those that the manifest lists")
    fits = (
        isinstance(manifest.get("kind"), str)
        and isinstance(manifest.get("columns"), list)
        and all(isinstance(name, str) for name in manifest["columns"])
        and isinstance(manifest.get("data_hash"), str)
        and isinstance(manifest.get("prophase_version"), str)
        and (manifest.get("seed", "") is None or type(manifest.get("seed")) is int)
    )
    if not fits:
        raise _crafted(source, "the manifest lacks a field or has one of the wrong type")
    return manifest


def _sizes(listed: object) -> dict[str, object]:
    """Return how many bytes the members that a manifest lists have."""
    entries = listed.items() if isinstance(listed, dict) else ()
    return {name: one.get("bytes") for name, one in entries if isinstance(one, dict)}


def _parse_json(source: Path, name: str, content: memoryview) -> dict[str, Any]:
    try:
        value = json.loads(bytes(content))
    except (ValueError, RecursionError) as cause:
        raise _crafted(source, f"{name} is not JSON", cause) from cause
    if not isinstance(value, dict):
        raise _crafted(source, f"{name} is not a JSON object")
    return value


def _arrays(source: Path, content: memoryview) -> dict[str, NDArray[Any]]:
    try:
        with zipfile.ZipFile(_InMemory(content)) as archive:
            infos = archive.infolist()
        found = {}
        for info in infos:
            if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & ~0x800:
                raise _crafted(source, f"the array {info.filename!r} is packed")
            name = info.filename.removesuffix(".npy")
            found[name] = _array(source, info.filename, _stored(content, info))
        return found
    except ModelFileError:
        raise
    except Exception as cause:
        raise _crafted(source, "the arrays cannot be read", cause) from cause


def _array(source: Path, name: str, data: memoryview) -> NDArray[Any]:
    """Return one array; the size that its header claims is compared with its bytes first."""
    begin = 10 + int.from_bytes(data[8:10], "little")
    shape, by_column, dtype = _array_header(bytes(data[:begin]))
    count = math.prod(shape)
    if dtype.hasobject or count * dtype.itemsize != len(data) - begin:
        raise _crafted(source, f"the array {name!r} is not what its header says")
    flat = np.frombuffer(data, dtype, count, begin) if count else np.empty(0, dtype)
    # files of earlier versions hold arrays at any place, where searching them is slow
    flat = flat if flat.flags.aligned else flat.copy()
    return flat.reshape(shape, order="F" if by_column else "C")


@lru_cache(maxsize=512)
def _array_header(header: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type; most arrays of a model have the header of another."""
    stream = io.BytesIO(header)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("the array has another format")
    return np.lib.format.read_array_header_1_0(stream)
