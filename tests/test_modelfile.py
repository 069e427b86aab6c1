"""Model files: what goes in comes out, everything else is refused, nothing runs code."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import pickle
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prophase
from prophase import modelfile
from prophase.errors import ModelFileError, ParameterError, StorageError
from prophase.modelfile import FORMAT_VERSION, Model, load_model, save_model

SOURCE_TREE = Path(prophase.__file__).parent


def save_example(path: Path, **changes: Any) -> str:
    content: dict[str, Any] = {
        "kind": "sizing.peak",
        "meta": {"quantile": 0.95, "names": ["a", "b"], "deep": {"x": None}},
        "arrays": {"peak_gib": np.array([2.0, 4.5]), "names": np.array(["a", "bc"])},
        "blobs": {"trees.ubj": b"\x00\x01binary"},
        "columns": ["user", "request_gpus"],
        "data_hash": "d" * 64,
        "seed": 7,
    }
    return save_model(path, **{**content, **changes})


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "peak.model"
    save_example(path)
    return path


def test_a_model_comes_back_as_it_was_saved(example: Path) -> None:
    model = load_model(example, kind="sizing.peak")
    assert model.meta == {"quantile": 0.95, "names": ["a", "b"], "deep": {"x": None}}
    np.testing.assert_array_equal(model.arrays["peak_gib"], [2.0, 4.5])
    assert model.arrays["names"].tolist() == ["a", "bc"]
    assert model.blobs == {"trees.ubj": b"\x00\x01binary"}
    assert model.columns == ("user", "request_gpus")
    assert (model.data_hash, model.seed) == ("d" * 64, 7)
    assert model.version == prophase.__version__


def test_the_same_model_gives_the_same_bytes_whenever_and_in_whatever_order(
    tmp_path: Path,
) -> None:
    first = save_example(tmp_path / "one", meta={"a": 1, "b": 2})
    second = save_example(tmp_path / "two", meta={"b": 2, "a": 1})
    assert first == second == load_model(tmp_path / "two").checksum
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_another_seed_gives_another_checksum(tmp_path: Path) -> None:
    assert save_example(tmp_path / "one") != save_example(tmp_path / "two", seed=8)


def test_any_unzip_program_can_look_into_a_model_file(example: Path) -> None:
    with zipfile.ZipFile(example) as archive:
        assert archive.testzip() is None
        manifest = json.loads(archive.read("manifest.json"))
        assert manifest["format_version"] == FORMAT_VERSION
        for name, entry in manifest["members"].items():
            assert hashlib.sha256(archive.read(name)).hexdigest() == entry["sha256"]
        with np.load(io.BytesIO(archive.read("arrays.npz")), allow_pickle=False) as arrays:
            assert arrays["peak_gib"].tolist() == [2.0, 4.5]


def test_an_empty_model_is_a_model(tmp_path: Path) -> None:
    save_model(tmp_path / "empty", kind="nothing")
    model = load_model(tmp_path / "empty")
    assert (model.meta, model.arrays, model.blobs, model.seed) == ({}, {}, {}, None)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # a lone surrogate is no text, and no file can hold it
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.from_regex(r"[a-z0-9_][a-z0-9_.\-]{0,8}", fullmatch=True)
ARRAYS = hnp.arrays(
    dtype=hnp.scalar_dtypes() | hnp.unicode_string_dtypes(),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@settings(max_examples=60, deadline=None)
@given(
    meta=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), JSON_VALUES),
    arrays=st.dictionaries(NAMES, ARRAYS, max_size=3),
    blobs=st.dictionaries(NAMES, st.binary(max_size=40), max_size=2),
    columns=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=3),
    seed=st.none() | st.integers(0, 2**63),
)
def test_whatever_can_be_saved_comes_back_bit_by_bit(
    tmp_path_factory: pytest.TempPathFactory, **content: Any
) -> None:
    path = tmp_path_factory.mktemp("models") / "any.model"
    save_model(path, kind="any", data_hash="", **content)
    model = load_model(path, kind="any")
    assert model.meta == content["meta"]
    assert model.blobs == content["blobs"]
    assert model.columns == tuple(content["columns"])
    assert model.seed == content["seed"]
    assert set(model.arrays) == set(content["arrays"])
    for name, saved in content["arrays"].items():
        loaded = model.arrays[name]
        assert (loaded.dtype, loaded.shape) == (saved.dtype, saved.shape)
        assert loaded.tobytes() == saved.tobytes()


def test_every_flipped_byte_is_detected(example: Path) -> None:
    content = example.read_bytes()
    flip = np.random.default_rng(0).integers(1, 256, len(content))
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= int(flip[place])
        example.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            load_model(example)


def test_a_file_cut_off_anywhere_is_refused(example: Path) -> None:
    content = example.read_bytes()
    for length in range(0, len(content), 7):
        example.write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            load_model(example)


def test_bytes_added_at_the_end_are_refused(example: Path) -> None:
    example.write_bytes(example.read_bytes() + b"\n")
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(example)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_sealed_file_with_damage_inside_gives_the_same_model_or_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """The seal is made again after the damage, so the inner checks have to stand alone."""
    path = tmp_path_factory.mktemp("models") / "m"
    save_example(path)
    whole = load_model(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 65))] = data.draw(st.integers(0, 255))
    path.write_bytes(seal_again(bytes(content)))
    try:
        model = load_model(path)
    except ModelFileError:
        return
    assert model.meta == whole.meta
    assert model.blobs == whole.blobs
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(model.arrays[name], array)


def test_arrays_lie_where_they_can_be_used_and_a_file_whose_do_not_is_read_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = {f"n{size}": np.arange(size, dtype=np.float64) for size in range(9)}
    arrays |= {"words": np.array(["a", "bcd"]), "few": np.array([True]), "f": np.eye(3, 2).T}
    save_example(tmp_path / "new", arrays=arrays)
    monkeypatch.setattr(modelfile, "_ALIGNED", 1)
    save_example(tmp_path / "former", arrays=arrays)
    for name, shared in (("new", True), ("former", False)):
        found = load_model(tmp_path / name).arrays
        for key, array in arrays.items():
            np.testing.assert_array_equal(found[key], array)
            assert found[key].flags.aligned
            assert found[key].flags.writeable
        assert (not found["n8"].flags.owndata) or not shared
        found["n8"][0] = 7.0
        assert load_model(tmp_path / name).arrays["n8"][0] == 0.0


def test_another_kind_is_refused_by_name(example: Path) -> None:
    with pytest.raises(ModelFileError, match=r"kind 'sizing.peak', but 'profile' is needed"):
        load_model(example, kind="profile")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"nowhere.model: there is no model file"):
        load_model(tmp_path / "nowhere.model")


class Bomb:
    """Unpickling this would leave a trace on the disk."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.trace,)


def zip_of(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


FOREIGN: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda bomb: b"",
    "pickle": lambda bomb: bomb,
    "joblib": lambda bomb: zlib.compress(bomb),
    "PyTorch": lambda bomb: zip_of({"archive/data.pkl": bomb}),
    "npz": lambda bomb: zip_of({"a.npy": b"\x93NUMPY"}),
    "other zip": lambda bomb: zip_of({"readme.txt": b"hello"}),
    "HDF5": lambda bomb: b"\x89HDF\r\n\x1a\n" + bomb,
    "JSON": lambda bomb: b'{"learner": {}}',
    "UBJSON": lambda bomb: b"{L\x00\x00\x00\x00\x00\x00\x00\x07learner",
    "gzip": lambda bomb: b"\x1f\x8b\x08" + bomb,
    "no kind": lambda bomb: b"just some text",
    "cut off": lambda bomb: zip_of({"readme.txt": b"hello"})[:-30],
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_foreign_file_is_refused_by_name_and_never_run(what: str, tmp_path: Path) -> None:
    trace = tmp_path / "it-ran"
    path = tmp_path / "foreign"
    path.write_bytes(FOREIGN[what](pickle.dumps(Bomb(trace))))
    with pytest.raises(ModelFileError, match=what):
        load_model(path)
    assert not trace.exists()


def seal_again(content: bytes) -> bytes:
    digest = hashlib.sha256(content[:-64]).hexdigest().encode()
    return content[:-64] + digest


def crafted(path: Path, **changes: Any) -> Path:
    """Write a file with the right checksums whose manifest or members were changed."""
    save_example(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    members |= changes.pop("members", {})
    manifest["members"] = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in members.items()
    }
    manifest |= changes
    everything = {"manifest.json": json.dumps(manifest).encode(), **members}
    path.write_bytes(modelfile._zip_bytes(everything))
    return path


def test_crafting_a_file_without_changes_gives_a_model(tmp_path: Path) -> None:
    assert isinstance(load_model(crafted(tmp_path / "m")), Model)


def test_a_newer_format_says_how_to_update(tmp_path: Path) -> None:
    path = crafted(tmp_path / "m", format_version=FORMAT_VERSION + 1, prophase_version="9.1")
    with pytest.raises(ModelFileError, match=r"written by Prophase 9\.1.*pip install --upgrade"):
        load_model(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "other"},
        {"format_version": "1"},
        {"format_version": True},
        {"kind": 3},
        {"columns": "user"},
        {"columns": [1]},
        {"data_hash": None},
        {"seed": "7"},
        {"members": {"../../evil": b"x"}},
        {"members": {"/etc/passwd": b"x"}},
        {"members": {"blobs/../evil": b"x"}},
        {"members": {"blobs/a/b": b"x"}},
        {"members": {"meta.json": b"[]"}},
        {"members": {"meta.json": b"["}},
        {"members": {"meta.json": b"[" * 100_000}},
        {"members": {"arrays.npz": b"no zip"}},
        {"members": {"arrays.npz": zip_of({"a.npy": b"\x93NUMPY\x01\x00"})}},
    ],
    # a zip holds the time it was made, so its bytes would name a test again in every process
    ids=lambda changes: str(changes)[:40],
)
def test_a_crafted_file_with_right_checksums_is_refused(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(ModelFileError, match="did not write this file"):
        load_model(crafted(tmp_path / "m", **changes))


def npy(array: np.ndarray[Any, Any], **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def test_an_array_of_pickled_objects_is_refused_without_unpickling(tmp_path: Path) -> None:
    trace = tmp_path / "it-ran"
    objects = np.array([Bomb(trace)], dtype=object)
    content = zip_of({"a.npy": npy(objects, allow_pickle=True)})
    with pytest.raises(ModelFileError, match="did not write this file"):
        load_model(crafted(tmp_path / "m", members={"arrays.npz": content}))
    assert not trace.exists()


def test_an_array_header_that_claims_terabytes_sets_no_memory_aside(tmp_path: Path) -> None:
    header = io.BytesIO()
    claim = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    np.lib.format.write_array_header_1_0(header, claim)
    content = zip_of({"a.npy": header.getvalue()})
    with pytest.raises(ModelFileError, match="not what its header says"):
        load_model(crafted(tmp_path / "m", members={"arrays.npz": content}))


def packed(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_a_packed_array_is_refused_however_small_it_looks(tmp_path: Path) -> None:
    bomb = packed({"a.npy": npy(np.zeros(10_000_000))})
    assert len(bomb) < 100_000
    with pytest.raises(ModelFileError, match="is packed"):
        load_model(crafted(tmp_path / "m", members={"arrays.npz": bomb}))


def test_a_packed_member_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b"0" * 10_000_000)
        archive.comment = b"prophase-model sha256 " + b"0" * 64
    path = tmp_path / "m"
    path.write_bytes(seal_again(buffer.getvalue()))
    with pytest.raises(ModelFileError, match="packed or encrypted"):
        load_model(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("manifest.json", b"{}")
        archive.writestr("manifest.json", b"{}")
        archive.comment = b"prophase-model sha256 " + b"0" * 64
    path = tmp_path / "m"
    path.write_bytes(seal_again(buffer.getvalue()))
    with pytest.raises(ModelFileError, match="not allowed"):
        load_model(path)


def test_a_file_above_the_limit_is_refused_before_it_is_read(
    example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with example.open("r+b") as handle:
        handle.truncate(modelfile.MAX_BYTES + (65 << 20))  # sparse: no such bytes on the disk
    monkeypatch.setattr(Path, "open", lambda self, mode: pytest.fail("was read"))
    with pytest.raises(ModelFileError, match="at most 2 GiB"):
        load_model(example)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arrays": {"a": np.array([object()])}}, "Python objects"),
        ({"arrays": {"a": np.array(["x", None])}}, "Python objects"),
        ({"arrays": {"a": np.array(["x"], dtype=np.dtypes.StringDType())}}, "Python objects"),
        ({"arrays": {"a": np.ma.masked_equal([1, 2], 2)}}, "masked"),
        ({"arrays": {"a": np.zeros(1, dtype=[("x", "f8")])}}, "one array per field"),
        ({"arrays": {"../a": np.zeros(1)}}, "array name"),
        ({"blobs": {"a/b": b""}}, "blob name"),
        ({"kind": "two words"}, "kind name"),
        ({"meta": {"a": (1, 2)}}, "lists instead of tuples"),
        ({"meta": {"a": {1: 2}}}, "text as keys"),
        ({"meta": {"a": float("nan")}}, "finite"),
        ({"meta": {"a": np.float64(1) * np.ones(2)}}, "as JSON"),
        ({"columns": "user"}, "list of column names"),
        ({"data_hash": None}, "data_hash"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"seed": True}, "seed is True"),
    ],
)
def test_what_a_file_could_not_keep_is_refused_before_anything_is_written(
    changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match=words):
        save_example(tmp_path / "m", **changes)
    assert list(tmp_path.iterdir()) == []


def test_a_model_too_large_to_load_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modelfile, "MAX_BYTES", 1000)
    with pytest.raises(ParameterError, match="was not saved"):
        save_example(tmp_path / "m", arrays={"a": np.zeros(1000)})


def test_an_interrupted_save_leaves_the_old_model(
    example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = example.read_bytes()

    def no_space(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(StorageError, match="no space left"):
        save_example(example, seed=99)
    assert example.read_bytes() == before
    assert list(example.parent.iterdir()) == [example]


def test_a_saved_model_is_readable_like_any_other_file(example: Path) -> None:
    example.with_name("plain").write_text("x")
    assert stat.S_IMODE(example.stat().st_mode) == stat.S_IMODE(
        example.with_name("plain").stat().st_mode
    )


# no code from files, anywhere in the package

FORBIDDEN_MODULES = {
    "pickle", "cPickle", "_pickle", "dill", "cloudpickle", "jsonpickle", "shelve", "marshal",
}  # fmt: skip
#: joblib may run things in parallel, but not load or dump them
FORBIDDEN_CALLS = {
    "joblib.load", "joblib.dump", "torch.load", "torch.save", "pd.read_pickle",
    "pandas.read_pickle", "yaml.load", "yaml.unsafe_load", "pd.eval", "pandas.eval",
}  # fmt: skip
FORBIDDEN_NAMES = {"eval", "exec", "compile", "__import__", "read_pickle"}


def unsafe_uses(code: str) -> Iterator[str]:
    """Yield what in this code could run code from a file."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in FORBIDDEN_MODULES:
                    yield f"line {node.lineno}: import {alias.name}"
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module.split(".")[0] in FORBIDDEN_MODULES:
                yield f"line {node.lineno}: from {module} import"
            for alias in node.names:
                if f"{module}.{alias.name}" in FORBIDDEN_CALLS:
                    yield f"line {node.lineno}: from {module} import {alias.name}"
        elif isinstance(node, ast.Attribute) and node.attr in {"to_pickle", "read_pickle"}:
            yield f"line {node.lineno}: {node.attr}"
        elif isinstance(node, ast.Call):
            yield from unsafe_call(node)


def unsafe_call(node: ast.Call) -> Iterator[str]:
    called = ast.unparse(node.func)
    options = {keyword.arg: keyword.value for keyword in node.keywords}
    allows = options.get("allow_pickle")
    if called in FORBIDDEN_CALLS or called in FORBIDDEN_NAMES:
        yield f"line {node.lineno}: {called}"
    elif allows is not None and not (isinstance(allows, ast.Constant) and allows.value is False):
        yield f"line {node.lineno}: allow_pickle is not False"
    elif called in {"np.load", "numpy.load"} and allows is None:
        yield f"line {node.lineno}: np.load without allow_pickle=False"


@pytest.mark.parametrize("path", sorted(SOURCE_TREE.rglob("*.py")), ids=lambda p: p.stem)
def test_no_file_of_the_package_can_load_code(path: Path) -> None:
    assert list(unsafe_uses(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "import pickle as p",
        "from pickle import loads",
        "import cloudpickle.compat",
        "from joblib import load",
        "import joblib\njoblib.load('x')",
        "import torch\ntorch.load('x')",
        "import pandas as pd\npd.read_pickle('x')",
        "frame.to_pickle('x')",
        "np.load('x')",
        "np.load('x', allow_pickle=True)",
        "np.load('x', allow_pickle=wanted)",
        "eval('1')",
        "exec('1')",
        "yaml.load(text)",
    ],
)
def test_the_search_for_unsafe_code_finds(code: str) -> None:
    assert list(unsafe_uses(code))


def test_the_search_for_unsafe_code_lets_safe_code_pass() -> None:
    code = "from joblib import Parallel\nnp.load(f, allow_pickle=False)\nre.compile('a')"
    assert list(unsafe_uses(code)) == []
