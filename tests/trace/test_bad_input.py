"""Bad input and bad circumstances: plain words, and a workspace that stays as it was."""

from __future__ import annotations

import gzip
import importlib.metadata
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow
import pytest

from prophase.errors import BadRowsError, ProphaseError, StorageError, WorkspaceError
from prophase.trace import Reader, Workspace, check_jobs, import_trace, open_trace
from prophase.trace import import_pipeline as importing
from prophase.trace import staged_tables as staging
from prophase.trace.dump import Dump
from prophase.trace.reader import Tables, reader_named

HEADER = "timestamp,duration,num_gpus,gpu_time,cluster"
GOOD = "2017-10-09 07:01:55,66.0,1,66.0,a"


def philly(path: Path, *rows: str) -> Path:
    path.write_text("\n".join((HEADER, *rows)) + "\n", encoding="utf-8")
    return path


def everything_in(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace that holds one job from before."""
    held = Workspace.create(tmp_path / "ws")
    import_trace("philly", philly(tmp_path / "before.csv", GOOD), held)
    return held


def refusal(path: Path, workspace: Workspace, **settings: object) -> str:
    """Return the words of an import that is refused, after proving that nothing changed."""
    before = everything_in(workspace.folder)
    with pytest.raises(ProphaseError) as caught:
        import_trace("philly", path, workspace, mode="replace", **settings)  # type: ignore[arg-type]
    assert everything_in(workspace.folder) == before
    return str(caught.value)


# --- cells and rows ---------------------------------------------------------------------------


def test_a_missing_number_is_missing_and_not_damage(tmp_path: Path) -> None:
    rows = [f"2017-10-09 07:01:55,{word},1,1,a" for word in ("NaN", "nan", "", "NA", "None")]
    jobs = open_trace(philly(tmp_path / "p.csv", GOOD, *rows), source="philly").jobs
    assert jobs.duration_s.isna().sum() == 5
    check_jobs(jobs)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("2017-10-09 07:01:55,-5.0,1,1,a", "line 3: duration is '-5.0', which is negative"),
        ("2017-10-09 07:01:55,inf,1,1,a", "line 3: duration is 'inf', which is infinite"),
        ("2017-10-09 07:01:55,5.0,two,1,a", "line 3: num_gpus is 'two', which is not a number"),
        ("9th of October,5.0,1,1,a", "line 3: timestamp is '9th of October', which is not a time"),
        ("2017-13-09 07:01:55,5.0,1,1,a", "line 3: timestamp is '2017-13-09 07:01:55'"),
        ("2017-10-09 07:01:55,5.0,1", "line 3: has 3 fields where 5 are expected"),
        ("2017-10-09 07:01:55,5.0,1,1,a,b", "line 3: has 6 fields where 5 are expected"),
    ],
)
def test_a_damaged_row_is_named_with_file_line_and_value(
    tmp_path: Path, workspace: Workspace, row: str, words: str
) -> None:
    said = refusal(philly(tmp_path / "p.csv", GOOD, row), workspace)
    assert f"p.csv {words}" in said
    assert "1 of 2 rows of jobs are damaged (50.0%; 1.0% are allowed)" in said
    assert said.endswith("Correct the rows, or raise --max-bad to leave such rows out.")


def test_a_run_that_ends_before_it_starts_is_named_by_its_id(tmp_path: Path) -> None:
    data = tmp_path / "jobs.csv"
    data.write_text("job_id,start_s,end_s\na,5,3\nb,1,2\n", encoding="utf-8")
    with pytest.raises(BadRowsError, match=r"job_id a: duration_s is negative \(-2\.0\)"):
        open_trace(data, source="csv")


def test_the_line_counts_line_breaks_inside_quotes(tmp_path: Path, workspace: Workspace) -> None:
    rows = ['2017-10-09 07:01:55,66.0,1,66.0,"a\nb"', "2017-10-09 07:01:55,x,1,1,a"]
    assert "line 4: duration is 'x'" in refusal(philly(tmp_path / "p.csv", *rows), workspace)


@pytest.fixture
def tenth_damaged(tmp_path: Path) -> Path:
    """A thousand rows: 40 of the wrong width, 30 with text for a number, 30 negative."""
    rows = [GOOD] * 1000
    rows[100:140] = ["2017-10-09 07:01:55,66.0"] * 40
    rows[300:330] = ["2017-10-09 07:01:55,66.0,many,66.0,a"] * 30
    rows[500:530] = ["2017-10-09 07:01:55,-1.0,1,66.0,a"] * 30
    return philly(tmp_path / "p.csv", *rows)


def test_a_tenth_of_damaged_rows_is_refused_with_a_count_per_kind(
    tenth_damaged: Path, workspace: Workspace
) -> None:
    said = refusal(tenth_damaged, workspace)
    assert "100 of 1,000 rows of jobs are damaged (10.0%; 1.0% are allowed)" in said
    assert "40 x wrong number of fields" in said
    assert "30 x num_gpus is not a number" in said
    assert "30 x duration_s is negative" in said
    assert "p.csv line 102: has 2 fields where 5 are expected" in said
    assert "p.csv line 302: num_gpus is 'many'" in said
    assert "p.csv line 502: duration is '-1.0'" in said


def test_damaged_rows_are_left_out_and_counted_when_the_user_allows_it(
    tenth_damaged: Path, workspace: Workspace
) -> None:
    report = import_trace("philly", tenth_damaged, workspace, mode="replace", max_bad=0.1)
    count = report.tables["jobs"]
    assert (count.read, count.kept, count.bad) == (1000, 900, 100)
    assert count.dropped == {
        "bad row: wrong number of fields": 40,
        "bad row: duration_s is negative": 30,
        "bad row: num_gpus is not a number": 30,
    }
    assert len(check_jobs(workspace.read("jobs"))) == 900
    refusal(tenth_damaged, workspace, max_bad=0.099)


def test_a_file_of_nothing_but_damage_is_refused_whatever_is_allowed(
    tmp_path: Path, workspace: Workspace
) -> None:
    data = philly(tmp_path / "p.csv", *["2017-10-09 07:01:55,x,1,1,a"] * 5)
    assert "5 of 5 rows" in refusal(data, workspace, max_bad=1.0)


# --- files ------------------------------------------------------------------------------------


def test_a_truncated_gz_is_refused_by_name(tmp_path: Path, workspace: Workspace) -> None:
    whole = gzip.compress("\n".join([HEADER, *[GOOD] * 5000]).encode())
    data = tmp_path / "philly.csv.gz"
    data.write_bytes(whole[: len(whole) // 2])
    said = refusal(data, workspace)
    assert said.startswith(str(data))
    assert "end too early or are damaged. Copy or fetch the file again." in said


def test_a_gz_with_a_flipped_byte_is_refused_by_name(tmp_path: Path, workspace: Workspace) -> None:
    whole = bytearray(gzip.compress("\n".join([HEADER, *[GOOD] * 5000]).encode()))
    whole[len(whole) // 2] ^= 0xFF
    data = tmp_path / "philly.csv.gz"
    data.write_bytes(bytes(whole))
    assert str(data) in refusal(data, workspace)


def test_text_that_calls_itself_gz_is_refused_by_name(tmp_path: Path, workspace: Workspace) -> None:
    data = philly(tmp_path / "philly.csv.gz", GOOD)
    assert "is not the .gz file its name says" in refusal(data, workspace)


def test_an_empty_gz_is_called_empty_under_the_users_name(
    tmp_path: Path, workspace: Workspace
) -> None:
    data = tmp_path / "philly.csv.gz"
    data.write_bytes(gzip.compress(b""))
    assert refusal(data, workspace).startswith(f"{data}: the file is empty.")


def test_zst_is_read_and_a_cut_one_is_refused_by_name(tmp_path: Path, workspace: Workspace) -> None:
    text = "\n".join([HEADER, *(f"2017-10-09 07:01:55,{n}.0,1,66.0,a" for n in range(5000))])
    whole = pyarrow.Codec("zstd").compress(text.encode(), asbytes=True)
    data = tmp_path / "philly.csv.zst"
    data.write_bytes(whole[: len(whole) // 2])
    assert "end too early or are damaged" in refusal(data, workspace)
    data.write_bytes(whole)
    assert len(open_trace(data).jobs) == 5000


@pytest.mark.parametrize(
    ("content", "said"),
    [(gzip.compress(GOOD.encode()), "Rename it: mv"), (b"PAR1\x15\x04PAR1", "is a Parquet file")],
    ids=["gz", "parquet"],
)
def test_what_a_file_is_that_does_not_say_so_is_reported(
    tmp_path: Path, workspace: Workspace, content: bytes, said: str
) -> None:
    data = tmp_path / "philly.csv"
    data.write_bytes(content)
    assert said in refusal(data, workspace)


# --- the file system says no ------------------------------------------------------------------


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Be somebody whom permissions bind, also where tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that an ordinary user can reach and write to."""
    # Ibis asks for this at each connection, and packages may lie where only their owner reads
    version, known = importlib.metadata.version, importlib.metadata.version("duckdb")
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: known if name == "duckdb" else version(name)
    )
    folder = Path(tempfile.mkdtemp(prefix="prophase-test-"))
    folder.chmod(0o777)
    # what an import loads lazily must be loaded before the user changes
    open_trace(philly(folder / "first.csv", GOOD), source="philly")
    yield folder
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o777)
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["philly.csv", "philly.csv.gz"])
def test_a_file_without_read_permission_is_named(open_folder: Path, name: str) -> None:
    data = open_folder / name
    data.write_bytes(gzip.compress(b"x") if name.endswith("gz") else b"x")
    data.chmod(0)
    with ordinary_user():
        held = Workspace.create(open_folder / "ws")
        before = everything_in(held.folder)
        with pytest.raises(StorageError) as caught:
            import_trace("philly", data, held)
        assert str(caught.value).startswith(f"{data}: no permission. Change its owner or mode")
        assert {n for n in everything_in(held.folder) if n != ".cache/lock"} == set(before)


def test_a_folder_without_read_permission_is_named(open_folder: Path) -> None:
    dump = open_folder / "dump"
    dump.mkdir()
    philly(dump / "philly.csv", GOOD)
    dump.chmod(0)
    with ordinary_user(), pytest.raises(StorageError, match=f"{dump}: no permission"):
        import_trace("philly", dump, Workspace.create(open_folder / "ws"))


def test_a_workspace_that_cannot_be_written_is_named(open_folder: Path) -> None:
    with ordinary_user():
        held = Workspace.create(open_folder / "ws")
    held.folder.chmod(0o555)
    with ordinary_user():
        before = everything_in(held.folder)
        with pytest.raises(StorageError, match=f"{held.folder}.*no permission.*another folder"):
            import_trace("philly", open_folder / "first.csv", held)
        with pytest.raises(StorageError, match="no permission"):
            Workspace.create(held.folder / "inside")
        assert everything_in(held.folder) == before


def test_a_folder_of_tables_that_cannot_be_written_leaves_the_old_tables(
    open_folder: Path,
) -> None:
    with ordinary_user():
        held = Workspace.create(open_folder / "ws")
        import_trace("philly", open_folder / "first.csv", held)
    (held.folder / "tables").chmod(0o555)
    later = philly(open_folder / "later.csv", GOOD, GOOD)
    with ordinary_user():
        before = everything_in(held.folder)
        with pytest.raises(StorageError, match="no permission"):
            import_trace("philly", later, held, mode="replace")
        assert everything_in(held.folder) == before
        assert len(held.read("jobs")) == 1


SMALL_DISK = """
import resource, sys
from prophase.errors import StorageError
from prophase.trace import Workspace, import_trace
held = Workspace(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    import_trace("philly", sys.argv[2], held, mode="replace")
except StorageError as error:
    print(error)
else:
    print("done")
"""


@pytest.mark.parametrize("packed", [False, True], ids=["while-writing", "while-unpacking"])
def test_a_full_disk_is_named_and_the_old_tables_stay(
    tmp_path: Path, workspace: Workspace, packed: bool
) -> None:
    """No file of the child may grow beyond 60 kB: the kernel refuses as it does on a full disk."""
    rows = [f"2017-10-09 07:01:55,{n * 7919 % 100003}.{n},1,66.0,c{n}" for n in range(20_000)]
    data = philly(tmp_path / "p.csv", *rows)
    if packed:
        data = tmp_path / "p.csv.gz"
        data.write_bytes(gzip.compress((tmp_path / "p.csv").read_bytes()))
    before = everything_in(workspace.folder)
    child = subprocess.run(
        [sys.executable, "-c", SMALL_DISK, str(workspace.folder), str(data)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(workspace.folder) in child.stdout
    assert "larger than allowed" in child.stdout
    assert "run the same command" in child.stdout
    assert everything_in(workspace.folder) == before


def test_no_space_left_while_the_tables_are_switched_leaves_the_old_ones(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = philly(tmp_path / "later.csv", GOOD, GOOD)
    write_text = Path.write_text

    def full(path: Path, text: str, **how: str) -> int:
        if path.name == "tables.json.part":
            write_text(path, text[:10], **how)
            raise OSError(28, "No space left on device", str(path))
        return write_text(path, text, **how)

    before = everything_in(workspace.folder)
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(StorageError, match=r"no space left on the device\. Free some space"):
        import_trace("philly", later, workspace, mode="replace")
    assert everything_in(workspace.folder) == before


# --- interruptions ----------------------------------------------------------------------------

#: stop for a signal right before the named step of an import
PAUSED = """
import signal, sys, time
import prophase.trace.staged_tables as staging
import prophase.trace.workspace as workspace
from prophase.trace import Workspace, import_trace

# a shell that starts the tests in the background has it ignored
signal.signal(signal.SIGINT, signal.default_int_handler)

def paused(step):
    def wait(*values, **named):
        print("paused", flush=True)
        # a signal that comes right before a sleep does not end it, so sleeps are short
        for _ in range(1_200):
            time.sleep(0.05)
        return step(*values, **named)
    return wait

place = sys.argv[3]
if place == "reading":
    staging.finish = paused(staging.finish)
elif place == "counting":
    staging._count = paused(staging._count)
else:
    workspace.asdict = paused(workspace.asdict)
import_trace("philly", sys.argv[2], Workspace(sys.argv[1]), mode="replace")
"""


@pytest.mark.parametrize("place", ["reading", "counting", "switching"])
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
def test_an_interrupted_import_keeps_the_old_tables_and_runs_again(
    tmp_path: Path, workspace: Workspace, place: str, sent: signal.Signals
) -> None:
    later = tmp_path / "later.csv.gz"
    later.write_bytes(gzip.compress("\n".join([HEADER, GOOD, GOOD, GOOD]).encode()))
    old = workspace.read("jobs")
    with subprocess.Popen(
        [sys.executable, "-c", PAUSED, str(workspace.folder), str(later), place],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "paused\n"
        # while it runs, readers see the old tables and writers are told to wait
        pd.testing.assert_frame_equal(workspace.read("jobs"), old)
        with pytest.raises(WorkspaceError, match="another command is writing"):
            import_trace("philly", later, workspace, mode="replace")
        child.send_signal(sent)
        assert child.wait(30) != 0
    pd.testing.assert_frame_equal(workspace.read("jobs"), old)
    workspace.check_file("jobs")
    report = import_trace("philly", later, workspace, mode="replace")
    assert report.tables["jobs"].kept == len(workspace.read("jobs")) == 3
    assert set(everything_in(workspace.folder)) == {
        ".cache/lock",
        "prophase.toml",
        "tables.json",
        workspace.tables["jobs"].file,
    }


def test_an_import_goes_on_from_the_rows_it_had_read_and_still_counts_the_damage(
    tenth_damaged: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(staging, "_count", stopped)
        with pytest.raises(KeyboardInterrupt):
            import_trace("philly", tenth_damaged, workspace, mode="replace", max_bad=0.2)
    assert list((workspace.folder / ".cache").glob("import-*/jobs.raw.parquet"))
    report = import_trace("philly", tenth_damaged, workspace, mode="replace", max_bad=0.2)
    assert (report.tables["jobs"].read, report.tables["jobs"].bad) == (1000, 100)


def test_another_mapping_does_not_go_on_from_the_rows_of_the_first(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:

    data, mapping = tmp_path / "j.csv", tmp_path / "m.toml"
    data.write_text("id,span\na,2\n", encoding="utf-8")
    rule = '[jobs.columns]\njob_id = "id"\nduration_s = {{ column = "span", unit = "{}" }}\n'
    mapping.write_text(rule.format("s"), encoding="utf-8")

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    options = {"map": str(mapping)}
    with monkeypatch.context() as patch:
        patch.setattr(staging, "_count", stopped)
        with pytest.raises(KeyboardInterrupt):
            import_trace("csv", data, workspace, options=options, mode="replace")
    mapping.write_text(rule.format("min"), encoding="utf-8")
    import_trace("csv", data, workspace, options=options, mode="replace")
    assert workspace.read("jobs").duration_s.tolist() == [120.0]


CTRL_C = """
import os, signal, time
from prophase.cli.main import run
from prophase.trace.engine import DuckEngine

# a shell that starts the tests in the background has it ignored
signal.signal(signal.SIGINT, signal.default_int_handler)

def ctrl_c(engine, finished, progress):
    time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)

DuckEngine._watch = ctrl_c
run()
"""


def test_ctrl_c_in_the_middle_of_a_query_stops_it_as_ctrl_c_does(
    tmp_path: Path, workspace: Workspace
) -> None:
    # more rows than any machine reads within the 20 ms before the signal
    rows = "\n".join(f"2017-10-09 07:01:55,{n},1,66.0,c{n % 999}" for n in range(300_000))
    data = philly(tmp_path / "p.csv", rows)
    asked = ["import", "philly", str(data), "--workspace", str(workspace.folder), "--replace"]
    child = subprocess.run(
        [sys.executable, "-c", CTRL_C, *asked], capture_output=True, text=True, check=False
    )
    assert child.returncode == 130
    assert child.stderr == (
        "Interrupted. Nothing was changed. Run the same command again to resume.\n"
    )
    assert len(workspace.read("jobs")) == 1


def test_two_imports_at_once_take_turns_or_say_so(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:

    reading, go_on = threading.Event(), threading.Event()
    philly_reader = reader_named("philly")

    def slowly(dump: Dump) -> Tables:
        reading.set()
        assert go_on.wait(30)
        return philly_reader.read(dump)

    slow = Reader(**{**vars(philly_reader), "name": "slow", "read": slowly})
    known = {"slow": slow, "philly": philly_reader}
    monkeypatch.setattr(importing, "reader_named", known.__getitem__)
    first = philly(tmp_path / "first.csv", GOOD, GOOD)
    second = philly(tmp_path / "second.csv", GOOD, GOOD, GOOD)
    reports = []
    running = threading.Thread(
        target=lambda: reports.append(import_trace("slow", first, workspace, mode="replace"))
    )
    running.start()
    try:
        assert reading.wait(30)
        with pytest.raises(WorkspaceError, match=r"another command is writing.*Wait until"):
            import_trace("philly", second, workspace, mode="replace")
        assert len(workspace.read("jobs")) == 1
    finally:
        go_on.set()
        running.join(30)
    assert reports[0].tables["jobs"].kept == len(workspace.read("jobs")) == 2
    import_trace("philly", second, workspace, mode="replace")
    assert len(workspace.read("jobs")) == 3


# --- the command line -------------------------------------------------------------------------


def test_the_command_line_prints_the_words_alone_and_leaves_with_1(
    tenth_damaged: Path, workspace: Workspace
) -> None:
    command = [sys.executable, "-c", "from prophase.cli.main import run; run()", "import"]
    asked = [*command, "philly", str(tenth_damaged), "-w", str(workspace.folder), "--replace"]
    refused = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert refused.stderr.startswith(f"prophase: {tenth_damaged}: 100 of 1,000 rows")
    assert "Traceback" not in refused.stderr
    allowed = subprocess.run(
        [*asked, "--max-bad", "10%"], capture_output=True, text=True, check=True
    )
    assert "left out: bad row: duration_s is negative" in allowed.stdout


def test_a_second_header_in_the_middle_is_a_damaged_row(
    tmp_path: Path, workspace: Workspace
) -> None:
    said = refusal(philly(tmp_path / "p.csv", GOOD, HEADER, GOOD), workspace)
    assert "p.csv line 3: timestamp is 'timestamp', which is not a time" in said


@pytest.mark.parametrize("good", [1, 50_000], ids=["in-the-first-rows", "far-below"])
def test_bytes_that_are_no_text_are_named(tmp_path: Path, workspace: Workspace, good: int) -> None:
    data = tmp_path / "p.csv"
    rows = "\n".join([HEADER, *[GOOD] * good, ""])
    data.write_bytes(rows.encode() + b"2017-10-09 07:01:55,1,1,1,caf\xe9\n")
    said = refusal(data, workspace)
    assert "p.csv" in said
    assert "is not UTF-8 text. Save the file as UTF-8" in said
    if good > 1:
        assert "p.csv line 50002: b'2017-10-09 07:01:55,1,1,1,caf\\xe9" in said
