"""Real traces have quirks, but nothing that no sound trace can contain."""

from __future__ import annotations

import pytest

from prophase.trace.lint.linter import lint
from prophase.trace.reader import all_readers

SOURCES = {
    "ai4dl": "containers",
    "alibaba-dlrm2025": "dlrm2025",
    "azure-vm-cpu": "azure-vm",
    "bitbrains-small": "bitbrains",
    "blox-dstat": "dstat",
    "crux-lingjun": "crux",
    "drac-slurm": "drac",
    "gavel-throughput": "gavel",
    "genai2026": "genai2026",
    "google2011-jobs": "google2011",
    "gpumemnet": "gpumemnet",
    "helios-earth": "helios",
    "hpc-swf": "swf",
    "hydra": "hydra",
    "mit-supercloud": "mit-supercloud",
    "nextflow": "nextflow",
    "openb": "openb",
    "pai": "pai2020",
    "pai_sim": "pai-sim",
    "philly": "philly",
    "philly-cluster-state": "philly-state",
    "polaris": "polaris",
    "surf-lisa": "surf-lisa",
    "ubccr-micro-slurm": "sacct",
    "wfinstances": "wfcommons",
    "xdmod-sacct": "sacct",
    "zeus-dl": "zeus",
}
#: what the folders' descriptions name as quirks, and the finding that says so
QUIRKS = {
    "ai4dl": ("header-width", "sample-vr.csv"),
    "alibaba-dlrm2025": ("still-running", "jobs.end_s"),
    "crux-lingjun": ("zero-duration", "jobs.duration_s"),
    "google2011-jobs": ("repeated-id", "jobs.job_id"),
    "hydra": ("constant-column", "jobs.submit_s"),
    "mit-supercloud": ("repeated-id", "jobs.job_id"),
    "nextflow": ("zero-duration", "jobs.duration_s"),
    "pai": ("use-above-request", "jobs.memory_peak_gib"),
    "polaris": ("ratio-as-percent", "published_duration_errors.csv.rmse_perc"),
    "surf-lisa": ("short-series", "usage.series_id"),
}


@pytest.mark.data
@pytest.mark.parametrize("folder", SOURCES)
def test_no_real_trace_holds_an_error_and_known_quirks_are_warnings(shared_data, folder):
    assert SOURCES[folder] in all_readers()
    report = lint(shared_data / folder, source=SOURCES[folder])
    assert [f for f in report.findings if f.severity == "error"] == []
    if folder in QUIRKS:
        assert QUIRKS[folder] in {
            (f.check, f.place) for f in report.findings if f.severity == "warning"
        }


@pytest.mark.data
def test_all_real_traces_are_listed_here(shared_data):
    assert {folder.name for folder in shared_data.iterdir() if folder.is_dir()} == set(SOURCES)
