from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError, WorkspaceError
from prophase.trace import Workspace, import_trace, open_trace
from prophase.trace.engine import DuckEngine

HEADER = "timestamp,duration,num_gpus,gpu_time,cluster\n"


def philly(path: Path, *rows: str) -> Path:
    path.write_text(HEADER + "".join(f"{row}\n" for row in rows))
    return path


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    rows = ("2017-10-09 07:01:55,66.0,1,66.0,a", "2017-10-09 06:13:03,2951.0,2,5902.0,b")
    return philly(tmp_path / "philly.csv", *rows)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws")


def test_rows_are_stored_in_time_order_with_the_reports_counts(dump, workspace):
    report = import_trace("philly", dump, workspace, command="typed")
    jobs = workspace.read("jobs")
    assert list(jobs["duration_s"]) == [2951.0, 66.0]
    assert report.tables["jobs"].read == report.tables["jobs"].kept == 2
    entry = workspace.tables["jobs"]
    assert (entry.source, entry.clock, entry.command) == ("philly", "local", "typed")
    assert entry.source_hash == report.source_hash
    assert list(report.files) == ["philly.csv"]


def test_the_hash_follows_the_bytes_and_the_options(dump, tmp_path):
    first = open_trace(dump, source="philly").data_hash
    assert open_trace(dump, source="philly").data_hash == first
    dump.write_text(dump.read_text() + "2017-10-10 07:01:55,1.0,1,1.0,a\n")
    assert open_trace(dump, source="philly").data_hash != first
    table = tmp_path / "table.csv"
    table.write_text("job_id,duration_s\na,1\n")
    mapping = tmp_path / "map.toml"
    mapping.write_text('[jobs.columns]\njob_id = "job_id"\n')
    mapped = open_trace(table, source="csv", options={"map": str(mapping)})
    assert mapped.data_hash != open_trace(table, source="csv").data_hash


def test_an_option_the_source_does_not_have_is_refused(dump, workspace):
    with pytest.raises(ParameterError, match=r"'x': the source philly has no such option.*none"):
        import_trace("philly", dump, workspace, options={"x": "1"})
    with pytest.raises(ParameterError, match="Did you mean 'map'"):
        open_trace(dump, source="csv", options={"mapp": "m.toml"})


def test_times_that_count_from_different_moments_are_not_appended(dump, workspace, tmp_path):
    import_trace("philly", dump, workspace)
    relative = tmp_path / "relative.csv"
    relative.write_text("job_id,submit_s,duration_s\na,0,1\n")
    before = workspace.path_of("jobs")
    with pytest.raises(WorkspaceError, match="do not count from the same moment"):
        import_trace("csv", relative, workspace, mode="append")
    assert workspace.path_of("jobs") == before


def test_an_appended_table_names_all_its_sources(dump, workspace, tmp_path):
    import_trace("philly", dump, workspace)
    other = tmp_path / "other.csv"
    other.write_text("job_id,submit_s,duration_s\na,1507531315,1\n")
    mapping = tmp_path / "map.toml"
    mapping.write_text('clock = "unix"\n[jobs]\n[jobs.columns]\njob_id = "job_id"\n')
    import_trace("csv", other, workspace, mode="append", options={"map": str(mapping)})
    assert workspace.tables["jobs"].source == "philly+csv"


def test_columns_the_source_cannot_fill_are_absent(dump, workspace):
    import_trace("philly", dump, workspace)
    assert "wait_s" not in workspace.read("jobs")
    assert "start_s" not in workspace.tables["jobs"].columns


def test_importing_the_same_dump_again_changes_nothing(dump, workspace):
    import_trace("philly", dump, workspace)
    before = workspace.path_of("jobs")
    import_trace("philly", dump, workspace)
    assert workspace.path_of("jobs") == before


def test_other_data_needs_replace_or_append(dump, workspace, tmp_path):
    import_trace("philly", dump, workspace)
    later = philly(tmp_path / "later.csv", "2017-10-11 00:00:00,5.0,1,5.0,c")
    with pytest.raises(WorkspaceError, match="--append"):
        import_trace("philly", later, workspace)
    import_trace("philly", later, workspace, mode="append")
    jobs = workspace.read("jobs")
    assert len(jobs) == 3
    assert jobs["job_id"].is_unique
    with pytest.raises(WorkspaceError, match="already in the jobs table"):
        import_trace("philly", later, workspace, mode="append")
    with pytest.raises(WorkspaceError, match="already in the jobs table"):
        import_trace("philly", dump, workspace, mode="append")
    import_trace("philly", later, workspace, mode="replace")
    assert len(workspace.read("jobs")) == 1


def test_the_same_dump_is_not_appended_twice_by_other_rules(dump, workspace):
    import_trace("philly", dump, workspace)
    with pytest.raises(WorkspaceError, match="already in the jobs table"):
        import_trace("philly", dump, workspace, mode="append", keep=["gpu"])


def test_rules_that_left_nothing_out_do_not_change_the_hash(dump):
    plain = open_trace(dump, source="philly").data_hash
    assert open_trace(dump, source="philly", max_bad=1.0).data_hash == plain
    assert open_trace(dump, source="philly", keep=["gpu"]).data_hash != plain


def test_a_finished_import_leaves_no_scratch_behind(dump, workspace):
    import_trace("philly", dump, workspace)
    assert [p.name for p in (workspace.folder / ".cache").iterdir()] == ["lock"]


def test_an_unknown_keep_rule_names_those_there_are(dump, workspace):
    with pytest.raises(ParameterError, match="Did you mean 'finished'"):
        import_trace("philly", dump, workspace, keep=["finishd"])


def test_a_keep_rule_on_an_absent_column_is_refused(dump, workspace):
    with pytest.raises(ParameterError, match="status"):
        import_trace("philly", dump, workspace, keep=["finished"])


def test_leaving_every_row_out_is_an_error_not_an_empty_table(dump, workspace):
    dump.write_text(dump.read_text().replace(",1,66", ",0,66").replace(",2,5902", ",0,0"))
    with pytest.raises(InputError, match=r"no row of jobs is left: 2 no GPU requested"):
        import_trace("philly", dump, workspace, keep=["gpu"])


def test_a_trace_opens_without_a_workspace_and_is_recognised_by_its_columns(dump):
    trace = open_trace(dump)
    assert trace.source == "philly"
    assert len(trace.jobs) == 2
    with pytest.raises(InputError, match="has no usage table"):
        _ = trace.usage


def test_a_workspace_opens_as_a_trace(dump, workspace):
    import_trace("philly", dump, workspace)
    trace = open_trace(workspace.folder)
    pd.testing.assert_frame_equal(trace.jobs, workspace.read("jobs"))
    assert trace.clock == "local"


def test_an_empty_workspace_says_how_to_fill_it(workspace):
    with pytest.raises(InputError, match="prophase import"):
        open_trace(workspace.folder)


def test_the_engine_keeps_quiet_on_stdout_and_still_reports_how_far_it_is(tmp_path):
    engine = DuckEngine(tmp_path)
    settings = engine._sql(
        "SELECT name, value FROM duckdb_settings() WHERE name LIKE 'enable_progress_bar%'", []
    )
    assert dict(settings) == {"enable_progress_bar": "true", "enable_progress_bar_print": "false"}
    engine.close()


def test_runs_of_no_length_and_usage_of_no_job_are_counted(workspace, tmp_path):
    folder = tmp_path / "both"
    folder.mkdir()
    (folder / "jobs.csv").write_text("job_id,user,submit_s,duration_s\na,ann,0,60\nb,bob,5,0\n")
    rows = [f"{series},{time},1\n" for series in ("a", "z") for time in (0, 10, 20)]
    (folder / "usage.csv").write_text("series_id,time_s,cpu_cores\n" + "".join(rows))
    notes = " ".join(import_trace("csv", folder, workspace).notes)
    assert "1 job ran for 0 s" in notes
    assert "3 usage rows of 1 series belong to no job" in notes
