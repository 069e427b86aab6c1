"""One request per task for configuration files, proven on the task's own past.

A configuration knows a task's name, not its input, so there is one ladder of requests per
task; its first rung is exceeded with the chosen risk. It is back-tested: at every point of the
past, the ladder from the runs that had ended is compared with the runs after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from prophase import units
from prophase.errors import ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.plural import counted
from prophase.short_form import ShortForm
from prophase.sizing.backtest import RecommendationBacktest
from prophase.sizing.gpu_grants import GpuGrant, smallest_part
from prophase.sizing.kind_runs import KEPT, KindRuns, runs_by_kind, versions_in
from prophase.sizing.ladder_from_peaks import (
    MARGIN,
    ladder_of,
    outlook_of,
    rise_to_come,
    what_holds_cut_off,
)
from prophase.sizing.least_waste.history import REMEMBERED
from prophase.sizing.least_waste.ladder import Floats, Outlook
from prophase.sizing.replays.task_runs import UsableRuns, usable_runs
from prophase.sizing.resources import SMALLEST_GIB, Resource, sized_resource
from prophase.sizing.wider_level import (
    FEWEST_KINDS,
    OWN_RUNS,
    Prior,
    WiderLevels,
    known_prior,
    spoken,
)
from prophase.stats import Estimate, months_in, wilson_ends
from prophase.trace.identity.job_identity import Key, KeyNames, full_name, shown_keys
from prophase.trace.identity.rule import NO_RULE, IdentityRule

#: how the reason of a request begins that is above today's
ASK_FOR_MORE = "ask for more"
#: how the reason begins that a task which takes what it is given keeps its request
_FOLLOWS = "peaks follow the request"
#: runs without which other kinds say nothing of one's own peaks. Of 3 to 7, with 1 to 10 kinds and
#: 1 to 1.5 times their factor, on 14 traces, also without any one of them: below five, runs of
#: samples that came later were killed by the dozen, whatever the factor
_FEW = 5
#: a rise of peaks that is worth a word
_A_RISE = 1.05


@dataclass(frozen=True)
class Gate:
    """When a change is recommended; otherwise a task keeps its request.

    Attributes
    ----------
    fewest_runs : int
        Runs a task must have. From half of them on (five at least) other kinds of the same tenant
        may show how far further runs go beyond the highest peak of so few.
    least_saving : float
        Share of what is reserved now that must be saved. A saving must also outweigh the
        kills that the back-test does not rule out.
    most_oom : float, optional
        Highest share of kills in the back-test; without it three times the chosen risk, or the
        share that is killed today if that is higher, and no more than the risk for sure.
    prior : {"none", "kind", "tenant"}
        Whose runs may make up for those that a task lacks: the same kind of other tenants, or
        other kinds of the same tenant. They never lower a request by themselves.
    gpu_parts : tuple of GpuGrant
        Parts of a GPU that the nodes give; empty: any share.
    min_memory_gib : float
        No request of memory is below it, unless jobs ask for less today.
    """

    fewest_runs: int = 10
    least_saving: float = 0.0
    most_oom: float | None = None
    prior: Prior = "none"
    gpu_parts: tuple[GpuGrant, ...] = ()
    min_memory_gib: float = SMALLEST_GIB

    def few(self, runs: int) -> bool:
        """Say whether there are so few runs that other kinds have to show how far peaks go.

        Examples
        --------
        >>> [Gate().few(runs) for runs in (4, 5, 9, 10)]
        [False, True, True, False]
        """
        return max(_FEW, math.ceil(self.fewest_runs / 2)) <= runs < self.fewest_runs

    def sized(self, what: Resource) -> Resource:
        """Return a resource with the least of it that is recommended."""
        if what.unit != "GiB" or what.least == self.min_memory_gib:
            return what
        return replace(what, least=self.min_memory_gib)


@dataclass(frozen=True)
class Recommendation:
    """What one task should ask for, and the evidence."""

    task: str
    runs: int
    #: usual request of today; NaN if there is none
    now: float
    #: requests of the 1st, 2nd and 3rd attempt
    ladder: tuple[float, ...]
    #: share of back-tested runs that were killed at their first request
    oom: Estimate
    tried: int
    #: share of what is reserved today that the ladder saves
    saving: float
    #: amount x hours; NaN where the history is shorter than a week
    saved_per_month: float
    why: str
    keep: bool
    outlook: Outlook | None = field(repr=False, default=None)
    #: the latest peaks, in the order the runs ended
    peaks: tuple[float, ...] = field(repr=False, default=())
    #: whose task it is, and which; ``task`` has both
    tenant: str = ""
    kind: str = ""
    #: version of the code that its runs had, as ``code_number`` writes it; NaN if none is named
    code: float = math.nan
    #: that version as jobs name it, such as ``version=v2.0.0``; empty if none is named or a model
    #: file holds the number alone
    version: str = ""

    @property
    def key(self) -> Key:
        """What its history is kept by."""
        return self.tenant, self.kind or self.task

    @property
    def request(self) -> float:
        """Return the first request to make from now on."""
        return self.now if self.keep else self.ladder[0]

    @property
    def asks_for_more(self) -> bool:
        """Say whether kills raise the request of today."""
        return self.why.startswith(ASK_FOR_MORE)

    @property
    def follows_request(self) -> bool:
        """Say whether its peaks follow the request, so that less was never tried."""
        return self.why.startswith(f"keep: {_FOLLOWS}")


@dataclass(frozen=True, repr=False)
class ResourceRecommendations(ShortForm):
    """Recommended requests of one resource, for all tasks of a trace."""

    tasks: list[Recommendation]
    risk: float
    unit: str
    resource: str
    left_out: dict[str, int]
    #: run time covered by the trace, in hours
    span_h: float
    #: hash of the jobs they were made from, if known
    data_hash: str = ""
    #: by which columns jobs are grouped
    rule: IdentityRule = NO_RULE
    #: what a reader of the requests should know
    remark: str = ""

    def of(self, task: str) -> Recommendation | None:
        """Return the recommendation for one task, by its name or the end of it."""
        key = KeyNames(one.key for one in self.tasks).find(task)
        exact = [one for one in self.tasks if one.key == key]
        ending = [one for one in self.tasks if one.task.endswith(task)]
        found = exact or ending
        return found[0] if len(found) == 1 else None

    def of_tenants(self, tenants: Sequence[str]) -> ResourceRecommendations:
        """Return the recommendations of some tenants alone."""
        known = {one.tenant for one in self.tasks}
        unknown = next((one for one in tenants if one not in known), None)
        if unknown is not None:
            said = f"no task is of the tenant {unknown!r}."
            raise ParameterError(not_among(said, unknown, known))
        return replace(self, tasks=[one for one in self.tasks if one.tenant in tenants])

    @property
    def table(self) -> pd.DataFrame:
        """A row per task: the request of today, the recommended ones, kills, saving, why."""
        return pd.DataFrame(as_rows(self))

    def summary(self) -> list[str]:
        """Say how many tasks should ask for something else, and name those that save most."""
        changed = [one for one in self.tasks if not one.keep]
        shown = shown_keys(one.key for one in self.tasks)
        said = [
            f"{counted(len(changed), 'task')} of {len(self.tasks):,} should change the "
            f"{self.resource} they ask for (risk {units.percent(self.risk)})"
        ]
        said += [
            f"{shown[one.key]}: {units.amount(one.now, self.unit)} to "
            f"{units.amount(one.request, self.unit)}, {_effect(one)}"
            for one in changed[:3]
        ]
        said.append(f"grouped by {self.rule}")
        return [*said, f"{len(changed) - 3:,} more: .table"] if len(changed) > 3 else said

    def to_dict(self) -> JsonObject:
        """Return what is sized, at which risk, and a row per task."""
        return {
            "resource": self.resource,
            "unit": self.unit,
            "risk": self.risk,
            "data_hash": self.data_hash,
            "left_out": self.left_out,
            "identity": self.rule.to_dict(),
            "tasks": finite(rows_with_code(self)),
        }


def _effect(one: Recommendation) -> str:
    if one.asks_for_more:
        return one.why
    return f"saves {units.percent(one.saving)}"


def recommend(
    jobs: pd.DataFrame,
    *,
    risk: float = 0.01,
    gate: Gate | None = None,
    resource: str = "memory",
    data_hash: str = "",
    show: Callable[[float], None] = lambda percent: None,
) -> ResourceRecommendations:
    """Return what each task of a trace should ask for.

    Parameters
    ----------
    jobs : DataFrame
        Finished jobs with peaks, run times and requests.
    risk : float
        Share of runs that may be killed at their first request.
    gate : Gate, optional
        When to recommend a change at all.
    resource : str
        What is sized; one of :data:`~prophase.sizing.resources.RESOURCES`, or "auto".
    data_hash : str
        Hash of the jobs; stays with the result.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {
    ...         "job_id": [f"j{i}" for i in range(40)],
    ...         "task": "align",
    ...         "duration_s": 600.0,
    ...         "memory_peak_gib": 2.0 + 0.1 * (np.arange(40) % 5),
    ...         "request_memory_gib": 16.0,
    ...         "submit_s": 700.0 * np.arange(40),
    ...     }
    ... )
    >>> found = recommend(jobs, risk=0.05).tasks[0]
    >>> found.keep, round(found.request, 1)
    (False, 2.4)
    """
    resource = sized_resource(jobs, resource)
    runs = usable_runs(jobs, resource=resource, cut_off=True)
    return recommend_runs(runs, risk=risk, gate=gate, data_hash=data_hash, show=show)


def recommend_runs(
    runs: UsableRuns,
    *,
    risk: float = 0.01,
    gate: Gate | None = None,
    data_hash: str = "",
    show: Callable[[float], None] = lambda percent: None,
) -> ResourceRecommendations:
    """Return what each task should ask for, as :func:`recommend` does, of runs that are found."""
    if not 0 < risk < 1:
        raise ParameterError(f"risk is {risk}, but lies between 0 and 1: write 0.01 or 1%.")
    gate = gate or Gate()
    if not 0 <= gate.least_saving < 1:
        raise ParameterError(
            f"the least saving is {gate.least_saving}, but lies between 0 and 1: write 0.5 or 50%."
        )
    if not 0 <= gate.min_memory_gib < math.inf:
        raise ParameterError(
            f"the least memory is {gate.min_memory_gib} GiB, but is 0 or more: write 0.03 or 32M."
        )
    resource = runs.resource.name
    span_h = max(float(runs.end_s.max() - runs.submit_s.min()) / 3600, 1.0)
    tasks = []
    by_key = runs_by_kind(runs)
    levels = WiderLevels(known_prior(gate.prior), by_key)
    for place, (key, held) in enumerate(by_key.items()):
        tasks.append(recommended(full_name(key), held, risk, gate, runs.resource, levels))
        show(100 * (place + 1) / len(by_key))
    versions = versions_in(runs) if any(one.code == one.code for one in tasks) else {}
    tasks = [replace(one, version=versions.get(one.code, "")) for one in tasks]
    tasks.sort(key=lambda one: (one.keep, -_order(one)))
    months = months_in(3600 * span_h)
    tasks = [
        one if one.keep else replace(one, saved_per_month=one.saved_per_month / months)
        for one in tasks
    ]
    return ResourceRecommendations(
        tasks, risk, runs.resource.unit, resource, runs.left_out, span_h, data_hash, runs.rule,
        runs.remark,
    )  # fmt: skip


def _order(one: Recommendation) -> float:
    return one.saved_per_month if math.isfinite(one.saved_per_month) else -math.inf


def recommended(
    task: str,
    runs: KindRuns,
    risk: float,
    gate: Gate,
    what: Resource,
    levels: WiderLevels | None = None,
) -> Recommendation:
    """Return what one kind should ask for; ``saved_per_month`` is of the whole history.

    Runs of earlier versions of its code do not count: a new version may need something else.

    Parameters
    ----------
    levels : WiderLevels, optional
        Where runs of others are found that stand beside too few of its own.
    """
    what = gate.sized(what)
    runs, earlier = runs.of_latest_code(), len(runs)
    wider = levels.beside((runs.tenant, runs.kind)) if levels is not None else None
    peaks, requests, hours = runs.peaks, runs.requests, runs.hours(what)
    known = requests[np.isfinite(requests)]
    now = float(np.median(known)) if len(known) else math.nan
    ladder = ladder_of(peaks, risk, now, what, runs.when_s, runs.origins)
    needs_prior = OWN_RUNS <= len(runs) < gate.fewest_runs and wider is not None
    beside = wider if needs_prior and len(runs) + len(wider or ()) >= gate.fewest_runs else None
    alike = np.empty(0)
    if levels is not None and beside is None and what.held and what.kills and gate.few(len(runs)):
        alike = levels.further(runs.tenant, len(runs))
    past = _Past(runs, peaks, now, what, earlier - len(runs), beside, alike)
    raises = past.raises(ladder, risk)
    if raises and what.held:
        ladder = _begun_lower(ladder, past, risk)
        # killed runs need no more than that, but for the risk
        peaks = np.where(runs.cut_off, np.minimum(peaks, ladder[0]), peaks)
    if raises and not what.held:
        # of runs that were ended nobody knows how long they would have taken: one step at a time
        ladder = _scaled(ladder, _LONGER * now)
    trial = RecommendationBacktest(gate.fewest_runs, risk, what)
    if beside is not None:
        ladder = _higher(ladder, ladder_of(beside.peaks, risk, now, what, beside.when_s))
        trial.run(
            beside.peaks, beside.hours(what), beside.requests, beside.when_s, now, ladder,
            capped=not what.held,
        )  # fmt: skip
        trial.saves(ladder, requests, hours)
    elif past.shown_by_others:
        # of these kinds no further run went beyond that room, but for the risk
        factor = _ROOM_OF_FEW * float(np.quantile(alike, 1.0 - risk, method="higher"))
        ladder = ladder_of(peaks, risk, now, what, origins=runs.origins, beyond=factor)
        trial.by_kinds(alike > factor, ladder, requests, hours)
    elif len(runs) >= gate.fewest_runs:
        # jobs of one kind may have limits of minutes and of days: a short one stays
        capped = not what.held and not raises
        trial.run(
            peaks, hours, requests, runs.when_s, now, ladder, capped=capped, origins=runs.origins
        )
        if raises and not what.held:
            # a longer limit reserves nothing
            trial.saving = math.nan
        if what.held and what.kills and now > 0 and not raises and _kills(trial, past, gate):
            ladder, trial = _with_room(ladder, trial, past, gate)
    reserved = float(np.nansum(requests * hours))
    keep, why = _gated(trial, past, ladder, gate)
    found = Recommendation(
        task, len(runs), now, ladder, trial.oom,
        trial.count, trial.saving,
        0.0 if keep else trial.saving * reserved, why, keep,
        outlook_of(peaks), tuple(peaks[-KEPT:].tolist()), runs.tenant, runs.kind, runs.code,
    )  # fmt: skip
    return _given(found, gate.gpu_parts) if what.name == "gpu" and gate.gpu_parts else found


def _scaled(ladder: Sequence[float], most: float) -> tuple[float, ...]:
    """Return a ladder whose first rung is not above an amount; the others keep their distance."""
    part = min(1.0, most / ladder[0])
    return tuple(part * rung for rung in ladder)


def _begun_lower(ladder: tuple[float, ...], past: _Past, risk: float) -> tuple[float, ...]:
    """Return a ladder that begins where peaks end that were cut off, if that is worth it."""
    runs = past.runs
    first = what_holds_cut_off(runs.peaks_or_limits, runs.cut_off, risk)
    first = past.what.allocatable(max(first, MARGIN * past.now))
    lower = (first, ladder[0], ladder[1])
    # a few kills may be chance
    surely = float(wilson_ends(np.array([past.killed]), len(runs), 1.96)[0][0])
    worth = first < ladder[0] and COST_OF_A_KILL * surely >= first / past.now - 1
    return lower if worth else ladder


def _higher(own: Sequence[float], others: Sequence[float]) -> tuple[float, ...]:
    """Return a ladder that holds what either needs: a wider level lowers nothing by itself."""
    return tuple(max(pair) for pair in zip(own, others, strict=True))


def _given(one: Recommendation, parts: Sequence[GpuGrant]) -> Recommendation:
    """Round recommended GPUs up to what the nodes can give, and say which system can."""
    first = one.ladder[0]
    if one.keep or first > 1.0:
        return one
    part = smallest_part(first, parts)
    if one.now > 0 and part.share >= one.now:
        smaller = max((grant.share for grant in parts if grant.share < one.now), default=None)
        held = (
            "nodes give whole GPUs only" if smaller is None else f"the next part is {smaller:.2g}"
        )
        why = f"keep: {first:.2g} of a GPU would do, but {held}"
        return replace(one, keep=True, why=why, saved_per_month=0.0)
    ladder = tuple(smallest_part(rung, parts).share if rung < 1.0 else rung for rung in one.ladder)
    left = 1.0 - (1.0 - one.saving) * part.share / first
    saved = one.saved_per_month * left / one.saving if one.saving > 0 else one.saved_per_month
    why = f"{one.why}; given as {part.words}"
    return replace(one, ladder=ladder, saving=left, saved_per_month=saved, why=why)


@dataclass(frozen=True)
class _Past:
    """The runs of one task, in the order they ended."""

    runs: KindRuns
    peaks: Floats
    #: usual request of today
    now: float
    what: Resource
    #: runs of earlier versions of the code
    earlier: int = 0
    #: runs of others that stand beside too few of its own
    wider: KindRuns | None = None
    #: how far further runs of other kinds went beyond the highest of as many, a factor per kind
    alike: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def shown_by_others(self) -> bool:
        """Say whether enough other kinds show how far peaks go, and none was killed here."""
        return len(self.alike) >= FEWEST_KINDS and not self.runs.cut_off.any()

    @property
    def killed(self) -> float:
        """Share of the runs that were killed at their request."""
        return float(self.runs.cut_off.mean())

    @property
    def unit(self) -> str:
        """Unit of the peaks."""
        return self.what.unit

    def pays(self, ladder: Sequence[float]) -> bool:
        """Say whether more for all costs less than the kills; a time limit holds nothing."""
        more = ladder[0] / self.now - 1
        return not self.what.held or COST_OF_A_KILL * self.killed >= more

    def raises(self, ladder: Sequence[float], risk: float) -> bool:
        """Say whether so many runs were killed that more may have to be asked for."""
        return bool(ladder[0] > self.now and self.runs.cut_off.sum() > 1 and self.killed > risk)


def _gated(
    trial: RecommendationBacktest, past: _Past, ladder: Sequence[float], gate: Gate
) -> tuple[bool, str]:
    """Say whether the task keeps its request, and why."""
    peaks, now, runs = past.peaks, past.now, len(past.peaks)
    growth = rise_to_come(peaks)
    what = "peaks" if past.what.held else "run times"
    rising = f"; {what} are rising, {growth - 1:.0%} are added" if growth > _A_RISE else ""
    if runs < gate.fewest_runs and past.wider is None and not past.shown_by_others:
        version = " of this version of its code" if past.earlier else ""
        return True, f"keep: too few runs{version} ({runs}, {gate.fewest_runs} are needed)"
    if not now > 0 and past.what.name == "gpu":
        return True, "keep: it asks for no GPU, and what it was seen to use may be a neighbour's"
    if not now > 0:
        if not past.what.held and (unsure := _unsure_limit(trial, _most_killed(trial))):
            return True, f"keep: no time limit today, and {unsure}"
        highest = f"highest {peaks.max():.3g} {past.unit}"
        return False, f"no request today; {counted(runs, 'run')}, {highest}{rising}"
    if past.raises(ladder, trial.risk):
        return _after_kills(past, ladder, rising)
    refused = _refused(trial, past, ladder, gate)
    if refused:
        return True, f"keep: {refused}{rising}"
    part = float(peaks.max()) / now
    used = f"used {f'at most {part:.0%}' if part >= 0.005 else 'less than 1%'} of the request"
    if past.wider is not None:
        used += (
            f"; {counted(len(past.wider), 'run')} of {spoken(gate.prior)}, up to "
            f"{past.wider.peaks.max():.3g} {past.unit}, stand beside them"
        )
    if trial.what.room > past.what.room:
        used += f"; {trial.what.room:.3g} times what would do at the risk: some went far beyond"
    if past.shown_by_others:
        used += (
            f"; {counted(len(past.alike), 'other kind')} went up to {past.alike.max():.3g} times "
            "beyond the highest of as many runs"
        )
    if not past.what.held and ladder[0] >= now:
        longer = int((past.runs.requests > ladder[0]).sum())
        used = (
            f"took at most {peaks.max():.3g} {past.unit}; the {longer:,} with a longer limit than "
            "recommended change it"
        )
    return False, f"{counted(runs, 'run')} {used}{rising}"


def _after_kills(past: _Past, ladder: Sequence[float], rising: str) -> tuple[bool, str]:
    """Ask for more if that costs less than the kills; one loses its request and needs another."""
    share, killed = units.percent(past.killed), int(past.runs.cut_off.sum())
    said = f"{killed:,} of {counted(len(past.peaks), 'run')} ({share}) were killed at the request"
    if not past.what.held and past.killed > _MOSTLY_ENDED:
        return True, (
            f"keep: {said}, and what runs until its limit may do so with any. A run with "
            f"{ladder[0]:.3g} {past.unit} would tell"
        )
    if past.pays(ladder):
        return False, f"{ASK_FOR_MORE}: {said}{rising}"
    again = f"after a kill {ladder[0]:.3g} {past.unit} are likely to do"
    return True, f"keep: {said}, but more for all would cost more than that; {again}"


def _refused(
    trial: RecommendationBacktest, past: _Past, ladder: Sequence[float], gate: Gate
) -> str:
    """Say what speaks against the ladder; nothing if nothing does."""
    saving, now, runs = trial.saving, past.now, len(past.peaks)
    above = int((past.peaks > past.runs.requests).sum())
    if past.what.held and ladder[0] > now and above:
        return f"{above:,} of {counted(runs, 'run')} used more than they asked for"
    slope = power_of_request(past.runs)
    if slope == slope:
        held = past.runs.requests[~past.runs.cut_off]
        levels, counts = np.unique(held[held > 0], return_counts=True)
        least, often = float(levels[0]), int(counts[0])
        tried = f"; {counted(often, 'run')} at {least:.3g} {past.unit} ended well"
        return (
            f"{_FOLLOWS} (as its power {slope:.2g}), as those of a heap or cache "
            f"do; whether less would do is not known. A run at {0.5 * least:.3g} {past.unit} would "
            f"tell{tried if least < now else ''}"
        )
    if _kills(trial, past, gate):
        return f"{trial.oom.value:.1%} of the back-tested runs would have been killed"
    highest = _ends(trial)[1]
    if math.isnan(saving):
        return f"too few runs to back-test it ({runs})"
    if saving < 0:
        return "the recommended request would reserve more than today"
    if saving < gate.least_saving:
        return f"saves {saving:.0%}, less than the {gate.least_saving:.0%} asked for"
    if not past.what.held:
        longer = int((past.runs.requests > ladder[0]).sum())
        if longer < _REACHED * runs:
            return f"{longer:,} of {counted(runs, 'run')} asked for longer than recommended"
        return _unsure_limit(trial, _most_killed(trial))
    if saving <= highest * ladder[0] / now:
        return (
            f"saves {saving:.0%}, which is not sure: {trial.kills:,} of "
            f"{counted(trial.count, 'back-tested run')} killed may mean {highest:.1%}"
        )
    return ""


def _kills(trial: RecommendationBacktest, past: _Past, gate: Gate) -> bool:
    """Say whether too many of the back-tested runs would have been killed."""
    lowest = _ends(trial)[0]
    if trial.kills == 1:
        # one kill is no day that repeats itself: of few runs it says enough, of many nothing
        lowest = _alone(trial)[0]
    most = max(CLOSE * trial.risk, past.killed) if gate.most_oom is None else gate.most_oom
    surely = max(trial.risk, past.killed) if gate.most_oom is None else gate.most_oom
    return lowest > surely or (trial.kills > 1 and trial.oom.value > most)


def _with_room(
    ladder: tuple[float, ...], trial: RecommendationBacktest, past: _Past, gate: Gate
) -> tuple[tuple[float, ...], RecommendationBacktest]:
    """Return the ladder with the least room that the back-test asks for, and its trial.

    A request many times what runs need is worth lowering even if they need far more than before
    now and then. Without such a room, what was tried is returned.
    """
    runs = past.runs
    for room in _ROOMS:
        what = replace(past.what, room=room * past.what.room)
        higher = ladder_of(past.peaks, trial.risk, past.now, what, runs.when_s, runs.origins)
        if higher[0] >= past.now:
            break
        tried = RecommendationBacktest(gate.fewest_runs, trial.risk, what)
        tried.run(
            past.peaks, runs.hours(what), runs.requests, runs.when_s, past.now, higher,
            origins=runs.origins,
        )  # fmt: skip
        if not _kills(tried, past, gate):
            return higher, tried
    return ladder, trial


def _unsure_limit(trial: RecommendationBacktest, highest: float) -> str:
    """Say why a shorter time limit is not worth a risk: it frees nothing by itself, a kill costs.

    A run that is killed at its limit loses all its work, so kills must be shown to be rare.
    """
    if highest > _RARE * trial.risk:
        return (
            f"{trial.kills:,} of {counted(trial.count, 'back-tested run')} killed at the limit may "
            f"mean {highest:.1%}, more than {_RARE * trial.risk:.0%}"
        )
    return ""


def _most_killed(trial: RecommendationBacktest) -> float:
    """Return how many may truly be killed at a time limit."""
    if not trial.count:
        return 1.0
    return _ends(trial)[1] if trial.kills else _alone(trial)[1]


def _ends(trial: RecommendationBacktest) -> tuple[float, float]:
    """Return where the share of kills may truly lie; of independent runs if days do not show it."""
    if trial.oom.known:
        return trial.oom.low, trial.oom.high
    if not trial.count:
        return 0.0, 1.0
    return _alone(trial)


def _alone(trial: RecommendationBacktest) -> tuple[float, float]:
    """Return where the share of kills may truly lie if each run stands for itself."""
    low, high = wilson_ends(np.array([trial.oom.value]), trial.count, 1.645)
    return float(low[0]), float(high[0])


#: room above how far further runs of other kinds went beyond the highest of as many
_ROOM_OF_FEW = 1.15
#: rooms that are tried, the smallest first, where a back-test kills too many
_ROOMS = (1.25, 1.5, 2.0, 3.0)
#: the share of kills in a back-test is close to the risk up to this many times of it
CLOSE = 3.0
#: kills at shorter time limits are shown to be rare up to this many times the risk
_RARE = 15.0
#: how many times today's limit is asked for at most where too many runs are ended at it, and the
#: share of ended runs from which on nothing says that a longer one ends fewer
_LONGER, _MOSTLY_ENDED = 2.0, 2 / 3
#: share of the runs that a shorter time limit must reach
_REACHED = 0.1
#: what a kill costs, in requests: the one that is lost and, at least, another
COST_OF_A_KILL = 2.0
#: peaks follow the request if they rise with it about as fast, and little else moves them
_LEAST_SLOPE, _MOST_SLOPE, _LEAST_FIT = 0.7, 1.3, 0.8
#: two requests must differ by this factor, and so many runs must have made each of them
_APART, _EACH = 1.2, 4


def power_of_request(runs: KindRuns) -> float:
    """Return how peaks rise with the request, as a power of it; NaN if they do not follow it.

    A Java heap, a sort buffer or a cache takes what it is given: its peaks do not tell how little
    would do. Tasks whose input explains their peaks as well do not count.

    Parameters
    ----------
    runs : KindRuns
        Of one task; the latest ones count.
    """
    runs = runs.latest(REMEMBERED)
    known = (runs.requests > 0) & ~runs.cut_off
    asked, used = np.log(runs.requests[known]), np.log(runs.peaks[known])
    levels, counts = np.unique(np.round(asked, 2), return_counts=True)
    common = levels[counts >= _EACH]
    if len(common) < 2 or common[-1] - common[0] < math.log(_APART):
        return math.nan
    slope, fit = float(np.polyfit(asked, used, 1)[0]), _fit(asked, used)
    inputs = runs.inputs_gib[known]
    if np.isfinite(inputs).all() and _fit(np.log(np.maximum(inputs, 1e-9)), used) >= fit:
        return math.nan
    return slope if fit >= _LEAST_FIT and _LEAST_SLOPE <= slope <= _MOST_SLOPE else math.nan


def _fit(left: Floats, right: Floats) -> float:
    """Return the share of the spread of one that the other explains."""
    spread = float(left.std() * right.std())
    together = float(((left - left.mean()) * (right - right.mean())).mean())
    return (together / spread) ** 2 if spread > 0 else 0.0


def as_rows(found: ResourceRecommendations) -> list[dict[str, object]]:
    """Return a row per task: requests now and recommended, risk, saving, why."""
    return [
        {
            "task": name,
            "tenant": one.tenant or None,
            "kind": one.key[1],
            "runs": one.runs,
            "now": one.now,
            "advice": one.request,
            "2nd": one.now if one.keep else one.ladder[1],
            "3rd": one.now if one.keep else one.ladder[2],
            "oom_pct": 100 * one.oom.value,
            "oom_low_pct": 100 * one.oom.low,
            "oom_high_pct": 100 * one.oom.high,
            "saving_pct": 100 * one.saving,
            "saved_per_month": one.saved_per_month,
            "why": one.why,
        }
        for one, name in zip(found.tasks, shown_names(found), strict=True)
    ]


def rows_with_code(found: ResourceRecommendations) -> list[dict[str, object]]:
    """Return a row per task, with the version of the code that its runs name, if they name one."""
    return [
        {**row, **({"code": one.version} if one.version else {})}
        for row, one in zip(as_rows(found), found.tasks, strict=True)
    ]


def shown_names(found: ResourceRecommendations) -> list[str]:
    """Return how people see each task: its kind, with the tenant where several have that kind."""
    shown = shown_keys(one.key for one in found.tasks)
    return [shown[one.key] for one in found.tasks]
