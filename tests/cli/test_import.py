from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

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
    assert "Making a workspace" in done.stderr
    shown = prophase("show", "ws")
    assert "philly" in shown.stdout


def test_json_holds_the_whole_report(prophase, dump):
    done = prophase("import", "philly", dump, "-w", "ws", "--format", "json")
    report = json.loads(done.stdout)
    assert report["tables"]["jobs"]["kept"] == 2
    assert len(report["source_hash"]) == 64


def test_csv_has_a_header_and_a_line_per_count(prophase, dump):
    done = prophase("import", "philly", dump, "-w", "ws", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert rows[0] == {"table": "jobs", "what": "read", "rows": "2"}


def test_the_list_of_sources_names_every_reader(prophase):
    from prophase.trace.reader import all_readers

    listed = prophase("import", "list", "--format", "json")
    assert [row["source"] for row in json.loads(listed.stdout)] == list(all_readers())


def test_a_damaged_file_is_refused_with_line_and_value_and_leaves_no_tables(prophase, dump):
    dump.write_text(ROWS.replace("2951.0", "long"))
    done = prophase("import", "philly", dump, "-w", "ws")
    assert done.returncode == 1
    assert "philly.csv line 3: duration is 'long', which is not a number" in done.stderr
    assert "--max-bad" in done.stderr
    assert "No tables yet" in prophase("show", "ws").stdout
    assert prophase("import", "philly", dump, "-w", "ws", "--max-bad", "50%").returncode == 0


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
def test_a_wrong_option_is_explained(prophase, dump, arguments, message):
    done = prophase("import", "philly", dump, "-w", "ws", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_the_columns_of_a_table_are_shown_with_unit_and_meaning(prophase, dump):
    prophase("import", "philly", dump, "-w", "ws")
    rows = json.loads(prophase("show", "ws", "--table", "jobs", "--format", "json").stdout)
    duration = next(row for row in rows if row["column"] == "duration_s")
    assert (duration["unit"], duration["known"], duration["distinct"]) == ("s", "after", 2)


def test_show_outside_a_workspace_says_how_to_make_one(prophase):
    done = prophase("show", "elsewhere")
    assert done.returncode == 1
    assert "prophase init elsewhere" in done.stderr


def test_init_makes_a_workspace_once(prophase):
    assert prophase("init", "here").stdout == "here\n"
    assert "Already" in prophase("init", "here").stderr


def test_the_next_command_can_be_pasted_when_the_path_has_a_space(prophase, tmp_path):
    (tmp_path / "my jobs.csv").write_text("job_id,submit_s\na,0\nb,60\n")
    guessed = prophase("import", "csv", "my jobs.csv", "--guess")
    assert "prophase import csv 'my jobs.csv' --map" in guessed.stdout
    done = prophase("import", "csv", "my jobs.csv", "--workspace", "my ws")
    assert "Next: prophase lint 'my ws'; prophase describe 'my ws'" in done.stdout
    assert "import csv 'my jobs.csv' --workspace 'my ws'" in prophase("show", "my ws").stdout


def test_a_workspace_cannot_be_made_in_place_of_a_file(prophase, tmp_path):
    (tmp_path / "jobs.csv").write_text("job_id,submit_s\na,0\n")
    refused = prophase("import", "csv", "jobs.csv", "--workspace", "jobs.csv")
    assert refused.returncode == 1
    assert "jobs.csv: is a file, not a folder." in refused.stderr
