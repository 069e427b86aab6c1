import json
from pathlib import Path

import pytest
import yaml
from tests.cli.conftest import Run


@pytest.mark.parametrize("command", [["queueing", "list"], ["synth", "list"]])
def test_any_result_is_a_page_that_asks_nothing_of_the_network(
    prophase_here: Run, command: list[str]
) -> None:
    done = prophase_here(*command, "--format", "html")
    assert done.returncode == 0
    assert done.stdout.startswith("<!DOCTYPE html>")
    assert f"<h1>prophase {command[0]}</h1>" in done.stdout
    assert "http" not in done.stdout.replace("http://www.w3.org", "")


def test_markdown_has_the_rows_as_a_table_and_the_command(prophase_here: Run) -> None:
    done = prophase_here(
        "queueing",
        "mmc",
        "--arrivals",
        "1/s",
        "--service",
        "1s",
        "--servers",
        "2",
        "-f",
        "markdown",
    )
    assert done.stdout.startswith("# prophase queueing")
    assert "|---" in done.stdout
    assert "queueing mmc --arrivals 1/s" in done.stdout


def test_yaml_says_what_json_says(prophase_here: Run) -> None:
    as_json = prophase_here("queueing", "list", "--format", "json").stdout
    as_yaml = prophase_here("queueing", "list", "--format", "yaml").stdout
    assert yaml.safe_load(as_yaml) == json.loads(as_json)


def test_describe_writes_its_own_page(prophase_here: Run, tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("job_id,submit_s,duration_s\na,0,60\nb,5,7200\n")
    done = prophase_here("describe", "jobs.csv", "--source", "csv", "-f", "html")
    assert done.returncode == 0, done.stderr
    assert "Trace report" in done.stdout
