"""Steps that look at the trace."""

from __future__ import annotations

from pathlib import Path

from prophase.profile.clusters.default_profiles import default_profiles, ended_jobs
from prophase.profile.clusters.generators.k_means import KMeans
from prophase.profile.clusters.generators.rules import ProfileRules, rules_of_column
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.study.pipeline import run_study
from prophase.study.plan import StudyPlan
from prophase.trace.synth.pai import make_pai
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import PROFILES


def told(folder: Path) -> tuple[str, dict[str, int]]:
    """Return how the step went, and the jobs of each profile that it tells of."""
    found = run_study(StudyPlan(str(folder), seed=2, steps=("profiles",)))
    rows = found.results["profiles"]["profiles"]
    return found.steps[-1].state, {one["profile"]: one["jobs"] for one in rows}


def sizes(profiler: WorkloadProfiler) -> dict[str, int]:
    return {one.name: one.n for one in profiler.profiles_ if not one.outliers}


def test_a_study_tells_of_the_profiles_that_the_workspace_answers_from(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    made = make_pai(600, days=2.0, random_state=0)
    workspace = Workspace.create(folder)
    workspace.store_frames(made.tables, source="synth", source_hash=made.data_hash)
    jobs = workspace.read("jobs")
    usual = default_profiles(jobs, random_state=2)
    assert told(folder) == ("done", sizes(usual)), "without profiles, the usual ones"
    assert told(folder)[0] == "kept"
    own = WorkloadProfiler(KMeans(clusters=4)).fit(ended_jobs(jobs).jobs)
    (folder / PROFILES).parent.mkdir(exist_ok=True)
    own.save(folder / PROFILES)
    assert told(folder) == ("done", sizes(own)), "as soon as it has some, those"
    assert len(sizes(own)) == 4
    other = jobs.assign(cpu_mean_cores=jobs["cpu_mean_cores"] + 1)
    WorkloadProfiler(KMeans(clusters=3)).fit(ended_jobs(other).jobs).save(folder / PROFILES)
    assert told(folder) == ("done", sizes(usual)), "profiles of other jobs do not count"


def test_profiles_with_names_are_told_by_them(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    made = make_pai(200, days=1.0, random_state=0)
    workspace = Workspace.create(folder)
    workspace.store_frames(made.tables, source="synth", source_hash=made.data_hash)
    jobs = ended_jobs(workspace.read("jobs")).jobs
    (folder / PROFILES).parent.mkdir(exist_ok=True)
    rules = ProfileRules(rules_of_column(jobs, "workload"))
    WorkloadProfiler(rules).fit(jobs).save(folder / PROFILES)
    assert set(told(folder)[1]) <= set(jobs["workload"].dropna())
