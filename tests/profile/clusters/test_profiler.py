from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from prophase.errors import InputError, MissingColumnError, ModelFileError, ParameterError
from prophase.modelfile import save_model
from prophase.profile.clusters.generator_comparison import compare_generators, leaking_effect
from prophase.profile.clusters.generators.density import Hdbscan, Optics
from prophase.profile.clusters.generators.generator_names import paper_generator
from prophase.profile.clusters.generators.k_means import KMeans
from prophase.profile.clusters.generators.rules import ProfileRules, Rule
from prophase.profile.clusters.profiler import KIND, WorkloadProfiler
from prophase.trace.trace_tables import open_trace


def test_profiles_are_the_kinds_of_job(jobs: pd.DataFrame) -> None:
    profiler = WorkloadProfiler(paper_generator(len(jobs))).fit(jobs)
    known = jobs["kind"].to_numpy() >= 0
    assert adjusted_rand_score(jobs["kind"][known], profiler.labels_[known]) > 0.95
    assert sum(one.n for one in profiler.profiles_) == len(jobs)
    assert profiler.statistics_["n_clusters"] == 3
    assert "duration_s" not in profiler.columns_
    assert "duration_s" in profiler.profile(0).dynamic


def test_new_jobs_of_a_known_kind_find_their_profile_and_strangers_do_not(
    jobs: pd.DataFrame,
) -> None:
    profiler = WorkloadProfiler(paper_generator(150)).fit(jobs.iloc[:150])
    found = profiler.assign(jobs.iloc[150:])
    kinds = jobs["kind"].iloc[150:].to_numpy()
    inside = found.labels >= 0
    assert inside[kinds >= 0].mean() > 0.8
    assert adjusted_rand_score(kinds[inside], found.labels[inside]) > 0.95
    strange = jobs.iloc[:1].assign(cpu_mean_cores=5000.0, memory_peak_gib=9000.0)
    assert profiler.predict(strange).tolist() == [-1]


def test_without_the_reject_option_every_job_has_a_profile(jobs: pd.DataFrame) -> None:
    profiler = WorkloadProfiler().fit(jobs)
    strange = jobs.iloc[:3].assign(cpu_mean_cores=5000.0, memory_peak_gib=9000.0)
    found = profiler.assign(strange, reject=False)
    assert (found.labels >= 0).all()
    assert (found.strength == 0).all()


def test_jobs_that_belong_weakly_can_be_rejected(jobs: pd.DataFrame) -> None:
    free, strict = WorkloadProfiler().fit(jobs), WorkloadProfiler(reject_below=0.8).fit(jobs)
    weak = (free.strength_ < 0.8) & (free.labels_ >= 0)
    assert weak.any()
    assert (strict.labels_ == np.where(weak, -1, free.labels_)).all()
    assert any("below 0.8 became outliers" in note for note in strict.notes_)
    assert (strict.assign(jobs).strength[strict.predict(jobs) >= 0] >= 0.8).all()
    with pytest.raises(ParameterError, match="0 to 1"):
        WorkloadProfiler(reject_below=2).fit(jobs)


def test_the_jobs_of_the_fit_are_recognised_and_others_are_assigned(
    jobs: pd.DataFrame, tmp_path: Path
) -> None:
    past, rest = jobs.iloc[:150], jobs.iloc[150:]
    profiler = WorkloadProfiler(Optics(20)).fit(past)
    profiler.save(tmp_path / "profiles.model")
    profiler = WorkloadProfiler.load(tmp_path / "profiles.model")
    found = profiler.recognise(jobs.sample(frac=1, random_state=1))
    assert found.learnt
    assert found.jobs["job_id"].tolist() == past["job_id"].tolist()
    assert (found.labels == profiler.labels_).all()
    other = profiler.recognise(rest)
    assert not other.learnt
    assert (other.labels == profiler.predict(rest)).all()
    changed = profiler.recognise(jobs.assign(cpu_mean_cores=jobs["cpu_mean_cores"] + 1))
    assert not changed.learnt


@pytest.mark.parametrize("generator", [Hdbscan(20, min_samples=5), Optics(20), KMeans(3)])
def test_a_saved_profiler_comes_back_with_the_same_labels_and_answers(
    generator: Hdbscan | Optics | KMeans, jobs: pd.DataFrame, tmp_path: Path
) -> None:
    profiler = WorkloadProfiler(generator).fit(jobs)
    checksum = profiler.save(tmp_path / "profiles.model")
    again = WorkloadProfiler.load(tmp_path / "profiles.model")
    assert (again.labels_ == profiler.labels_).all()
    assert (again.strength_ == profiler.strength_).all()
    assert (again.predict(jobs) == profiler.predict(jobs)).all()
    assert again.profiles_ == profiler.profiles_
    shares = [list(one.top.values()) for held in again.profiles_ for one in held.static]
    assert all(one == sorted(one, reverse=True) for one in shares)
    assert again.statistics_ == profiler.statistics_
    if profiler.tree_ is not None:
        assert again.tree_ is not None
        pd.testing.assert_frame_equal(again.tree_.groups(), profiler.tree_.groups())
    if profiler.reachability_ is not None:
        assert again.reachability_ is not None
        assert (again.reachability_.order == profiler.reachability_.order).all()
    assert (again.scores_.values == profiler.scores_.values).all()
    assert again.save(tmp_path / "again.model") == checksum


def test_a_model_of_another_kind_or_with_a_part_missing_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path / "other.model", kind="sizing.peak")
    with pytest.raises(ModelFileError, match=r"'sizing\.peak'"):
        WorkloadProfiler.load(tmp_path / "other.model")
    save_model(tmp_path / "half.model", kind=KIND, meta={"transform": "power"})
    with pytest.raises(ModelFileError, match="lacks a part"):
        WorkloadProfiler.load(tmp_path / "half.model")


def test_all_outliers_are_said_and_every_further_job_is_rejected(jobs: pd.DataFrame) -> None:
    profiler = WorkloadProfiler(Hdbscan(150, min_samples=150)).fit(jobs)
    assert profiler.statistics_["n_clusters"] == 0
    assert "Every job is an outlier" in profiler.notes_[-1]
    assert set(profiler.predict(jobs)) == {-1}


def test_profiles_of_requests_alone_say_so(jobs: pd.DataFrame) -> None:
    asked = pd.DataFrame({"request_cpu_cores": jobs["cpu_mean_cores"].round()})
    notes = WorkloadProfiler().fit(asked).notes_
    assert any("requests alone" in note for note in notes)
    assert not any("requests alone" in note for note in WorkloadProfiler().fit(jobs).notes_)


def test_jobs_of_another_schema_are_refused(jobs: pd.DataFrame) -> None:
    profiler = WorkloadProfiler().fit(jobs)
    with pytest.raises(MissingColumnError, match="learned with cpu_mean_cores"):
        profiler.predict(jobs.drop(columns="cpu_mean_cores"))
    with pytest.raises(InputError, match="infinite"):
        profiler.predict(jobs.assign(cpu_mean_cores=np.inf))


def test_an_unfitted_profiler_and_an_unknown_profile_are_refused(jobs: pd.DataFrame) -> None:
    with pytest.raises(ParameterError, match="Call fit"):
        WorkloadProfiler().predict(jobs)
    with pytest.raises(ParameterError, match="There are: "):
        WorkloadProfiler().fit(jobs).profile(99)
    with pytest.raises(ParameterError, match="members is 0"):
        WorkloadProfiler(members=0).fit(jobs)


@pytest.mark.parametrize("generator", ["hdbscan", 3])
def test_a_word_or_number_is_no_generator_and_the_message_says_how_to_make_one(
    generator: object, jobs: pd.DataFrame
) -> None:
    with pytest.raises(ParameterError, match=r"generator_names.generator_named\('hdbscan', jobs\)"):
        WorkloadProfiler(generator=generator).fit(jobs)  # type: ignore[arg-type]


def test_too_short_a_history_is_refused(jobs: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="longer history"):
        WorkloadProfiler().fit(jobs.head(5))


def test_profiles_by_rules_carry_their_names(jobs: pd.DataFrame) -> None:
    rules = ProfileRules([Rule("server", {"task": {"is": "ps"}})])
    assert WorkloadProfiler(rules).fit(jobs).profile(0).name == "server"


def test_the_effect_of_leaking_metrics_is_reported(jobs: pd.DataFrame) -> None:
    table = leaking_effect(jobs)
    assert table["leaking"].tolist() == [True, False]
    assert (table["metrics"].diff().iloc[1]) == -3
    assert -1 <= table["same_pairs"].iloc[0] <= 1


def test_generators_are_compared_on_the_same_metrics(jobs: pd.DataFrame) -> None:
    table = compare_generators(jobs, [Hdbscan(20, min_samples=5), KMeans(4), Optics(20)])
    assert table["generator"].tolist() == ["hdbscan", "kmeans", "optics"]
    assert (table["silhouette"] > 0.5).all()


@pytest.mark.data
def test_the_published_rows_have_profiles_that_survive_a_file(
    shared_data: Path, tmp_path: Path
) -> None:
    jobs = open_trace(shared_data / "pai" / "polaris_1_000_sampled_test_data.csv").jobs
    profiler = WorkloadProfiler().fit(jobs)
    assert profiler.statistics_["n_clusters"] > 5
    profiler.save(tmp_path / "profiles.model")
    assert (WorkloadProfiler.load(tmp_path / "profiles.model").predict(jobs) >= 0).any()
