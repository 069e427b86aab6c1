"""What all readers share: a full declaration, and plain words for files that are not theirs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from prophase.errors import ProphaseError
from prophase.trace import SCHEMAS, Reader, Workspace, all_readers, import_trace
from prophase.trace.mapping.column_mapping import is_clock

READERS = list(all_readers().values())
every_reader = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)


@every_reader
def test_every_reader_says_what_it_is_and_what_it_cannot_tell(reader: Reader) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", reader.name)
    assert reader.title
    assert not reader.title.endswith(".")
    assert reader.cannot
    assert is_clock(reader.clock)
    assert all(text for text in reader.options.values())


@every_reader
def test_every_reader_declares_columns_that_the_schema_knows(reader: Reader) -> None:
    assert reader.fills
    for table, columns in reader.fills.items():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", table)
        assert len(set(columns)) == len(columns)
        schema = SCHEMAS.get(table)
        if schema is not None:
            assert [name for name in columns if schema.get(name) is None] == []
            assert {c.name for c in schema if c.required} <= set(columns)


@every_reader
def test_every_reader_can_be_found_by_the_names_and_looks_of_its_files(reader: Reader) -> None:
    assert reader.patterns
    assert all(reader.patterns)
    assert reader.signature or reader.first_line


def test_no_two_readers_claim_the_same_columns() -> None:
    claims = [
        (frozenset(signature), reader.name)
        for reader in READERS
        for signature in (reader.signature, *reader.also)
        if signature
    ]
    assert len({signature for signature, _ in claims}) == len(claims)


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _binary(file: Path) -> None:
    file.write_bytes(b"\x7fELF" + bytes(range(256)) * 8)


def _header_alone(file: Path) -> None:
    file.write_text("alpha,beta,gamma\n", encoding="utf-8")


def _other_columns(file: Path) -> None:
    file.write_text("alpha,beta,gamma\n1,2,3\n4,5,6\n", encoding="utf-8")


def _other_source(file: Path) -> None:
    rows = "measure,policy,seed,0,1\nallocation_pct,01-Random,42,0.25,1.04\n"
    file.write_text(rows, encoding="utf-8")


def _prose(file: Path) -> None:
    file.write_text("This is a letter.\nIt has two lines.\n", encoding="utf-8")


def _utf16(file: Path) -> None:
    file.write_text("job_id,submit_s\n1,2\n", encoding="utf-16")


@pytest.fixture(scope="module")
def filled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    data = folder / "before.csv"
    data.write_text("job_id,duration_s\na,1\nb,2\n", encoding="utf-8")
    import_trace("csv", data, Workspace.create(folder / "workspace"))
    return folder / "workspace"


@pytest.fixture
def workspace(filled_once: Path, tmp_path: Path) -> Workspace:
    shutil.copytree(filled_once, tmp_path / "workspace")
    return Workspace(tmp_path / "workspace")


def everything_in(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def assert_refused(reader: Reader, path: Path, named: Path, workspace: Workspace) -> str:
    """Check that the import says what, where and what to do, and changes nothing."""
    before = everything_in(workspace.folder)
    with pytest.raises(ProphaseError) as caught:
        import_trace(reader.name, path, workspace, mode="replace")
    said = str(caught.value)
    assert str(path) in said or named.name in said
    sentences = [sentence for sentence in re.split(r"[.:] ", said) if sentence]
    assert len(sentences) >= 2
    assert "Traceback" not in said
    assert everything_in(workspace.folder) == before
    return said


@pytest.mark.parametrize(
    "write",
    [_empty, _binary, _header_alone, _other_columns, _other_source, _prose, _utf16],
    ids=lambda write: write.__name__.strip("_"),
)
@every_reader
def test_a_file_that_is_not_of_this_source_is_refused_and_the_workspace_stays(
    reader: Reader, write: Callable[[Path], None], tmp_path: Path, workspace: Workspace
) -> None:
    folder = tmp_path / "dump"
    folder.mkdir()
    file = folder / reader.patterns[0].replace("*", "x")
    write(file)
    assert_refused(reader, file, file, workspace)
    assert_refused(reader, folder, file, workspace)


@pytest.mark.parametrize(
    ("write", "words"),
    [(_empty, "is empty"), (_binary, "is a binary file"), (_utf16, "is UTF-16")],
    ids=["empty", "binary", "utf16"],
)
@every_reader
def test_a_file_that_is_no_text_is_called_by_what_it_is(
    reader: Reader,
    write: Callable[[Path], None],
    words: str,
    tmp_path: Path,
    workspace: Workspace,
) -> None:
    file = tmp_path / "dump.csv"
    write(file)
    assert words in assert_refused(reader, file, file, workspace)


@every_reader
def test_a_folder_without_the_files_of_the_source_is_refused_and_the_workspace_stays(
    reader: Reader, tmp_path: Path, workspace: Workspace
) -> None:
    folder = tmp_path / "dump"
    folder.mkdir()
    assert_refused(reader, folder, folder, workspace)
    (folder / "notes.md").write_text("nothing of use\n", encoding="utf-8")
    assert_refused(reader, folder, folder, workspace)
    assert_refused(reader, folder / "absent.csv", folder, workspace)
