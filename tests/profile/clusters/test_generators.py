"""Checks that all generators share, and what is particular to each."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import cluster
from sklearn.metrics import adjusted_rand_score

from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.profile.clusters.clustering import Generator
from prophase.profile.clusters.generators.autoencoder import Autoencoder
from prophase.profile.clusters.generators.density import Hdbscan, Optics
from prophase.profile.clusters.generators.k_means import KMeans
from prophase.profile.clusters.generators.rules import ProfileRules, Rule
from prophase.profile.clusters.generators.semi_supervised import SemiSupervised
from prophase.profile.clusters.transforms import fit_transform
from prophase.profile.clusters.usage_metrics import usage_features

GENERATORS: list[Generator] = [
    Hdbscan(20, min_samples=5),
    Hdbscan(20, min_samples=5, metric="manhattan"),
    Optics(20),
    KMeans(4, reject_frac=0.05),
    ProfileRules(
        [
            Rule("busy", {"gpu_util_mean_pct": {"at_least": 70, "below": 99}}),
            Rule("server", {"task": {"is": "ps"}}),
            Rule("graph", {"workload": {"is": ["gnn", "graphlearn"]}}),
        ]
    ),
    SemiSupervised("labelled", reject_below=0.6),
    Autoencoder(codes=2, hidden=8, inner=Hdbscan(20, min_samples=5)),
]


@pytest.fixture
def labelled(jobs: pd.DataFrame) -> pd.DataFrame:
    few = jobs.groupby("kind").head(5).index
    names = jobs["kind"].map({0: "train", 1: "serve", 2: "graph", -1: None})
    return jobs.assign(labelled=names.where(jobs.index.isin(few)))


def values_of(jobs: pd.DataFrame) -> Any:
    features = usage_features(jobs, leaking=False)
    return fit_transform("power", features.values)(features.values)


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda one: f"{one.name}-{one.metric}")
def test_every_generator_finds_the_kinds_of_job(
    generator: Generator, labelled: pd.DataFrame
) -> None:
    values = values_of(labelled)
    found = generator.cluster(values, labelled)
    known = labelled["kind"].to_numpy() >= 0
    assert adjusted_rand_score(labelled["kind"][known], found.labels[known]) > 0.9
    assert found.labels.dtype == np.int64
    assert ((found.strength >= 0) & (found.strength <= 1)).all()
    assert not found.strength[found.labels == -1].any()
    again = generator.cluster(values, labelled)
    assert (again.labels == found.labels).all()
    json.dumps(generator.settings(), allow_nan=False)


def test_hdbscan_gives_a_condensed_tree_whose_leaves_are_its_profiles(jobs: pd.DataFrame) -> None:
    found = Hdbscan(20, min_samples=5).cluster(values_of(jobs))
    assert found.tree is not None
    assert set(found.tree.profile_of.values()) == set(range(found.count))
    own = {job: node for node, job in zip(found.tree.parent, found.tree.child, strict=True)}
    up = dict(zip(found.tree.child.tolist(), found.tree.parent.tolist(), strict=True))
    for job in np.flatnonzero(found.labels >= 0):
        node = own[job]
        while node not in found.tree.profile_of:
            node = up[node]
        assert found.tree.profile_of[node] == found.labels[job]
    groups = found.tree.groups()
    assert set(groups["profile"].dropna()) == set(range(found.count))


def test_the_exact_tree_gives_the_groups_of_scikit_learn() -> None:
    rng = np.random.default_rng(2)
    values = np.vstack([rng.normal(c, s, (150, 3)) for c, s in ((0, 1), (6, 0.5), (3, 2), (9, 1))])
    ours = Hdbscan(25, min_samples=10).cluster(values)
    # scikit-learn counts a job among its own neighbours
    theirs = cluster.HDBSCAN(min_cluster_size=25, min_samples=11, copy=True).fit(values)
    # many edges are equally long, namely the core distance of one job: which of them a tree takes
    # decides on a few jobs at the rim of a group, and differs by library and by processor
    assert ours.count == theirs.labels_.max() + 1
    assert adjusted_rand_score(ours.labels, theirs.labels_) > 0.97


def test_optics_gives_a_reachability_plot(jobs: pd.DataFrame) -> None:
    found = Optics(20).cluster(values_of(jobs))
    assert found.reachability is not None
    assert sorted(found.reachability.order) == list(range(len(jobs)))
    assert np.isinf(found.reachability.distance[0])


def test_optics_on_many_rows_takes_a_sample_and_says_so(jobs: pd.DataFrame) -> None:
    found = Optics(30, most_rows=100).cluster(values_of(jobs))
    assert "a sample of 100 jobs of 192" in found.notes[0]
    known = jobs["kind"].to_numpy() >= 0
    assert adjusted_rand_score(jobs["kind"][known], found.labels[known]) > 0.8


def test_kmeans_with_fewer_different_jobs_than_clusters_says_so() -> None:
    found = KMeans(5).cluster(np.array([[0.0], [0.0], [1.0], [1.0], [1.0]]))
    assert found.count == 2
    assert "only 2 different jobs" in found.notes[0]


def test_equal_jobs_are_one_profile_or_outliers_but_no_error() -> None:
    same = np.ones((50, 3))
    for generator in (Hdbscan(5), Optics(5), KMeans(3), Autoencoder(inner=KMeans(2))):
        assert len(generator.cluster(same).labels) == 50


def test_jobs_that_meet_no_rule_are_outliers_and_idle_rules_are_named(jobs: pd.DataFrame) -> None:
    rules = ProfileRules([Rule("nothing", {"cpu_mean_cores": {"below": 0}})])
    found = rules.cluster(values_of(jobs), jobs)
    assert found.outliers == len(jobs)
    assert found.notes == ("No job is left for rule 'nothing'.", "192 jobs meet no rule.")


def test_too_little_data_is_refused_with_what_to_do() -> None:
    with pytest.raises(InputError, match="needs at least 301 jobs and there are 10"):
        Hdbscan().cluster(np.zeros((10, 2)))
    with pytest.raises(InputError, match="longer history"):
        Optics().cluster(np.zeros((10, 2)))
    with pytest.raises(InputError, match="k-means with 26"):
        KMeans().cluster(np.zeros((10, 2)))


def test_settings_out_of_range_are_refused(jobs: pd.DataFrame) -> None:
    values = values_of(jobs)
    with pytest.raises(ParameterError, match="take 2 or more"):
        Hdbscan(1).cluster(values)
    with pytest.raises(ParameterError, match="euclidean or manhattan"):
        Optics(metric="cosine").cluster(values)
    with pytest.raises(ParameterError, match="reject_frac"):
        KMeans(reject_frac=1.0).cluster(values)
    with pytest.raises(ParameterError, match="Did you mean 'at_least'"):
        Rule("a", {"task": {"atleast": 1}})
    with pytest.raises(ParameterError, match="one rule or more"):
        ProfileRules([]).cluster(values, jobs)
    with pytest.raises(ParameterError, match="one neighbour"):
        SemiSupervised("kind", neighbours=0).cluster(values, jobs)
    with pytest.raises(ParameterError, match="codes is 0"):
        Autoencoder(codes=0).cluster(values)


def test_missing_labels_and_columns_are_named(jobs: pd.DataFrame) -> None:
    values = values_of(jobs)
    with pytest.raises(MissingColumnError, match="'labelled'"):
        SemiSupervised("labelled").cluster(values, jobs)
    with pytest.raises(InputError, match="1 label;"):
        SemiSupervised("one").cluster(values, jobs.assign(one="same"))
    with pytest.raises(MissingColumnError, match="rule 'a' asks for the column 'tsk'"):
        ProfileRules([Rule("a", {"tsk": {"is": "ps"}})]).cluster(values, jobs)
