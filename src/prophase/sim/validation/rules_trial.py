"""Do rules that were learnt from the first part of a log foretell waits in the second?"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.result import Table
from prophase.sim.cluster import PLENTY, Cluster
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import ASK_CPU, ASK_GPUS, CPU, Floats
from prophase.sim.simulation import simulate
from prophase.sim.validation.site_habits import SiteHabits, read_habits
from prophase.sim.validation.wait_validation import without_outcomes
from prophase.sim.workload import Workload
from prophase.stats import Estimate, calendar_blocks, difference
from prophase.stats.blocks import DAY_S

#: waits count from a minute on, as factors
_LEAST_S = 60.0
_RECENT = 20
#: a rule must bring the first part so much closer to be kept
_WORTH = 0.01
LEARNT, PLAIN = "replay with learnt rules", "replay without them"


@dataclass(frozen=True)
class RulesTrial:
    """Learnt rules, and what they are worth on jobs that they were not learnt from.

    Attributes
    ----------
    rules : SiteHabits
        The rules that were kept.
    schedule : Schedule
        The whole log, replayed with them.
    second : list of str
        The jobs of the second part.
    tried : list of dict
        Each rule that the first half shows, how far off a replay of it was, and whether it is kept.
    guesses : list of dict
        How far off each guess was on the second part.
    gains : dict
        Guess -> log error of the learnt replay minus that of the guess, over days; below 0: better.
    """

    rules: SiteHabits
    schedule: Schedule
    second: list[str]
    tried: list[dict[str, Any]]
    guesses: list[dict[str, Any]]
    gains: dict[str, Estimate]

    @property
    def beaten(self) -> dict[str, bool | None]:
        """Guess -> whether the learnt rules beat it; None: the days differ too much to say."""
        return {
            name: True if gain.high < 0 else False if gain.low > 0 or not gain.known else None
            for name, gain in self.gains.items()
        }

    @property
    def use(self) -> str:
        """The guess to go by: a replay, unless a naive guess of the waits beats it."""
        lost = {name for name, won in self.beaten.items() if won is False}
        best = min(
            (row for row in self.guesses if row["guess"] in lost),
            key=lambda row: row["factor"],
            default=None,
        )
        return LEARNT if best is None else str(best["guess"])

    def _instead(self) -> str:
        """Say what to go by where a naive guess is better."""
        if self.use in (LEARNT, PLAIN):
            return ""
        off = {row["guess"]: row["factor"] for row in self.guesses}
        return (
            f". Go by {self.use} instead of a replay: off by a factor of {off[self.use]:.1f}, "
            f"the replay by {off[LEARNT]:.1f}"
        )

    def words(self) -> str:
        """Say in a sentence whether they beat the guesses."""
        if not self.rules.parts():
            none = "No rule that the first half shows brings its own replay closer; none is used"
            return none + self._instead()
        lost = [name for name, won in self.beaten.items() if won is False]
        open_ = [name for name, won in self.beaten.items() if won is None]
        if not lost and not open_:
            return "Learnt rules beat every naive guess on the second half"
        said = []
        if lost:
            said.append(f"do not beat: {', '.join(lost)}")
        if open_:
            said.append(f"cannot be told from: {', '.join(open_)}")
        return f"Learnt rules {'; '.join(said)} (second half){self._instead()}"

    def tables(self) -> list[Table]:
        """Return what was tried, and the guesses side by side."""
        found = [Table("rules", self.tried, "Rules that the first half shows")]
        if not self.tried:
            found = []
        caption = "Guesses of the waits of the second half; factor: how far off they usually are"
        return [*found, Table("second_part", self.guesses, caption)]

    def to_dict(self) -> dict[str, Any]:
        """Return rules and figures as JSON knows them."""
        return {
            "rules": self.rules.words(),
            "tried": self.tried,
            "guesses": self.guesses,
            "beaten": self.beaten,
            "use": self.use,
            **{key: value for name, gain in self.gains.items()
               for key, value in gain.columns(f"gain_over_{name.replace(' ', '_')}").items()},
        }  # fmt: skip


def try_rules(
    jobs: pd.DataFrame,
    cluster: Cluster,
    policy: Mapping[str, Any],
    *,
    warm_up_s: float = 0.0,
    time_zone: str = "UTC",
    progress: Callable[[str, None], object] = lambda *_: None,
) -> RulesTrial:
    """Learn rules from the first half of a log's days, and try them on the second half.

    A rule is kept if it brings a replay of the first half closer to what was recorded. Replays see
    no recorded start of either half; in the second half, only maintenance that comes again is
    known beforehand.

    Parameters
    ----------
    jobs : DataFrame
        Job table with recorded waits.
    policy : mapping
        Settings of ``simulate`` that the site is known to have, such as ``queue="easy"``.
    warm_up_s : float, default=0
        Jobs submitted in the first so many seconds of the log are not scored.
    """
    jobs = _with_starts(jobs)
    begin, end = float(jobs["submit_s"].min()), float(jobs["submit_s"].max())
    cut = begin + (end - begin) / 2
    # what had not started by then is not known
    first = jobs[(jobs["submit_s"] < cut) & (jobs["start_s"] < cut)]
    early = Workload.from_jobs(without_outcomes(jobs[jobs["submit_s"] < cut]))
    size, whole = _sizes(early, cluster)
    of_id = pd.Series(size, early.jobs["job_id"].astype(str))
    progress("learning rules from the first half", None)
    held: Floats = np.nan_to_num(
        of_id.reindex(first["job_id"].astype(str)).to_numpy(np.float64, na_value=np.nan)
    )
    found = read_habits(first, held, whole, time_zone=time_zone)

    def replayed(workload: Workload, rules: SiteHabits, until_s: float) -> Schedule:
        settings = {**policy, **rules.settings(begin, until_s), "leave_out_unfit": True}
        return simulate(workload, cluster, **settings)

    def far_off(rules: SiteHabits) -> float:
        waits = _waits(replayed(early, rules, cut), jobs)
        rows = waits[(waits["submit_s"] >= begin + warm_up_s) & waits["job_id"].isin(first_ids)]
        return float(_log_error(rows["simulated_s"], rows["observed_s"]).mean())

    first_ids = set(first["job_id"].astype(str))
    rules, tried = SiteHabits(time_zone), []
    best = far_off(rules)
    for name, one in found.parts().items():
        progress(f"trying a rule: {name}", None)
        error = far_off(rules.joined(one))
        kept = error < best * (1 - _WORTH)
        tried.append(
            {
                "rule": name,
                "shown": "; ".join(one.words()),
                "factor_without": float(np.exp(best)),
                "factor_with": float(np.exp(error)),
                "kept": "yes" if kept else "no",
            }
        )
        if kept:
            rules, best = rules.joined(one), error
    progress("replaying both halves", None)
    workload = Workload.from_jobs(without_outcomes(jobs))
    schedule = replayed(workload, rules, end)
    plain = replayed(workload, SiteHabits(time_zone), end)
    table = _waits(schedule, jobs).rename(columns={"simulated_s": LEARNT})
    table[PLAIN] = _waits(plain, jobs).set_index("job_id")["simulated_s"].reindex(
        table["job_id"]
    ).to_numpy()  # fmt: skip
    table["nobody waits"] = 0.0
    table["median wait of the first half"] = float(first["wait_s"].median())
    table["recent waits of alike jobs"] = _recent(jobs).reindex(table["job_id"]).to_numpy()
    late = table[(table["submit_s"] >= max(cut, begin + warm_up_s)) & table[PLAIN].notna()]
    if len(late) < 2 * _RECENT:
        raise InputError(f"only {len(late)} jobs of the second half can be scored.")
    guesses, gains = _scored(late)
    return RulesTrial(rules, schedule, late["job_id"].tolist(), tried, guesses, gains)


def _with_starts(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return jobs whose waits are known, with starts."""
    wait = jobs["wait_s"] if "wait_s" in jobs else pd.Series(np.nan, jobs.index)
    if "start_s" in jobs:
        wait = wait.fillna(jobs["start_s"] - jobs["submit_s"])
    here = jobs.assign(wait_s=wait.astype(float), start_s=jobs["submit_s"] + wait)
    here = here[here["submit_s"].notna()]
    if not here["wait_s"].notna().any():
        raise InputError(
            "the trace does not say how long jobs waited (wait_s, or start_s and submit_s): there "
            "is nothing to learn rules from."
        )
    span = float(here["submit_s"].max() - here["submit_s"].min())
    if span < 28 * DAY_S:
        raise InputError(
            f"the log spans {span / DAY_S:.0f} days: rules of the week show in four weeks or more."
        )
    return here


def _sizes(workload: Workload, cluster: Cluster) -> tuple[Floats, float]:
    """Return what each job holds of the scarce unit, and what the cluster has of it."""
    cores = cluster.matrix[:, CPU]
    gpus = (workload.asks[:, ASK_GPUS] > 0).mean() > 0.5 or not workload.asks[:, ASK_CPU].any()
    if gpus or (cores >= PLENTY).any():
        return workload.gpus, float(cluster.gpus)
    return workload.cores, float(cores.sum()) / 1000


def _waits(schedule: Schedule, jobs: pd.DataFrame) -> pd.DataFrame:
    """Return recorded beside simulated waits, where both are known."""
    workload = schedule.workload
    ids = workload.jobs["job_id"].astype(str)
    observed = pd.Series(jobs["wait_s"].to_numpy(float), jobs["job_id"].astype(str))
    table = pd.DataFrame(
        {
            "job_id": ids.to_numpy(),
            "submit_s": workload.submit_s,
            "observed_s": observed.reindex(ids).to_numpy(),
            "simulated_s": schedule.start_s - workload.submit_s,
        }
    )
    known = (table["observed_s"] >= 0) & np.isfinite(table["simulated_s"].to_numpy())
    kept: pd.DataFrame = table.loc[known]
    return kept


def _log_error(guess: Any, observed: Any) -> Floats:
    return np.abs(
        np.log((np.asarray(guess, float) + _LEAST_S) / (np.asarray(observed, float) + _LEAST_S))
    )


def _recent(jobs: pd.DataFrame) -> pd.Series:
    """Guess each wait by the median of the last jobs of its size and limit that had started."""
    size = jobs.get("instances", pd.Series(1.0, jobs.index)).fillna(1.0).clip(lower=1.0)
    limit = jobs.get("time_limit_s", pd.Series(60.0, jobs.index)).fillna(60.0).clip(lower=60.0)
    kind = list(
        zip(np.log2(size).round().astype(int), np.log2(limit).round().astype(int), strict=True)
    )
    submit, start = jobs["submit_s"].to_numpy(float), jobs["start_s"].to_numpy(float)
    started = np.argsort(start, kind="stable")
    held: dict[Any, deque[float]] = {}
    guess, place = np.zeros(len(jobs)), 0
    for row in np.argsort(submit, kind="stable"):
        while place < len(started) and start[started[place]] <= submit[row]:
            other = started[place]
            for key in (kind[other], None):
                held.setdefault(key, deque(maxlen=_RECENT)).append(start[other] - submit[other])
            place += 1
        seen = held.get(kind[row]) or held.get(None)
        guess[row] = float(np.median(seen)) if seen else 0.0
    return pd.Series(guess, jobs["job_id"].astype(str))


def _scored(late: pd.DataFrame) -> tuple[list[dict[str, Any]], dict[str, Estimate]]:
    names = [str(name) for name in late if name not in ("job_id", "submit_s", "observed_s")]
    observed, blocks = late["observed_s"], calendar_blocks(late["submit_s"].to_numpy())
    own = _log_error(late[LEARNT], observed)
    rows: list[dict[str, Any]] = []
    gains: dict[str, Estimate] = {}
    for name in names:
        error, off = _log_error(late[name], observed), (late[name] - observed).abs()
        rows.append(
            {
                "guess": name,
                "mean_wait_s": float(late[name].mean()),
                "recorded_mean_s": float(observed.mean()),
                "median_error_s": float(off.median()),
                "mean_error_s": float(off.mean()),
                "factor": float(np.exp(error.mean())),
                "rank_correlation": float(late[name].corr(observed, method="spearman"))
                if min(late[name].nunique(), observed.nunique()) > 1
                else None,
            }
        )
        if name != LEARNT:
            gains[name] = difference(error, own, blocks)
    return rows, gains
