from __future__ import annotations

from pathlib import Path

import pytest
from tools.changelog import ROOT, main, read_changes, release_text, with_release


@pytest.fixture
def project(tmp_path: Path) -> Path:
    changes = tmp_path / "changes"
    changes.mkdir()
    for name, text in {
        "gangs.fixed": "sim: gangs hold\nno GPUs while they wait.",
        "orders.added": "sim: one more order.",
        "old-names.removed": "cli: `scale` is gone. Write `autoscale`.",
        "front-door.added": "`import prophase as ph`.",
    }.items():
        (changes / f"{name}.md").write_text(text + "\n")
    return tmp_path


def test_what_breaks_comes_first_then_folders_in_the_order_of_the_data(project: Path) -> None:
    text = release_text(read_changes(project / "changes"), "0.2.0", "2030-01-02")
    assert text.splitlines() == [
        "## 0.2.0 (2030-01-02)",
        "",
        "### Breaking",
        "",
        "- Removed: cli: `scale` is gone. Write `autoscale`.",
        "",
        "### Prophase",
        "",
        "- Added: `import prophase as ph`.",
        "",
        "### sim",
        "",
        "- Added: one more order.",
        "- Fixed: gangs hold no GPUs while they wait.",
    ]


def test_a_release_stands_before_older_ones_and_its_files_are_gone(project: Path) -> None:
    (project / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 (2029-01-01)\n\n- Added: all.\n")
    assert main(["0.2.0"], root=project) == 0
    text = (project / "CHANGELOG.md").read_text()
    assert text.startswith("# Changelog\n\n## 0.2.0 (")
    assert text.index("## 0.2.0") < text.index("## 0.1.0")
    assert list((project / "changes").iterdir()) == []


def test_a_draft_changes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--draft"], root=project) == 0
    assert "## Next (" in capsys.readouterr().out
    assert len(list((project / "changes").iterdir())) == 4
    assert not (project / "CHANGELOG.md").exists()


def test_the_first_release_begins_the_changelog() -> None:
    assert with_release("", "## 0.1.0\n") == "# Changelog\n\n## 0.1.0\n"


@pytest.mark.parametrize("name", ["gangs.md", "gangs.better.md", ".fixed.md"])
def test_a_file_with_a_wrong_name_is_refused(project: Path, name: str) -> None:
    (project / "changes" / name).write_text("sim: something.")
    with pytest.raises(ValueError, match="name it <topic>"):
        read_changes(project / "changes")


def test_every_change_that_waits_for_a_release_can_be_told() -> None:
    assert release_text(read_changes(ROOT / "changes"), "Next", "").count("\n- ") > 0
