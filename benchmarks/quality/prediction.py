"""How good are predictions? The default beside simple rules and other libraries, on real traces.

"Ahead" judges the last 40, 25 and 10 % of every shared trace, trained once and with every finished
job counting at once ("online"); "clusters" the same on a cluster that the training side does not
have. Rivals are the global, the back-off and the recent median (of the latest 16 finished jobs that
are most alike), the user's limit, and LightGBM, CatBoost and quantile forests with conformalised
ranges (install lightgbm, catboost and quantile-forest to see them). Online the latter are trained
anew four times over the judged part. One row is recorded per trace, cut and mode, with all measures
of all rivals. "Totals" counts wins, ties and losses over the latest row of each name and prints
the table of docs/explain/prediction.md. This is the whole of it:

    python benchmarks/quality/prediction.py --part ahead,clusters,totals --most 5000

"PAI" shows all methods on the paper's rows, "usage" the use of resources by job splits,
"gpumemnet" GPU memory and out-of-memory of generated networks beside a linear model. "Stability"
leaves out one training row in a thousand at random, twenty times. "Names" compares answers that
read names as text with answers that do not, and with those of a sentence encoder
(`prophase[text]`), on workflows that were left out and on later jobs.

    python benchmarks/quality/prediction.py --part pai,usage,gpumemnet,stability,names
    python benchmarks/quality/prediction.py --part ahead --most 5000 --traces philly,kth
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from itertools import product
from math import nan
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.errors import ProphaseError
from prophase.profile.predict.error_measures import measure
from prophase.profile.predict.evaluation import evaluate, in_sequence
from prophase.profile.predict.learnable import learnable
from prophase.profile.predict.methods import BASELINES, METHODS
from prophase.profile.predict.methods.mixture import Mixture
from prophase.profile.predict.submit_columns import arrivals, ends, outcomes, submitted
from prophase.profile.predict.yes_no_target import yes_no_measures
from prophase.trace.split import split_by_job, split_by_time
from prophase.trace.trace_tables import open_trace
from record import RESULTS, ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
PAI = "pai/polaris_1_000_sampled_test_data.csv"
#: shares of the jobs that are judged
CUTS = (0.4, 0.25, 0.1)
#: every trace with durations and a clock or an order; not of pai_sim, whose attributes are
#: averages over all of its jobs
TRACES = (
    "alibaba-dlrm2025", "crux-lingjun", "drac-slurm", "drac-slurm/cedar_2021-05.csv.gz",
    "google2011-jobs", "hpc-swf/alcf-theta-2022.part1.swf.gz",
    "hpc-swf/cerit-wagap-2013.part1.swf.gz", "hpc-swf/kth-sp2-1996.part1.swf.gz",
    "mit-supercloud", "nextflow", "openb", PAI, "philly", "philly-cluster-state", "surf-lisa",
    "ubccr-micro-slurm", "xdmod-sacct",
)  # fmt: skip
#: of each pair the first is learnt and the second judged
PAIRS = (
    ("drac-slurm/graham_2021-05a.csv.gz", "drac-slurm/cedar_2021-05.csv.gz"),
    ("drac-slurm/cedar_2021-05.csv.gz", "drac-slurm/graham_2021-05a.csv.gz"),
    ("hpc-swf/kth-sp2-1996.part1.swf.gz", "hpc-swf/cerit-wagap-2013.part1.swf.gz"),
    ("hpc-swf/alcf-theta-2022.part1.swf.gz", "hpc-swf/kth-sp2-1996.part1.swf.gz"),
    ("mit-supercloud", "xdmod-sacct"),
    ("philly", "openb"),
)
#: so much below the better simple rule is a tie
X2_TIE, R2_TIE = 1.0, 0.02
SHOWN = ("within_x2_pct", "r2_log", "coverage_90_pct")
ERRORS = ("median_ape_pct", "within_20_pct")
ALSO_SHOWN = (*ERRORS, "range_factor_median", "interval_score_log")
LOWER_IS_BETTER = ("median_ape_pct", "interval_score_log")
#: rules that learn nothing; the default should not be behind any of them
RULES = ("global-median", "backoff-median", "recent-median")
#: recorded of every rival
KEPT = (*SHOWN, *ERRORS, "range_factor_median", "interval_score_log", "jobs", "abstained")
#: so often rivals of other libraries are trained anew while the judged part goes on
REFITS = 4
#: a sentence encoder beside the words, if it is installed
ENCODED = "mixture+wordllama"
NAMES_SHOWN = ("within_x2_pct", "r2_log", "interval_score_log", "coverage_90_pct")
#: what a model of generated networks has to beat
SIMPLE = ("linear", "backoff-median", "global-median")
#: a stratum of so many jobs or more has to be covered
STRATUM_JOBS = 100

Found = dict[str, dict[str, Any]]


def jobs_of(name: str) -> pd.DataFrame:
    return open_trace(DATA / name, tables=["jobs"]).jobs


def judged(
    train: pd.DataFrame,
    test: pd.DataFrame,
    methods: Sequence[str],
    *,
    target: str = "duration_s",
    online: bool = False,
) -> Found:
    """Return the measures of all methods that have an answer to the target."""
    found: Found = {}
    for name in methods:
        try:
            measures = evaluate(train, test, [name], target=target, online=online).methods[name]
        except ProphaseError as cause:
            print(f"  {name}: {cause}".splitlines()[0], flush=True)
            continue
        if measures["abstained"] < 0.5 * measures["jobs"]:
            found[name] = measures
    return found


def show(title: str, found: Found) -> None:
    print(f"\n{title}")
    for name, measures in found.items():
        parts = " ".join(f"{key} {measures[key]:.4g}" for key in (*SHOWN, *ALSO_SHOWN))
        strata = " ".join(
            f"{kind} {part['coverage_90_pct']:.1f} ({part['jobs']})"
            for kind, part in measures["strata"].items()
            if part["jobs"] >= STRATUM_JOBS
        )
        print(f"  {name:28s} {parts} | covered: {strata}", flush=True)


def note(
    name: str, data: str, runs: Sequence[Found], measures: Sequence[str], method: str = "default"
) -> None:
    """Record a method, one row per measure over the runs, beside the best single baselines."""
    for key in measures:
        best, best_values, remark = "", [], ""
        if key == "coverage_90_pct":
            remark = _ranges([run[method] for run in runs])
        else:
            pick = min if key in LOWER_IS_BETTER else max
            rivals = [
                pick((run[base][key], base) for base in run if base in BASELINES) for run in runs
            ]
            best_values = [value for value, _ in rivals]
            best = "best of " + ", ".join(dict.fromkeys(base for _, base in rivals))
        values = [run[method][key] for run in runs]
        record(Measurement(f"{name}: {method} {key}", "", values, best, best_values, data, remark))


def _ranges(runs: Sequence[dict[str, Any]]) -> str:
    """Say how wide the ranges are, and which stratum they cover least."""
    covered = [
        (part["coverage_90_pct"], part["jobs"], kind)
        for run in runs
        for kind, part in run["strata"].items()
        if part["jobs"] >= STRATUM_JOBS
    ]
    width = ", ".join(f"{run['range_factor_median']:.3g}" for run in runs)
    if not covered:
        return f"median high/low {width}"
    least, jobs, kind = min(covered)
    return f"least covered stratum: {kind} {least:.1f} of {jobs} jobs; median high/low {width}"


def pai() -> None:
    """Learn from rows that ended before the last 300 began; update after each completion."""
    jobs = jobs_of(PAI)
    split = split_by_time(jobs, float(np.sort(jobs["start_s"])[-300]))
    day = (split.cut or 0.0) / 86_400
    for online in (False, True):
        mode = "online" if online else "learnt once"
        found = judged(
            jobs.iloc[split.train], jobs.iloc[split.test], ["default", *METHODS], online=online
        )
        show(f"PAI rows, cut at day {day:.1f}, {mode}", found)
        for method in ("default", "profile-mean"):
            note(f"PAI duration, {mode}", PAI, [found], [*SHOWN, *ERRORS], method)


def latest(jobs: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return the last jobs of a trace; all of it if ``most`` is 0."""
    order = np.argsort(arrivals(jobs), kind="stable")
    return jobs.iloc[np.sort(order[-most:])] if most else jobs


def ahead(most: int = 0, traces: Sequence[str] = TRACES) -> None:
    """Judge on the last 40, 25 and 10 % of every trace."""
    for trace in traces:
        jobs = latest(jobs_of(trace), most)
        for cut in CUTS:
            try:
                split = split_by_time(jobs, test_share=cut)
            except ProphaseError as cause:
                # where all of these jobs came before any of them ended, nothing can be learnt
                print(f"{trace}, last {cut:.0%}: not judged: {cause}", flush=True)
                continue
            train, test = jobs.iloc[split.train], jobs.iloc[split.test]
            _beside(f"ahead {trace}, last {cut:.0%}", trace, train, test)


def clusters(most: int = 0) -> None:
    """Learn from one cluster and be judged on another, as if it began a day after the first."""
    for first, second in PAIRS:
        train, test = latest(jobs_of(first), most), latest(jobs_of(second), most or 20_000)
        later = arrivals(train).max() + 86_400 - arrivals(test).min()
        clocks = [name for name in ("submit_s", "start_s", "end_s") if name in test]
        test = test.assign(**{name: test[name] + later for name in clocks})
        _beside(f"clusters {first} to {second}", f"{first}, {second}", train, test)


def _beside(name: str, data: str, train: pd.DataFrame, test: pd.DataFrame) -> None:
    """Judge, show and record the default beside its rivals, trained once and online."""
    for online in (False, True):
        found = judged(train, test, ["default", *RULES, "time-limit"], online=online)
        found |= peers(train, test, online)
        title = _title(name, online)
        show(title, found)
        if "default" not in found:
            continue
        own, rivals = found["default"], [rival for rival in found if rival != "default"]
        verdicts = [f"{'ok' if held(found, [rival]) else 'BEHIND'} {rival}" for rival in rivals]
        best = max(RULES, key=lambda rule: found[rule]["within_x2_pct"])
        measures = {rival: {key: found[rival][key] for key in KEPT} for rival in found}
        strata = {
            kind: {key: part[key] for key in ("jobs", "coverage_90_pct", "interval_score_log")}
            for kind, part in own["strata"].items()
            if part["jobs"] >= STRATUM_JOBS
        }
        record(
            Measurement(
                title, "% within a factor of two", [own["within_x2_pct"]], best,
                [found[best]["within_x2_pct"]], data, ", ".join(verdicts),
                _rounded({**measures, "strata of the default": strata}),
            )
        )  # fmt: skip


def _title(what: str, online: bool) -> str:
    return f"{what}, {'online' if online else 'learnt once'}"


def _rounded(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: _rounded(value) for key, value in found.items()}
    return float(f"{found:.4g}") if isinstance(found, float) else found


def held(found: Found, rivals: Sequence[str]) -> bool:
    """Say whether the default ties or wins against each of the rivals, in both measures."""
    return all(
        found["default"][key] >= found[rival][key] - tie
        for rival in rivals
        if rival in found
        for key, tie in (("within_x2_pct", X2_TIE), ("r2_log", R2_TIE))
    )


def totals() -> None:
    """Count over the latest row of each name; print and record the counts."""
    lines = (RESULTS / "prediction.jsonl").read_text(encoding="utf-8").splitlines()
    latest_rows = {row["name"]: row for row in map(json.loads, lines) if row.get("measures")}
    for part, mode in product(("ahead", "clusters"), MODES):
        rows = {
            name: row["measures"]
            for name, row in latest_rows.items()
            if name.startswith(f"{part} ") and name.endswith(f", {mode}")
        }
        if rows:
            _count(f"totals: {part}, {mode}", list(rows.values()))
    _table({n: r["measures"] for n, r in latest_rows.items() if not n.startswith("totals")})


def _count(name: str, runs: list[Found]) -> None:
    """Record in how many runs the default ties or wins, covers, and scores no worse."""
    covered = [run["default"]["coverage_90_pct"] for run in runs]
    strata = [part for run in runs for part in run["strata of the default"].values()]
    least = [part["coverage_90_pct"] >= 85 for part in strata]
    counts: dict[str, Any] = {
        "ties or wins": {},
        "interval score at or below": {},
        "covers": {
            "88 to 92 %": sum(88 <= share <= 92 for share in covered),
            "less": sum(share < 88 for share in covered),
            "more": sum(share > 92 for share in covered),
            "strata of 100 jobs to 85 %": f"{sum(least)} of {len(least)}",
        },
    }
    near = [
        run["default"]["within_20_pct"] >= run["backoff-median"]["within_20_pct"] - X2_TIE / 2
        for run in runs
    ]
    counts["within 20 %, less half a point of back-off"] = f"{sum(near)} of {len(near)}"
    groups = {
        "all three rules": RULES,
        "global and back-off median": RULES[:2],
        **{rival: (rival,) for rival in RIVALS},
    }
    for group, rivals in groups.items():
        met = [run for run in runs if all(rival in run for rival in rivals)]
        if met:
            no_worse = [
                run["default"]["interval_score_log"] <= run[rivals[0]]["interval_score_log"]
                for run in met
            ]
            counts["ties or wins"][group] = f"{sum(held(run, rivals) for run in met)} of {len(met)}"
            if len(rivals) == 1:
                counts["interval score at or below"][group] = f"{sum(no_worse)} of {len(met)}"
    counts["a rule is no worse in both measures and ahead of a tie in one"] = sum(
        any(_beats(run, rule) for rule in RULES) for run in runs
    )
    won = float(np.mean([held(run, RULES) for run in runs]))
    record(Measurement(f"{name}: ties or wins against all three rules", "share of runs", [won],
                       remark=f"{len(runs)} runs", measures=counts))  # fmt: skip
    print(json.dumps(counts, indent=1), flush=True)


def _beats(run: Found, rule: str) -> bool:
    own, other = run["default"], run[rule]
    keys = ("within_x2_pct", "r2_log")
    return all(other[key] >= own[key] for key in keys) and not held(run, [rule])


def _table(rows: dict[str, Found]) -> None:
    """Print the table of the page: a line per trace, a number per cut."""
    for name in dict.fromkeys(re.sub(r"(, last \d+%)?, [a-z ]+$", "", one) for one in rows):
        cells, behind = [name.partition(" ")[2]], []
        for mode in MODES:
            runs = [
                run
                for title, run in rows.items()
                if title.startswith(f"{name},") and title.endswith(mode)
            ]
            for key, pick, form, groups in (
                ("within_x2_pct", max, "{:.0f}", (("default",), RULES, tuple(PEERS))),
                ("interval_score_log", min, "{:.1f}", (("default",), tuple(PEERS))),
                ("coverage_90_pct", max, "{:.0f}", (("default",),)),
            ):
                best = [
                    [pick((run[one][key] for one in group if one in run), default=nan)
                     for group in groups]
                    for run in runs
                ]  # fmt: skip
                cells.append(", ".join("/".join(map(form.format, cut)) for cut in best))
            behind.append(sum(not held(run, RULES) for run in runs))
        print("| " + " | ".join([*cells, ", ".join(map(str, behind))]) + " |", flush=True)


LEVELS = (0.05, 0.5, 0.95)
#: tables and outcomes of the earlier part, then tables to answer for; their quantiles, per level
Quantiles = Callable[[pd.DataFrame, np.ndarray, list[pd.DataFrame]], list[dict[float, np.ndarray]]]


def lightgbm(seen: pd.DataFrame, value: np.ndarray, asked: list[pd.DataFrame]) -> list[Any]:
    from lightgbm import LGBMRegressor

    models = {
        level: LGBMRegressor(objective="quantile", alpha=level, n_estimators=200,
                             learning_rate=0.08, n_jobs=1, verbose=-1).fit(seen, value)
        for level in LEVELS
    }  # fmt: skip
    return [{level: models[level].predict(one) for level in LEVELS} for one in asked]


def catboost(seen: pd.DataFrame, value: np.ndarray, asked: list[pd.DataFrame]) -> list[Any]:
    from catboost import CatBoostRegressor

    words = [name for name in seen if isinstance(seen[name].dtype, pd.CategoricalDtype)]

    def plain(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(**{name: table[name].astype(object).fillna("-") for name in words})

    model = CatBoostRegressor(
        loss_function=f"MultiQuantile:alpha={','.join(map(str, LEVELS))}", iterations=200,
        learning_rate=0.08, thread_count=1, verbose=0, cat_features=words, random_seed=0,
        allow_writing_files=False,
    ).fit(plain(seen), value)  # fmt: skip
    return [dict(zip(LEVELS, model.predict(plain(one)).T, strict=True)) for one in asked]


def quantile_forest(seen: pd.DataFrame, value: np.ndarray, asked: list[pd.DataFrame]) -> list[Any]:
    from quantile_forest import RandomForestQuantileRegressor

    def numbers(table: pd.DataFrame) -> pd.DataFrame:
        coded = {
            name: table[name].cat.codes
            for name in table
            if isinstance(table[name].dtype, pd.CategoricalDtype)
        }
        return table.assign(**coded).astype(float).fillna(-1.0)

    model = RandomForestQuantileRegressor(100, min_samples_leaf=5, n_jobs=1, random_state=0)
    model.fit(numbers(seen), value)
    found = [model.predict(numbers(one), quantiles=list(LEVELS)) for one in asked]
    return [dict(zip(LEVELS, one.T, strict=True)) for one in found]


PEERS: dict[str, Quantiles] = {
    "lightgbm": lightgbm, "catboost": catboost, "quantile-forest": quantile_forest,
}  # fmt: skip


MODES = ("learnt once", "online")
RIVALS = (*RULES, "time-limit", *PEERS)


def peers(train: pd.DataFrame, test: pd.DataFrame, online: bool) -> Found:
    """Return the measures of every peer that is installed, its ranges conformalised.

    Quantiles are learnt from the first 70 % of what had ended, and widened or narrowed by what
    the rest would have needed (conformalised quantile regression). Online the judged jobs come in
    parts, each after a training on all that had ended before its first one.
    """
    sides = in_sequence(learnable(train)[0], test)
    asked = sides.test[outcomes(sides.test, "duration_s") > 0]
    asked = asked.iloc[np.argsort(arrivals(asked), kind="stable")]
    known = [sides.known, sides.later, asked] if online else [sides.known]
    history = pd.concat(known)
    history = history[outcomes(history, "duration_s") > 0]
    history = history.iloc[np.argsort(arrivals(history), kind="stable")]
    parts = np.array_split(np.arange(len(asked)), REFITS) if online else [np.arange(len(asked))]
    told: dict[str, list[dict[float, np.ndarray]]] = {name: [] for name in PEERS}
    for part in (asked.iloc[rows] for rows in parts):
        ended = history[ends(history) < arrivals(part).min()] if online else history
        seen, looked = _coded(submitted(ended), submitted(part))
        value, cut = np.log(outcomes(ended, "duration_s")), int(0.7 * len(ended))
        for name in list(told):
            try:
                held_out, said = PEERS[name](seen[:cut], value[:cut], [seen[cut:], looked])
            except Exception as cause:  # of other libraries: not installed, or nothing to learn
                print(f"  {name}: not compared: {str(cause).splitlines()[0]}", flush=True)
                del told[name]
                continue
            misses = np.maximum(held_out[0.05] - value[cut:], value[cut:] - held_out[0.95])
            margin = np.quantile(misses, min(1.0, 0.9 * (1 + 1 / len(misses))))
            ranged = {0.05: said[0.05] - margin, 0.5: said[0.5], 0.95: said[0.95] + margin}
            told[name].append({level: np.exp(end) for level, end in ranged.items()})
    found, truth = {}, outcomes(asked, "duration_s")
    for name, answered in told.items():
        low, value, high = (np.concatenate([one[level] for one in answered]) for level in LEVELS)
        answers = pd.DataFrame(
            {"value": value, "low": np.minimum(low, high), "high": np.maximum(low, high),
             "stratum": "seen", "abstained": False}
        )  # fmt: skip
        found[name] = measure(truth, answers)
    return found


def _coded(known: pd.DataFrame, asked: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both sides with numbers as they are and words as categories of the known side."""
    seen, looked = pd.DataFrame({"_": 0.0}, known.index), pd.DataFrame({"_": 0.0}, asked.index)
    for name in (name for name in known if name in asked and known[name].nunique() > 1):
        if pd.api.types.is_numeric_dtype(known[name]):
            seen[name], looked[name] = known[name].astype(float), asked[name].astype(float)
        else:
            kinds = pd.Index(known[name].dropna().astype(str).unique()[:5_000])
            for table, side in ((seen, known), (looked, asked)):
                codes = kinds.get_indexer(side[name].astype(str))
                table[name] = pd.Categorical.from_codes(codes, kinds)
    return seen, looked


def names() -> None:
    """Judge on workflows that the training side lacks, and on later jobs: names read or not.

    Workflows share steps, not names, so this is what words are for.
    """
    runs: dict[str, list[Found]] = {}
    for trace in ("nextflow", "wfinstances"):
        jobs = jobs_of(trace)
        for workflow, count in jobs["workload"].value_counts().items():
            if count >= STRATUM_JOBS:
                left_out = (jobs["workload"] == workflow).to_numpy()
                title = f"{trace} without {workflow}"
                runs[title] = _read_or_not(jobs[~left_out], jobs[left_out], online=False)
    for trace in ("nextflow", "hpc-swf/cerit-wagap-2013.part1.swf.gz"):
        jobs = jobs_of(trace)
        for cut in CUTS:
            split = split_by_time(jobs, test_share=cut)
            train, test = jobs.iloc[split.train], jobs.iloc[split.test]
            for online in (False, True):
                title = _title(f"{trace}, last {cut:.0%}", online)
                runs[title] = _read_or_not(train, test, online=online)
    for title, (read, unread) in runs.items():
        show(title, {"read": read["default"], "not read": unread["default"]})
        if ENCODED in read:
            show(title, {ENCODED: read[ENCODED]})
            for key in NAMES_SHOWN:
                values, base = ([read[one][key]] for one in (ENCODED, "default"))
                name = f"names: {title}: {ENCODED} {key}"
                record(Measurement(name, "", values, "words alone", base, title))
        for key in NAMES_SHOWN:
            values, base = ([one["default"][key]] for one in (read, unread))
            record(Measurement(f"names: {title}: {key}", "", values, "names not read", base, title))
    for key, least in (("within_x2_pct", -X2_TIE), ("r2_log", -R2_TIE)):
        held = [r["default"][key] - u["default"][key] >= least for r, u in runs.values()]
        share, remark = [float(np.mean(held))], f"{sum(held)} of {len(held)}"
        name = f"names: {key} at least as good as without, less a tie"
        record(Measurement(name, "share", share, remark=remark))


def _read_or_not(train: pd.DataFrame, test: pd.DataFrame, *, online: bool) -> list[Found]:
    found = []
    for reads in (True, False):
        with patch.object(Mixture, "_reads_text", reads):
            methods = ["default", *([ENCODED] if reads else [])]
            found.append(judged(train, test, methods, online=online))
    return found


def stability(most: int = 0, times: int = 20) -> None:
    """Leave out one training row in a thousand, at random: measures should hardly move.

    Beside it the same rows under other seeds: what moves as much there is the luck of the draw.
    """
    for trace in ("hpc-swf/kth-sp2-1996.part1.swf.gz", "drac-slurm/cedar_2021-05.csv.gz", "philly"):
        jobs = latest(jobs_of(trace), most or 12_000)
        split = split_by_time(jobs, test_share=0.25)
        train, test = jobs.iloc[split.train], jobs.iloc[split.test]
        dropped, seeded = [], []
        for seed in range(times):
            kept = np.random.default_rng(seed).random(len(train)) >= 0.001
            dropped.append(evaluate(train[kept], test, ["default"]).methods["default"])
            reseeded = evaluate(train, test, ["default"], random_state=seed)
            seeded.append(reseeded.methods["default"])
        for key in (*SHOWN, "median_ape_pct", "range_factor_median", "interval_score_log"):
            values, draws = ([run[key] for run in runs] for runs in (dropped, seeded))
            spans = (f"{min(of):.4g} to {max(of):.4g}" for of in (values, draws))
            remark = "; under other seeds ".join(spans)
            record(
                Measurement(
                    f"stability {trace}: {key}", "", values, "other seeds", draws, trace, remark
                )
            )


def usage(seeds: int = 6) -> None:
    jobs = jobs_of(PAI)
    targets = ("memory_peak_gib", "memory_mean_gib", "cpu_mean_cores", "gpu_memory_peak_gib",
               "gpu_memory_mean_gib", "gpu_util_mean_pct")  # fmt: skip
    every = ["default", *(name for name in METHODS if name != "time-limit")]
    few = ["default", "global-median", "user-median", "backoff-median"]
    for target in targets:
        runs = []
        for seed in range(seeds):
            split = split_by_job(jobs, 0.3, random_state=seed)
            train, test = jobs.iloc[split.train], jobs.iloc[split.test]
            runs.append(judged(train, test, few if seed else every, target=target))
        show(f"PAI rows, {target}, job split, first seed", runs[0])
        note(f"PAI {target}, job split", PAI, runs, ["median_ape_pct", "coverage_90_pct"])


def gpumemnet(seeds: int = 5) -> None:
    jobs = jobs_of("gpumemnet")
    for target, key in (("gpu_memory_peak_gib", "median_ape_pct"), ("status=oom", "roc_auc")):
        runs: list[Found] = []
        for seed in range(seeds):
            split = split_by_job(jobs, 0.3, random_state=seed)
            train, test = jobs.iloc[split.train], jobs.iloc[split.test]
            methods = ["default", "backoff-median", "global-median"]
            runs.append(judged(train, test, methods, target=target))
            runs[-1]["linear"] = linear(train, test, target)
        keys = [key, "r2_log", "within_20_pct"]
        if target == "status=oom":
            keys = [key, "balanced_accuracy_pct", "brier"]
        for measure_name in keys:
            best = min if measure_name in ("median_ape_pct", "brier") else max
            simple = [best(run[name][measure_name] for name in SIMPLE) for run in runs]
            values = [run["default"][measure_name] for run in runs]
            record(
                Measurement(
                    f"gpumemnet {target}: default {measure_name}", "", values,
                    "best of linear and medians", simple,
                    "gpumemnet", f"job split, {seeds} seeds",
                )
            )  # fmt: skip


def linear(train: pd.DataFrame, test: pd.DataFrame, target: str) -> dict[str, Any]:
    """Return the measures of a linear model on logarithms of the numbers."""
    columns = [
        name
        for name in train
        if str(name).startswith("attr_") and pd.api.types.is_numeric_dtype(train[name])
    ]

    def seen(jobs: pd.DataFrame) -> np.ndarray:
        logs = [np.log1p(jobs[name].fillna(0.0).to_numpy(dtype=float)) for name in columns]
        kinds = [(jobs["workload"] == kind).to_numpy(float) for kind in ("cnn", "mlp")]
        return np.column_stack([*kinds, *logs])

    yes_no = "=" in target
    told: Callable[[np.ndarray], np.ndarray] = (lambda v: v) if yes_no else np.log
    outcome, truth = outcomes(train, target), outcomes(test, target)
    known, asked = (np.isfinite(one) & ((one > 0) | yes_no) for one in (outcome, truth))
    weights = np.linalg.lstsq(seen(train[known]), told(outcome[known]), rcond=None)[0]
    value = seen(test[asked]) @ weights
    if yes_no:
        return yes_no_measures(truth[asked], value)
    value = np.exp(value)
    answers = pd.DataFrame(
        {"value": value, "low": value, "high": value, "stratum": "new", "abstained": False}
    )
    return measure(truth[asked], answers)


#: these take ``--most``
SAMPLED: dict[str, Callable[[int], None]] = {
    "ahead": ahead,
    "clusters": clusters,
    "stability": stability,
}
PARTS: dict[str, Callable[[], None]] = {
    "pai": pai,
    "usage": usage,
    "gpumemnet": gpumemnet,
    "names": names,
    "totals": totals,
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--part", default=",".join([*SAMPLED, *PARTS]))
    options.add_argument(
        "--traces", default="", help="ahead: only traces that contain one of these"
    )
    options.add_argument("--most", type=int, default=0, help="last jobs of each trace; 0 is all")
    chosen = options.parse_args()
    if not DATA.is_dir():
        print(f"No real rows at {DATA}; set PROPHASE_DATA.")
        return
    some = tuple(t for t in TRACES if any(word in t for word in chosen.traces.split(",")))
    for part in chosen.part.split(","):
        if part == "ahead":
            ahead(chosen.most, some)
        elif part in SAMPLED:
            SAMPLED[part](chosen.most)
        else:
            PARTS[part]()


if __name__ == "__main__":
    main()
