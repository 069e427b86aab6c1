from __future__ import annotations

from prophase.cli.first_page import PAGE, first_page
from prophase.cli.main import COMMANDS


def test_the_help_page_fits_one_screen(prophase_here):
    shown = prophase_here("--help").stdout.splitlines()
    assert len(shown) <= 40
    assert max(map(len, shown)) <= 80


def test_the_help_page_names_every_command(prophase_here):
    words = prophase_here("--help").stdout.replace(",", " ").split()
    assert [name for name in COMMANDS if name not in words] == []


def test_the_program_alone_shows_its_help_page(prophase_here):
    assert prophase_here().stdout == prophase_here("--help").stdout


def test_every_group_describes_a_command():
    assert all(any(commands.values()) for commands in PAGE.values())
    assert "Start " in first_page("")


def test_the_help_page_imports_no_command(prophase):
    done = prophase("--help", PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0
    imported = [line.split("|")[-1].strip() for line in done.stderr.splitlines()]
    heavy = [name for name in imported if name in ("pandas", "numpy", "rich", "prophase.cli.why")]
    assert heavy == []


def test_old_names_of_commands_work_and_say_the_new_one(prophase_here):
    for old, new in (("sbatch-advice", "sbatch"), ("scale", "autoscale")):
        done = prophase_here(old, "--help")
        assert done.returncode == 0
        assert f"prophase {old} is now prophase {new}" in done.stderr
