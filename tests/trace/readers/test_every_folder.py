"""Every real trace imports with the counts that its README states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from prophase.trace import (
    ImportReport,
    Workspace,
    all_readers,
    check_jobs,
    check_nodes,
    check_usage,
    import_trace,
)
from prophase.trace.reader import guess_reader

pytestmark = pytest.mark.data


@dataclass(frozen=True)
class Folder:
    """A folder of the real traces: its source, its main file, and rows kept by table."""

    name: str
    source: str
    main: str
    rows: Mapping[str, int]
    left_out: Mapping[str, int] = field(default_factory=dict)


FOLDERS = (
    # two of its three files are the same 204 rows
    Folder("ai4dl", "containers", "sample.csv", {"usage": 204 + 2286}),
    Folder(
        "alibaba-dlrm2025", "dlrm2025", "instances.csv.gz", {"jobs": 13_379, "nodes": 4_278}
    ),
    Folder("azure-vm-cpu", "azure-vm", "cpu_avg.csv.gz", {"usage": 66 * 8_004}),
    Folder("bitbrains-small", "bitbrains", "cpu_series.csv.gz", {"jobs": 33, "usage": 190_983}),
    Folder("blox-dstat", "dstat", "audio_classification_1s.csv.gz", {"usage": 4_596}),
    Folder("crux-lingjun", "crux", "jobs.csv", {"jobs": 1_257, "nodes": 847}),
    Folder("drac-slurm", "drac", "cedar_2021-05.csv.gz", {"jobs": 72_460 + 53_856}),
    Folder("gavel-throughput", "gavel", "throughputs.csv.gz", {"throughput": 7_368}),
    # three metrics on one clock; the README says that a few samples have no pod
    Folder(
        "genai2026",
        "genai2026",
        "pod_gpu_duty_cycle.csv.gz",
        {"usage": 140_249},
        {"sample without a pod": 49},
    ),
    Folder("google2011-jobs", "google2011", "jobs_part1.csv.gz", {"jobs": 149_301}),
    Folder("gpumemnet", "gpumemnet", "cnn.csv.gz", {"jobs": 2_100 + 1_442}),
    # GPUs of 25 VCs on 181 days
    Folder(
        "helios-earth",
        "helios",
        "vc_minute_state_2020-05.csv.gz",
        {"usage": 11 * 44_640, "gpus_by_day": 25 * 181, "cluster_summary": 5},
    ),
    Folder(
        "hpc-swf",
        "swf",
        "kth-sp2-1996.part1.swf.gz",
        {"jobs": 16_465 + 12_599 + 7_765, "nodes": 100 + 4_360 + 20 + 48},
    ),
    Folder("hydra", "hydra", "20_ddl.csv", {"jobs": 2 * 5_000}),
    Folder("mit-supercloud", "mit-supercloud", "slurm_sample.csv.gz",
           {"jobs": 5_763, "usage": 22_344}),
    Folder("nextflow", "nextflow", "trace_eager.csv", {"jobs": 2_938 + 1_576 + 6_242 + 1_308}),
    Folder("openb", "openb", "openb_pod_list_default.csv", {"jobs": 8_152, "nodes": 1_213}),
    Folder("pai", "pai2020", "polaris_1_000_sampled_test_data.csv",
           {"jobs": 999, "nodes": 1_897}),
    Folder(
        "pai_sim",
        "pai-sim",
        "philly20k.csv.gz",
        {"jobs": 20_000, "reference_jct": 2 * 20_000, "reference_results": 2},
    ),
    Folder("philly", "philly", "philly.csv.gz", {"jobs": 82_247}),
    Folder("philly-cluster-state", "philly-state", "jobs_all_status.csv.gz",
           {"jobs": 84_605, "usage": 61_321, "vc_nodes": 11}),
    Folder("polaris", "polaris", "01_hdbscan_analysis.csv",
           {"clustering_grid": 56 + 56, "duration_errors": 999}),
    Folder("surf-lisa", "surf-lisa", "cpu_series.csv.gz",
           {"jobs": 2_651, "usage": 1_894_171, "month_tasks": 50_381}),
    Folder("ubccr-micro-slurm", "sacct", "real_outcomes_first250.psv",
           {"jobs": 500}),
    Folder("wfinstances", "wfcommons", "tasks.csv.gz", {"jobs": 15_375}),
    Folder("xdmod-sacct", "sacct", "phillips.sacct.psv.gz", {"jobs": 4_285}),
    Folder("zeus-dl", "zeus", "summary_train.csv",
           {"epochs_to_target": 3_759, "time_per_epoch": 476 + 270 + 410}),
)  # fmt: skip

#: columns that a source can fill but these copies of it do not hold; each has a test of its own
ELSEWHERE = {
    # the shared folders hold prepared parts; the owners' own files are read too
    ("azure-vm", "jobs"): (
        "job_id user group workload submit_s start_s end_s duration_s wait_s instances "
        "request_cpu_cores request_memory_gib cpu_mean_cores cpu_peak_cores after_cpu_p95_pct "
        "attr_cores_bucket attr_memory_bucket"
    ),
    ("azure-vm", "usage"): "cpu_util_min_pct",
    ("bitbrains", "jobs"): "cpu_mean_cores cpu_peak_cores memory_mean_gib memory_peak_gib",
    ("bitbrains", "usage"): (
        "memory_gib memory_limit_gib read_bytes_per_s write_bytes_per_s received_bytes_per_s "
        "sent_bytes_per_s"
    ),
    ("google2011", "jobs"): "name submit_s start_s end_s wait_s status",
    ("google2011", "usage"): (
        "series_id time_s step_s cpu_frac cpu_peak_frac ram_frac ram_peak_frac"
    ),
    ("google2011", "nodes"): "node_id attr_platform attr_cpu_frac attr_ram_frac",
    ("drac", "jobs"): "gpu_type",
    ("dstat", "usage"): "load_1m",
    ("helios", "jobs"): (
        "job_id user queue submit_s start_s end_s duration_s wait_s status instances "
        "request_cpu_cores request_gpus attr_cluster"
    ),
    ("nextflow", "jobs"): "queue attr_disk_gib attr_module after_error_action",
    ("openb", "jobs"): "gpu_type attr_gpu_spec",
    ("pai-sim", "jobs"): "group workload",
    ("pai2020", "jobs"): (
        "submit_s wait_s gpu_type after_machine_cpu after_machine_cpu_iowait "
        "after_machine_cpu_kernel after_machine_cpu_usr after_machine_gpu after_machine_load_1 "
        "after_machine_net_receive after_machine_num_worker"
    ),
    ("philly", "jobs"): "user start_s end_s wait_s status after_attempts",
    ("sacct", "jobs"): (
        "parent_id gpu_type cpu_mean_cores memory_peak_gib gpu_util_mean_pct gpu_memory_peak_gib "
        "read_bytes write_bytes after_elapsed_s after_priority attr_licenses attr_reservation "
        "attr_submit_line attr_wckey attr_comment attr_workdir"
    ),
    ("sacct", "nodes"): (
        "node_id cpu_cores memory_gib gpus gpu_type features attr_switch attr_partitions "
        "attr_weight"
    ),
    ("sacct", "submissions"): (
        "job_id user group queue submit_s duration_s instances request_cpu_cores "
        "request_memory_gib request_gpus gpu_type time_limit_s attr_qos attr_constraint "
        "attr_features"
    ),
    ("swf", "jobs"): (
        "workload cpu_mean_cores memory_mean_gib attr_partition attr_preceding_job "
        "attr_think_time_s"
    ),
    ("wfcommons", "jobs"): "start_s end_s priority",
}
CHECKS = {"jobs": check_jobs, "usage": check_usage, "nodes": check_nodes}

ids = [folder.name for folder in FOLDERS]


@dataclass(frozen=True)
class Imported:
    """What is left of an import once its workspace is gone."""

    report: ImportReport
    #: table -> columns that hold a value
    filled: Mapping[str, set[str]]


@pytest.fixture(scope="module")
def imports(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Imported]:
    """Import each folder once, when it is first asked for, and check its tables."""

    class Imports(dict[str, Imported]):
        def __missing__(self, name: str) -> Imported:
            folder = next(folder for folder in FOLDERS if folder.name == name)
            workspace = Workspace.create(tmp_path_factory.mktemp(name))
            report = import_trace(folder.source, shared_data / name, workspace)
            for table, check in CHECKS.items():
                if table in workspace.tables:
                    check(workspace.read(table))
            filled = {n: set(entry.columns) for n, entry in workspace.tables.items()}
            self[name] = Imported(report, filled)
            return self[name]

    return Imports()


def test_no_folder_is_forgotten(shared_data: Path) -> None:
    assert {folder.name for folder in FOLDERS} == {
        path.name for path in shared_data.iterdir() if path.is_dir()
    }


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_the_folder_imports_with_the_counts_of_its_readme(
    folder: Folder, imports: dict[str, Imported]
) -> None:
    tables = imports[folder.name].report.tables
    assert {name: count.kept for name, count in tables.items()} == folder.rows
    left_out = {reason: n for count in tables.values() for reason, n in count.dropped.items()}
    assert left_out == folder.left_out


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_every_row_that_was_read_is_kept_or_left_out_with_a_reason(
    folder: Folder, imports: dict[str, Imported]
) -> None:
    report = imports[folder.name].report
    for count in report.tables.values():
        assert count.read == count.kept + sum(count.dropped.values())
    assert report.files
    assert all(len(digest) == 64 for digest in report.files.values())


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_every_filled_column_is_declared_by_the_reader(
    folder: Folder, imports: dict[str, Imported]
) -> None:
    declared = all_readers()[folder.source].fills
    for table, columns in imports[folder.name].filled.items():
        # identity is made at import, for every reader
        assert columns - {"source", "tenant", "kind"} <= set(declared[table])


@pytest.mark.parametrize("source", sorted({folder.source for folder in FOLDERS}))
def test_every_declared_column_is_filled_here_or_known_to_be_elsewhere(
    source: str, imports: dict[str, Imported]
) -> None:
    seen: dict[str, set[str]] = {}
    for folder in FOLDERS:
        if folder.source == source:
            for table, columns in imports[folder.name].filled.items():
                seen.setdefault(table, set()).update(columns)
    for table, declared in all_readers()[source].fills.items():
        absent = set(declared) - seen.get(table, set())
        assert absent == set(ELSEWHERE.get((source, table), "").split())


@pytest.mark.parametrize("folder", FOLDERS, ids=ids)
def test_the_source_is_recognised_from_the_main_file_and_from_the_folder(
    folder: Folder, shared_data: Path
) -> None:
    assert guess_reader(shared_data / folder.name / folder.main).name == folder.source
    assert guess_reader(shared_data / folder.name).name == folder.source
