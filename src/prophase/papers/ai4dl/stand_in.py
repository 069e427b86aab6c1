"""AI4DL's phases and its headline, on containers whose phases are known or on real pods."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from prophase.autoscale.fleet import fleet_of
from prophase.autoscale.policy_comparison import compare, divided
from prophase.errors import ProphaseError
from prophase.json_types import JsonObject
from prophase.papers.claims import claim_row, verdict_on
from prophase.papers.stand_ins import beside
from prophase.phase.detector import PhaseDetector
from prophase.phase.labelling_scores import adjusted_rand_index
from prophase.phase.prototypes import prototypes_of
from prophase.study.phase_scaling import learnt_phases
from prophase.trace.synth.containers import make_containers
from prophase.trace.trace_tables import Trace, open_trace

Rows = list[JsonObject]
_FETCH = "its samples and models are in the authors' package; name their folder with --data"
#: the README's headline: less allocation than reactive policies, at so much demand met
_SAVED_PCT, _MET = 30.0, 0.95
_POLICIES = ("phase-absolute", "phase-relative")
#: phases of its examples
_AI4DL_PHASES = 5
#: allocated over used, at most so many times that of the oracle, is close to it
_CLOSE = 1.15
#: of the six services with four phases each
_PHASES = 12
#: few phases, so that sequences can be alike; half of all; as few as one in five
_FEW_PHASES, _MAJORITY, _REDUCED = 4, 0.5, 0.2
#: series of real clusters: folder, what is allocated, in words
_REAL = (
    ("genai2026", "memory_util_frac", "pods of genai2026, Alibaba's generative AI"),
    ("surf-lisa", "cpu_cores", "batch jobs of SURF's LISA"),
)
_LEAST_SAMPLES, _MOST_CHOSEN, _MOST_SAMPLES, _MOST_SERIES = 50, 150, 1500, 60
_RESOURCES = {"memory_util_frac": "memory", "memory_gib": "memory", "cpu_cores": "CPU"}


def ai4dl_stand_in(random_state: int = 0) -> Rows:
    """Return how well phases of synthetic containers are found again, and the headline there."""
    trace = make_containers(20, samples=300, random_state=random_state)
    waiting = [
        claim_row(
            f"walk-through {number}", words, "phases of three samples", "", "needs data", _FETCH
        )
        for number, words in ((1, "phases by the trained model"), (2, "one phase split in four"))
    ]
    usage = trace.tables["usage"]
    made = [
        row
        for metric in ("memory_gib", "cpu_cores")
        for row in headline(usage, metric, "synthetic containers", random_state)
    ]
    return [
        *waiting,
        *made,
        prototype_row(usage, "synthetic containers", random_state),
        _found_again(trace, random_state),
    ]


def ai4dl_in_kind(data: Path) -> Rows:
    """Return the README's sentences on series of real clusters; nothing without them."""
    series = real_series(data)
    rows = [row for one in series for row in headline(*one)]
    if series:
        usage, _, origin = series[0]
        rows.append(prototype_row(usage, origin))
    return rows


def headline(usage: pd.DataFrame, metric: str, origin: str, random_state: int = 0) -> Rows:
    """Return whether phases need 30 % less than reactive statistics at 95 % of demand met.

    Parameters
    ----------
    usage : DataFrame
        Series of containers; half of them are learned from, the others judged.
    metric : str
        The resource that is allocated.
    origin : str
        Where the series are from, in words.
    """
    # the paper counts what is allocated and met; that memory which runs out kills, it leaves aside
    fleet = replace(fleet_of(usage, metric, every=5)[0], metric="demand")
    fit, test = divided(fleet, test_share=0.5, random_state=random_state)
    # the README's own way to find phases, on the series that are learned from
    phases = learnt_phases(fit, "crbm", n_phases=_AI4DL_PHASES, random_state=random_state)
    found = compare(
        fit, test, target=_MET, policies=list(_POLICIES), labeller=phases,
        random_state=random_state,
    )  # fmt: skip
    reactive, oracle = found.named("vpa").measures, found.named("oracle").measures
    what = f"{_RESOURCES.get(metric, metric)} allocated less than by a reactive policy (VPA's rule)"

    def saved(policy: str) -> tuple[float, str]:
        less = found.gain(policy, "vpa").tested.mapped(lambda over: 100 * (1 - over))
        between = f" ({less.low:.0f} to {less.high:.0f})" if less.known else ""
        met = found.named(policy).measures.satisfied_pct
        return less.value, f"{less.value:.0f} %{between} at {met:.1f} % met"

    share, ours = saved("phase-absolute")
    near = found.named("phase-relative").measures.allocation_over_usage
    close = near <= _CLOSE * oracle.allocation_over_usage
    per_phase = "a level per phase of a CRBM, as the README describes; VPA's rule meets "
    per_phase += f"{reactive.satisfied_pct:.1f} %; {origin}"
    resource = _RESOURCES.get(metric, metric)
    rows: Rows = [
        claim_row(
            "README, headline", what, f"{_SAVED_PCT:.0f} % at over 95 % met", ours,
            verdict_on(share >= _SAVED_PCT, real=False), per_phase,
        ),
        claim_row(
            "README, a-priori knowledge",
            f"{resource} allocated over used: phases, and knowing it beforehand", "close",
            f"{near:.2f} and {oracle.allocation_over_usage:.2f}", verdict_on(close, real=False),
            f"phases of a CRBM, relative to recent use; {origin}",
        ),
    ]  # fmt: skip
    for policy, words in (
        ("phase-relative", "phases of a CRBM, relative to recent use"),
        ("recent-max", "the recent maximum with a margin, without any phase"),
    ):
        rows.append(
            claim_row(f"README, headline: {policy}", what, "-", saved(policy)[1], "ours", words)
        )
    return rows


def prototype_row(usage: pd.DataFrame, origin: str, random_state: int = 0) -> JsonObject:
    """Return how few executions stand for most, by their sequences of phases."""
    names = usage["series_id"].drop_duplicates().head(_MOST_SERIES)
    chosen = usage[usage["series_id"].isin(names)]
    detector = PhaseDetector(
        labeller="hmm", n_phases=_FEW_PHASES, step_s=None, random_state=random_state
    )
    labels = detector.fit(chosen).label(chosen)
    runs = [one["phase"].to_numpy(int) for _, one in labels.groupby("series_id")]
    found = prototypes_of(runs)
    few = next(
        (n for n in range(1, len(runs) + 1) if found.covered(n) > _MAJORITY), len(runs)
    )  # fmt: skip
    return claim_row(
        "README, prototypes", "executions that stand for the majority of all", "a reduced set",
        found.sentence(_MAJORITY), verdict_on(few <= _REDUCED * len(runs), real=False),
        f"hidden Markov model with {_FEW_PHASES} phases; {origin}",
    )  # fmt: skip


def real_series(root: Path) -> list[tuple[pd.DataFrame, str, str]]:
    """Return real series that lie beside the source's samples: table, metric, origin."""
    found = []
    for name, metric, words in _REAL:
        folder = beside(root, name)
        if folder is None:
            continue
        try:
            usage = open_trace(folder, source=name, tables=["usage"]).tables["usage"]
        except ProphaseError:
            # a trace that cannot be read answers nothing; the source's own has been read
            continue
        found.append((_some(usage, metric), metric, words))
    return found


def _some(usage: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the beginnings of some series, so that a large trace takes no longer than a small."""
    known = usage[usage[metric].notna()]
    sizes = known.groupby("series_id").size()
    long = sizes.index[sizes >= _LEAST_SAMPLES].to_numpy()
    chosen = np.random.default_rng(0).permutation(long)[:_MOST_CHOSEN]
    part = known[known["series_id"].isin(chosen)]
    return part[part.groupby("series_id").cumcount() < _MOST_SAMPLES].reset_index(drop=True)


def _found_again(trace: Trace, random_state: int) -> JsonObject:
    """Compare the phases of AI4DL's network and of our default with the true ones."""
    usage, truth = trace.tables["usage"], trace.truth["truth_phases"]
    scores = {}
    for labeller in ("crbm", "hmm"):
        detector = PhaseDetector(
            labeller=labeller, n_phases=_PHASES, step_s=None, random_state=random_state
        )
        found = detector.fit(usage).label(usage)
        both = found.merge(truth, on=["series_id", "time_s"], suffixes=("", "_true"))
        # phases of one service are not those of another, so that each container is judged alone
        scores[labeller] = np.mean(
            [
                adjusted_rand_index(one["phase"].to_numpy(int), one["phase_true"].to_numpy(int))
                for _, one in both.groupby("series_id")
            ]
        )
    return claim_row(
        "phases found again",
        "adjusted Rand index per container: CRBM, hidden Markov model",
        "-",
        f"{scores['crbm']:.2f}, {scores['hmm']:.2f}",
        "ours",
        "synthetic containers, each phase known",
    )
