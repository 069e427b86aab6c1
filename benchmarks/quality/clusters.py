"""Do profiles group jobs that use resources alike? Real and synthetic rows, beside baselines.

Synthetic traces know the true profile of every job: the adjusted Rand index says how much of it
is found. The baseline learns nothing: the workload's name as the profile. On the 999 published
PAI rows there is no truth; there the silhouette is taken, of jobs in a profile, on the same
metrics. Silhouettes of different shares of outliers are not one another's equals, so the
share of jobs in a profile stands beside.

Profiles are for people, too: with ``--part same`` the groups of a fit without a tenth of the jobs
are compared with those of all, at default settings, on all shared traces whose jobs say anything
of what they use or ask for.

    python benchmarks/quality/clusters.py [--jobs 6000] [--seeds 3] [--part all|same]
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.array_types import Ints
from prophase.papers.grid.statistics import compare_with_table_iv
from prophase.profile.clusters.clusterability import fixed_label_silhouettes, hopkins
from prophase.profile.clusters.default_profiles import ended_jobs
from prophase.profile.clusters.generator_comparison import compare_generators, leaking_effect
from prophase.profile.clusters.generators.autoencoder import Autoencoder
from prophase.profile.clusters.generators.density import Hdbscan, Optics
from prophase.profile.clusters.generators.generator_names import paper_generator
from prophase.profile.clusters.generators.k_means import KMeans
from prophase.profile.clusters.generators.rules import ProfileRules, Rule
from prophase.profile.clusters.generators.semi_supervised import SemiSupervised
from prophase.profile.clusters.generators.usage_tree import UsageTree
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.clusters.transforms import PAPER_TRANSFORMS, fit_transform
from prophase.profile.clusters.usage_metrics import usage_features
from prophase.trace.describe.column_arrays import has_values
from prophase.trace.synth.pai import make_pai
from prophase.trace.trace_tables import open_trace
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))

TRACES = (
    "alibaba-dlrm2025", "bitbrains-small", "crux-lingjun", "drac-slurm/cedar_2021-05.csv.gz",
    "drac-slurm/graham_2021-05a.csv.gz", "drac-slurm/graham_2021-05b.csv.gz", "google2011-jobs",
    "gpumemnet/cnn.csv.gz", "gpumemnet/mlp.csv.gz", "hpc-swf/alcf-theta-2022.part1.swf.gz",
    "hpc-swf/cerit-wagap-2013.part1.swf.gz", "hpc-swf/kth-sp2-1996.part1.swf.gz", "hydra",
    "mit-supercloud", "nextflow", "nextflow/trace_chipseq.csv.gz", "nextflow/trace_eager.csv",
    "nextflow/trace_mag.csv.gz", "nextflow/trace_rnaseq.csv", "openb",
    "openb/openb_pod_list_cpu100.csv", "openb/openb_pod_list_gpushare40.csv",
    "openb/openb_pod_list_multigpu20.csv", "pai", "pai_sim", "philly", "philly-cluster-state",
    "surf-lisa", "ubccr-micro-slurm", "ubccr-micro-slurm/real_outcomes_first250.psv",
    "ubccr-micro-slurm/workload_jobs500.csv", "wfinstances", "xdmod-sacct",
)  # fmt: skip


def against_truth(jobs: int, seeds: int) -> None:
    from sklearn.metrics import adjusted_rand_score

    for leaking in (False, True):
        found, names, inside = [], [], []
        for seed in range(seeds):
            trace = make_pai(jobs=jobs, random_state=seed)
            table = trace.jobs.merge(trace.truth["truth_profiles"], on="job_id")
            table = table[table["status"] == "completed"].reset_index(drop=True)
            profiler = WorkloadProfiler(leaking=leaking).fit(table)
            kept = profiler.labels_ >= 0
            truth = table["profile"].to_numpy()
            found.append(adjusted_rand_score(truth[kept], profiler.labels_[kept]))
            names.append(adjusted_rand_score(truth[kept], table["workload"][kept]))
            inside.append(float(kept.mean()))
        which = "17 metrics" if leaking else "without start, end, duration"
        record(
            Measurement(
                f"profiles found, {which}", "adjusted Rand index", found, "workload names", names,
                f"synthetic PAI, {jobs:,} jobs, {seeds} seeds",
                f"both over the {np.mean(inside):.0%} of jobs in a profile",
            )
        )  # fmt: skip


def on_published_rows() -> None:
    data = "pai/polaris_1_000_sampled_test_data.csv"
    jobs = open_trace(DATA / data).jobs
    features = usage_features(jobs)
    for name in PAPER_TRANSFORMS:
        values = fit_transform(name, features.values)(features.values)
        found = hopkins(values, points=99, repeats=10)
        remark = f"spread {found.spread:.3f} over 10 repeats; random from 0.3 on"
        statistic = [found.statistic]
        record(Measurement(f"Hopkins, {name}", "", statistic, data=data, remark=remark))
    print(leaking_effect(jobs).T.to_string())
    few = jobs.groupby("workload").head(5).index
    jobs["label"] = jobs["workload"].where(jobs.index.isin(few))
    own = paper_generator(len(jobs))
    size = own.min_cluster_size
    rules = ProfileRules(
        [Rule(word, {"workload": {"is": word}}) for word in jobs["workload"].unique()]
    )
    generators = [
        own,
        UsageTree(),
        Hdbscan(size),
        Optics(size),
        KMeans(10),
        rules,
        SemiSupervised("label"),
        Autoencoder(inner=own),
    ]
    table = compare_generators(jobs, generators, silhouette_rows=None)
    print(table.drop(columns="note").round(3).to_string())
    held = usage_features(jobs, leaking=False)
    values = fit_transform("power", held.values)(held.values)
    label = fixed_label_silhouettes(jobs, values, rows=None).set_index("label")
    print(label.round(3).to_string())
    for number, row in table.iterrows():
        clustered = 1 - row["n_outliers"] / row["n_jobs"]
        word = "hdbscan, min_samples = least size" if number == 1 else row["generator"]
        record(
            Measurement(
                f"silhouette, {word}", "", [row["silhouette"]], "workload names",
                [float(label.loc["workload", "euclidean"])], data,
                f"{row['n_clusters']} profiles, {clustered:.0%} of jobs in one",
            )
        )  # fmt: skip


def on_published_grid() -> None:
    compared = compare_with_table_iv(open_trace(DATA / "polaris").tables["clustering_grid"])
    print(compared[~compared["agrees"]].to_string())
    for algorithm, part in compared.groupby("algorithm"):
        record(
            Measurement(
                f"Table IV from the published cells, {algorithm}", "of 20 numbers",
                [float(part["agrees"].sum())], data="polaris",
            )
        )  # fmt: skip


def stay_the_same(seeds: int) -> None:
    """Fit with and without a tenth of the jobs, drawn at random and the latest, on every trace."""
    for name in TRACES:
        jobs = ended_jobs(open_trace(DATA / name, tables=["jobs"]).jobs).jobs
        jobs = jobs.sample(min(len(jobs), 12_000), random_state=0).reset_index(drop=True)
        whole = WorkloadProfiler().fit(jobs)
        kept = int(len(jobs) / 1.1)
        again = []
        for seed in range(seeds):
            drawn = np.random.default_rng(seed).permutation(len(jobs))
            again.append(_without_others(jobs, whole, np.sort(drawn[:kept]), seed))
        clock = next((c for c in ("submit_s", "start_s") if has_values(jobs, c)), None)
        late = "no clock"
        if clock is not None:
            first = np.sort(np.argsort(jobs[clock].to_numpy(), kind="stable")[:kept])
            late = f"{_without_others(jobs, whole, first, 0):.3f} without the latest tenth"
        told = (
            f"{whole.statistics_['n_clusters']} profiles of {(whole.labels_ >= 0).mean():.0%} of "
            f"{len(jobs):,} jobs; lowest {min(again):.3f}; {late}"
        )
        record(
            Measurement(
                "groups without a tenth of the jobs", "adjusted Rand index", again, data=name,
                remark=told,
            )
        )  # fmt: skip


def _without_others(jobs: pd.DataFrame, whole: WorkloadProfiler, rows: Ints, seed: int) -> float:
    """Return how alike the groups of some jobs are, learnt with and without the others."""
    from sklearn.metrics import adjusted_rand_score

    part = jobs.iloc[rows].reset_index(drop=True)
    again = WorkloadProfiler(random_state=seed).fit(part)
    return float(adjusted_rand_score(whole.labels_[rows], again.labels_))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=6_000)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--part", choices=["all", "same"], default="all")
    chosen = options.parse_args()
    if chosen.part == "same":
        stay_the_same(chosen.seeds)
        return
    against_truth(chosen.jobs, chosen.seeds)
    if not DATA.is_dir():
        print(f"No real rows at {DATA}; set PROPHASE_DATA.")
        return
    on_published_rows()
    on_published_grid()
    stay_the_same(chosen.seeds)


if __name__ == "__main__":
    main()
