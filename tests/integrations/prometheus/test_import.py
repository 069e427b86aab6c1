from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run, prophase_here
from tests.integrations.prometheus.conftest import Running
from tests.journeys.learn_page import typed_in

__all__ = ["prophase_here"]


def test_a_server_is_imported_into_a_workspace_and_from_its_kept_folder(
    prometheus: Running, prophase_here: Run, tmp_path: Path
) -> None:
    asked = ["import", "prometheus", "kept", "--url", prometheus.url, "--last", "2d", "--step"]
    said = prophase_here(*asked, "10m", "--workspace", "ws", "--format", "json")
    assert said.returncode == 0, said.stderr
    report = json.loads(said.stdout)
    assert report["clock"] == "unix"
    assert report["tables"]["jobs"]["kept"] == 9
    assert report["tables"]["nodes"]["kept"] == 1
    again = prophase_here("import", "prometheus", "kept", "--workspace", "other")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "other" / "prophase.toml").is_file()


def test_what_goes_with_a_server_is_refused_elsewhere(prophase_here: Run) -> None:
    said = prophase_here("import", "philly", "--url", "http://localhost:9090")
    assert said.returncode == 2
    assert "--url goes with the source prometheus" in said.stderr
    said = prophase_here("import", "prometheus")
    assert "--url http://HOST:9090" in said.stderr
    said = prophase_here("import", "prometheus", "--url", "http://localhost:1", "--last", "soon")
    assert "--last: 'soon' is not a duration" in said.stderr
    said = prophase_here(
        "import", "prometheus", "--url", "http://localhost:1", "--option", "colour=red"
    )
    assert "no such option" in said.stderr


def test_the_line_of_the_learn_page_imports_jobs_and_nodes(
    prometheus: Running, prophase_here: Run
) -> None:
    (words,) = typed_in("Kubernetes", "import")
    said = prophase_here(*(prometheus.url if word.startswith("http") else word for word in words))
    assert said.returncode == 0, said.stderr
    assert "jobs" in said.stdout
    assert "nodes" in said.stdout
