"""How many phases do a few series show, and are they those of series that were not learned from?

Containers of one service, four phases, about 500 samples each. Phases are learned from 1, 2, 4 or
12 of them with nothing given, and compared with the truth of six others (adjusted Rand index).
Peers choose their number of phases as their users do, up to 8: a Gaussian hidden Markov model of
hmmlearn by BIC, k-means on means and spreads of 12 samples by the silhouette, and segments of
ruptures (Pelt, l2) grouped by k-means, likewise; and AI4DL's network with its five phases.
Peers label with all samples of a series at hand, ours and AI4DL with those so far.

    pip install hmmlearn ruptures
    python benchmarks/quality/few_series.py [--seeds 20] [--first-seed 500] [--series 1,2,4,12]

``--first-seed`` must be one that nobody looked at while the code was written; 100 to 111 were.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.phase.detector import PhaseDetector
from prophase.phase.labelling_scores import adjusted_rand_index
from prophase.phase.model_selection import doubt
from prophase.phase.stays import seen_once
from prophase.trace.series.usage_series import Floats, Ints, series_of
from prophase.trace.synth.containers import make_containers
from record import Measurement, record

NAMES = {"levels": "levels", "both": "levels and dynamics"}
PHASES, MOST, HELD, LEARNED = 4, 8, 6, 12
WINDOW = 12

#: learns from scaled series, and returns a number of phases and what labels a series
Peer = Callable[[list[Floats]], tuple[int, Callable[[Floats], Ints]]]


def by_hmmlearn(series: list[Floats]) -> tuple[int, Callable[[Floats], Ints]]:
    from hmmlearn.hmm import GaussianHMM

    lengths = [len(one) for one in series]
    rows = np.concatenate(series)
    tried = [
        GaussianHMM(n, covariance_type="diag", n_iter=100, random_state=0, min_covar=1e-3).fit(
            rows, lengths
        )
        for n in range(1, MOST + 1)
    ]

    def bic(one: GaussianHMM) -> float:
        try:
            return float(one.bic(rows, lengths))
        except ValueError:
            # a state that was never entered leaves a model that cannot be asked
            return np.inf

    best = min(tried, key=bic)
    return int(best.n_components), best.predict


def grouped(rows: Floats) -> KMeans:
    """Return k-means with the number of groups of the best silhouette."""
    found, best = None, -np.inf
    for number in range(2, min(MOST, len(rows) - 1) + 1):
        model = KMeans(number, n_init=10, random_state=0).fit(rows)
        value = silhouette_score(rows, model.labels_, sample_size=2000, random_state=0)
        if value > best:
            found, best = model, value
    assert found is not None
    return found


def by_windows(series: list[Floats]) -> tuple[int, Callable[[Floats], Ints]]:
    def features(one: Floats) -> Floats:
        at = np.arange(len(one))
        parts = [one[max(0, n - WINDOW + 1) : n + 1] for n in at]
        return np.array([np.r_[part.mean(axis=0), part.std(axis=0)] for part in parts])

    model = grouped(np.concatenate([features(one) for one in series]))
    return len(model.cluster_centers_), lambda one: model.predict(features(one))


def by_ruptures(series: list[Floats]) -> tuple[int, Callable[[Floats], Ints]]:
    import ruptures

    def segments(one: Floats) -> list[tuple[int, int]]:
        noise = np.median(np.abs(np.diff(one, axis=0)), axis=0) / 0.954
        scaled = one / np.maximum(noise, 1e-6)
        cost = 2 * one.shape[1] * np.log(len(one))
        ends = ruptures.Pelt(model="l2", min_size=4, jump=1).fit(scaled).predict(pen=cost)
        return list(zip([0, *ends[:-1]], ends, strict=True))

    def feature(part: Floats) -> Floats:
        return np.r_[part.mean(axis=0), part.std(axis=0)]

    model = grouped(np.array([feature(one[a:b]) for one in series for a, b in segments(one)]))

    def label(one: Floats) -> Ints:
        found = np.zeros(len(one), dtype=np.int64)
        for a, b in segments(one):
            found[a:b] = model.predict(feature(one[a:b])[None])[0]
        return found

    return len(model.cluster_centers_), label


PEERS: dict[str, Peer] = {
    "hmmlearn, BIC": by_hmmlearn,
    "k-means on windows": by_windows,
    "ruptures and k-means": by_ruptures,
}


def compared(
    kind: str, seed: int, count: int, methods: list[str]
) -> dict[str, tuple[float, int, bool]]:
    """Return the index, the number of phases, and whether a doubt was said, by method."""
    trace = make_containers(
        series=LEARNED + HELD, samples=500, services=1, phases=PHASES, kind=kind, random_state=seed
    )
    names = list(dict.fromkeys(trace.usage["series_id"]))
    learned = trace.usage[trace.usage["series_id"].isin(names[:count])]
    others = trace.usage[trace.usage["series_id"].isin(names[LEARNED:])]
    truth = {name: part["phase"].to_numpy(np.int64)
             for name, part in trace.truth["truth_phases"].groupby("series_id")}  # fmt: skip
    detector = PhaseDetector().fit(learned)
    series = series_of(others).series
    right = np.concatenate([truth[one.series_id] for one in series])
    labels = np.concatenate([detector.labels(one) for one in detector.series_in(others).series])
    said = bool(doubt(detector.trials_) or seen_once(detector.lengths_))
    found = {"prophase": (adjusted_rand_index(labels, right), detector.n_phases_, said)}
    if "ai4dl" in methods:
        network = PhaseDetector("crbm", n_phases=5).fit(learned)
        told = np.concatenate([network.labels(one) for one in network.series_in(others).series])
        found["ai4dl, five phases"] = (adjusted_rand_index(told, right), 5, False)
    values = [one.values for one in series_of(learned).series]
    rows = np.concatenate(values)
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    for name, peer in PEERS.items():
        if name.split(",")[0].split()[0] not in methods:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            number, label = peer([(one - mean) / scale for one in values])
            labels = np.concatenate([label((one.values - mean) / scale) for one in series])
        found[name] = (adjusted_rand_index(labels.astype(np.int64), right), number, False)
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--first-seed", type=int, default=500)
    options.add_argument("--series", default="1,2,4,12")
    options.add_argument("--kinds", default="levels,both")
    options.add_argument("--peers", default="hmmlearn,k-means,ruptures,ai4dl")
    chosen = options.parse_args()
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
    for kind in chosen.kinds.split(","):
        words = NAMES[kind]
        for count in map(int, chosen.series.split(",")):
            rows = [compared(kind, seed, count, chosen.peers.split(",")) for seed in seeds]
            ours = [row["prophase"] for row in rows]
            silent = sum(n != PHASES and not said for _, n, said in ours)
            for name in rows[0]:
                values = [row[name][0] for row in rows]
                counts = [row[name][1] for row in rows]
                remark = (
                    f"mean {np.mean(values):.3f}; {sum(v >= 0.9 for v in values)} of {len(values)} "
                    f"at least 0.9; {sum(n == PHASES for n in counts)} with {PHASES} phases"
                )
                if name == "prophase":
                    warned = sum(said for _, n, said in ours if n == PHASES)
                    remark += f"; another number in silence {silent}, doubt though right {warned}"
                record(
                    Measurement(
                        f"phases of series not learned from, {words}, {count} series, {name}",
                        "adjusted Rand index", values, "prophase", [one[0] for one in ours],
                        f"synthetic containers x 500 samples, seeds {seeds[0]} to {seeds[-1]}",
                        remark,
                    )
                )  # fmt: skip


if __name__ == "__main__":
    main()
