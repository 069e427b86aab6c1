from __future__ import annotations

from pathlib import Path

import pytest

from prophase.runs.usage.cgroup import ControlGroup, new_group
from prophase.runs.usage.peak_memory import GroupMeter

MIB = 2**20


def version_2(folder: Path, **files: int | str) -> ControlGroup:
    for name, value in files.items():
        (folder / f"memory.{name}").write_text(f"{value}\n")
    return ControlGroup(folder)


def test_version_2_is_read_from_its_files(tmp_path):
    stat = "file 100\nshmem 40\nslab_reclaimable 5"
    group = version_2(
        tmp_path, current=300, peak=500, max="max", stat=stat, events="oom 1\noom_kill 2"
    )
    assert (group.version, group.usage_bytes(), group.highest_bytes()) == (2, 300, 500)
    assert group.cache_bytes() == 65
    assert group.oom_kills() == 2
    assert group.limit_bytes() is None
    assert version_2(tmp_path, max=1000).limit_bytes() == 1000


def test_a_group_without_the_memory_controller_is_not_used(tmp_path):
    with pytest.raises(PermissionError, match="not delegated"):
        ControlGroup(tmp_path).child()
    assert list(tmp_path.iterdir()) == []


def test_groups_left_by_a_measurement_that_was_killed_are_removed(tmp_path):
    left = tmp_path / "prophase-4194305-1"
    left.mkdir()
    with pytest.raises(PermissionError):
        ControlGroup(tmp_path).child()
    assert not left.exists()


def test_no_group_is_made_when_they_are_off(monkeypatch):
    monkeypatch.setenv("PROPHASE_CGROUP", "off")
    assert new_group() is None


def test_a_group_of_our_own_lies_below_the_one_we_are_in_and_is_gone_afterwards():
    made = new_group(64 * MIB)
    if made is None:
        pytest.skip("no control group can be made here")
    assert made.limit_bytes() == 64 * MIB
    own = ControlGroup.own()
    assert own is not None
    assert made.folder.parent in (own.folder, own.folder.parent)
    made.remove()
    assert not made.folder.exists()


def test_a_group_that_does_not_let_processes_in_is_not_used(tmp_path):
    assert not version_2(tmp_path / "gone", **{}).lets_in()


def test_the_page_cache_is_no_memory_of_the_command(tmp_path):
    meter = GroupMeter(version_2(tmp_path, current=0, peak=0, stat="file 0"))
    meter.look()
    version_2(tmp_path, current=400 * MIB, peak=400 * MIB, stat=f"file {300 * MIB}")
    assert meter.look() == 100 * MIB
    version_2(tmp_path, current=0, stat="file 0")
    meter.look()
    assert meter.peak().bytes == 100 * MIB
    assert meter.peak().error_bytes < 20 * MIB


def test_a_mark_between_two_looks_leaves_a_range_as_wide_as_the_cache_has_moved(tmp_path):
    meter = GroupMeter(version_2(tmp_path, current=0, peak=0, stat="file 0"))
    meter.look()
    version_2(tmp_path, current=60 * MIB, peak=900 * MIB, stat=f"file {50 * MIB}")
    meter.look()
    found = meter.peak()
    assert found.bytes == 850 * MIB
    assert 50 * MIB <= found.error_bytes < 70 * MIB


def test_a_mark_that_cannot_be_set_back_counts_once(tmp_path):
    meter = GroupMeter(version_2(tmp_path, current=0, peak=900 * MIB, stat=f"file {800 * MIB}"))
    meter.look()
    version_2(tmp_path, stat="file 0")
    meter.look()
    assert meter.peak().bytes == 100 * MIB
