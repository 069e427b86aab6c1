from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import prophase as ph

ROWS = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,a
2017-10-09 06:13:03,2951.0,2,5902.0,b
"""


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "philly.csv"
    path.write_text(ROWS)
    return path


def test_an_import_makes_a_workspace_and_counts_its_rows(prophase, dump):
    done = prophase("import", "philly", dump, "--workspace", "ws")
    assert done.returncode == 0, done.stderr
    assert "kept" in done.stdout
    assert "Made a workspace" in done.stderr
    shown = prophase("show", "ws")
    assert "philly" in shown.stdout


def test_a_file_and_a_workspace_without_an_option_are_told_how_to_be_written(prophase_here, dump):
    done = prophase_here("import", dump, "ws")
    assert done.returncode == 2
    assert "philly.csv --workspace ws" in done.stderr


def test_json_holds_the_whole_report(prophase_here, dump):
    done = prophase_here("import", "philly", dump, "-w", "ws", "--format", "json")
    report = json.loads(done.stdout)
    assert report["tables"]["jobs"]["kept"] == 2
    assert len(report["source_hash"]) == 64


def test_csv_has_a_header_and_a_line_per_count(prophase_here, dump):
    done = prophase_here("import", "philly", dump, "-w", "ws", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert rows[0] == {"table": "jobs", "what": "read", "rows": "2"}


def test_the_list_of_sources_names_every_reader(prophase_here):
    from prophase.trace.reader import all_readers

    listed = prophase_here("import", "list", "--format", "json")
    assert [row["source"] for row in json.loads(listed.stdout)] == list(all_readers())


def test_a_damaged_file_is_refused_with_line_and_value_and_leaves_nothing(prophase_here, dump):
    dump.write_text(ROWS.replace("2951.0", "long"))
    done = prophase_here("import", "philly", dump, "-w", "ws")
    assert done.returncode == 1
    assert "philly.csv line 3: duration is 'long', which is not a number" in done.stderr
    assert "--max-bad" in done.stderr
    assert not (dump.parent / "ws").exists()
    assert prophase_here("import", "philly", dump, "-w", "ws", "--max-bad", "50%").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--option", "novalue"), "NAME=VALUE"),
        (("--replace", "--append"), "exclude each other"),
        (("--max-bad", "200%"), "--max-bad"),
        (("--engine", "abacus"), "engine 'abacus' is unknown"),
        (("--guess",), "import csv"),
        (("--keep", "finishd"), "Did you mean 'finished'"),
    ],
)
def test_a_wrong_option_is_explained(prophase_here, dump, arguments, message):
    done = prophase_here("import", "philly", dump, "-w", "ws", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_the_columns_of_a_table_are_shown_with_unit_and_meaning(prophase_here, dump):
    prophase_here("import", "philly", dump, "-w", "ws")
    rows = json.loads(prophase_here("show", "ws", "--table", "jobs", "--format", "json").stdout)
    duration = next(row for row in rows if row["column"] == "duration_s")
    assert (duration["unit"], duration["known"], duration["distinct"]) == ("s", "after", 2)


def test_show_outside_a_workspace_says_how_to_make_one(prophase_here):
    done = prophase_here("show", "elsewhere")
    assert done.returncode == 1
    assert "prophase init elsewhere" in done.stderr


def test_init_makes_a_workspace_once(prophase_here):
    assert prophase_here("init", "here").stdout == "here\n"
    assert "Already" in prophase_here("init", "here").stderr


def test_the_next_command_can_be_pasted_when_the_path_has_a_space(prophase_here, tmp_path):
    (tmp_path / "my jobs.csv").write_text("job_id,submit_s\na,0\nb,60\n")
    guessed = prophase_here("import", "csv", "my jobs.csv", "--guess")
    assert "prophase import csv 'my jobs.csv' --map" in guessed.stdout
    done = prophase_here("import", "csv", "my jobs.csv", "--workspace", "my ws")
    assert "Next: prophase lint 'my ws'; prophase describe 'my ws'" in done.stdout
    assert "import csv 'my jobs.csv' --workspace 'my ws'" in prophase_here("show", "my ws").stdout


def test_a_workspace_cannot_be_made_in_place_of_a_file(prophase_here, tmp_path):
    (tmp_path / "jobs.csv").write_text("job_id,submit_s\na,0\n")
    refused = prophase_here("import", "csv", "jobs.csv", "--workspace", "jobs.csv")
    assert refused.returncode == 1
    assert "jobs.csv: is a file, not a folder." in refused.stderr


@pytest.mark.parametrize("folder", ["ws", "deep/er/ws"])
def test_a_failed_import_leaves_no_new_folder_behind(prophase_here, tmp_path, folder):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    assert prophase_here("import", "csv", "x.csv", "--workspace", folder).returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


def test_a_failed_import_leaves_an_existing_folder_as_it_was(prophase_here, tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "notes.txt").write_text("mine")
    assert prophase_here("import", "csv", "x.csv", "--workspace", "ws").returncode == 1
    assert [path.name for path in (tmp_path / "ws").iterdir()] == ["notes.txt"]


KILLED_BEFORE_THE_SWITCH = """
import os, signal, sys
from prophase.trace import import_pipeline
import_pipeline._commit = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
sys.argv = ["prophase", "import", "philly", sys.argv[1], "--workspace", "ws"]
from prophase.cli.main import run
run()
"""


def test_an_import_that_was_killed_does_not_stand_in_the_way_of_the_next(
    prophase_here, dump, tmp_path
):
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_BEFORE_THE_SWITCH, str(dump)], cwd=tmp_path, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert "is not a Prophase workspace" in prophase_here("show", "ws").stderr
    again = prophase_here("import", "philly", dump, "--workspace", "ws")
    assert again.returncode == 0, again.stderr
    assert "philly" in prophase_here("show", "ws").stdout
    assert [path.name for path in (tmp_path / "ws" / ".cache").iterdir()] == ["lock"]


def test_another_keep_rule_makes_other_data(prophase_here, dump):
    dump.write_text(ROWS + "2017-10-10 07:01:55,1.0,0,0.0,a\n")
    assert prophase_here("import", "philly", dump, "-w", "ws").returncode == 0
    asked = ("import", "philly", dump, "-w", "ws", "--keep", "gpu")
    refused = prophase_here(*asked)
    assert refused.returncode == 1
    assert "--replace" in refused.stderr
    assert prophase_here(*asked, "--replace").returncode == 0
    assert prophase_here(*asked).returncode == 0


def test_another_share_of_damage_makes_other_data(prophase_here, dump):
    dump.write_text(ROWS + "2017-10-10 07:01:55,long,1,0.0,a\n")
    asked = ("import", "philly", dump, "-w", "ws", "--max-bad")
    assert prophase_here(*asked, "40%").returncode == 0
    assert prophase_here(*asked, "0.4").returncode == 0
    assert "--replace" in prophase_here(*asked, "50%").stderr
    assert prophase_here(*asked, "50%", "--replace").returncode == 0


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
@pytest.mark.parametrize(
    "command", [("import", "philly"), ("import", "csv"), ("describe",), ("lint",)]
)
def test_utf_16_is_named_with_the_command_that_converts_it(prophase_here, dump, encoding, command):
    dump.write_text(ROWS, encoding=encoding)
    done = prophase_here(*command, dump)
    assert done.returncode == 1
    assert "philly.csv: is UTF-16 text" in done.stderr
    assert "iconv -f UTF-16" in done.stderr


def test_show_names_a_mistake_in_the_settings(prophase_here, tmp_path):
    prophase_here("init", "ws")
    (tmp_path / "ws" / "prophase.toml").write_text("engine = duckdb\n")
    done = prophase_here("show", "ws")
    assert done.returncode == 1
    assert "ws/prophase.toml: is not valid TOML" in done.stderr
    assert done.stdout == ""


PODS = ("x2x9k", "tqrjd")


@pytest.mark.parametrize("words", [("pods.csv",), ("csv", "pods.csv")])
def test_a_file_is_imported_without_the_name_of_its_source(prophase_here, tmp_path, words):
    rows = [f"fit-{end},nlp,{60 * i},{60 * i + 50},64Gi" for i, end in enumerate(PODS)]
    rows += [f"fit-b{i}d4z,nlp,{60 * i},{60 * i + 50},64Gi" for i in range(4, 8)]
    text = "pod,namespace,started,finished,memory_request"
    (tmp_path / "pods.csv").write_text("\n".join([text, *rows]) + "\n")
    made = prophase_here("import", *words, "--workspace", "ws")
    assert made.returncode == 0, made.stderr
    assert "guessed from their names" in made.stdout
    assert "namespace + job name" in made.stdout
    assert set(ph.read(tmp_path / "ws").jobs["kind"]) == {"fit"}


def test_a_file_that_is_not_there_is_named(prophase_here):
    missing = prophase_here("import", "gone.csv", "--workspace", "ws")
    assert missing.returncode != 0
    assert "gone.csv" in missing.stderr
