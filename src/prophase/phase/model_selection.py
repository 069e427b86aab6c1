"""How many phases are there, and how far back must one look? Try, and take what explains most.

Series differ from each other in ways that are no phases: one container is a little larger than
its sister. A criterion that counts samples, such as BIC, takes such differences for phases, the
more samples the surer. So a hidden Markov model is judged on series it has not seen, and the
smallest number of phases wins that no larger one beats beyond what differs between series. Other
labellers, and windows, are compared by how few bits the series take with their labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from prophase.errors import InputError, ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.phase.labellers import LABELLERS
from prophase.phase.labellers.boltzmann import HIDDEN, BoltzmannMeans
from prophase.phase.labellers.hidden_markov import HiddenMarkov
from prophase.phase.labellers.labeller import Labeller
from prophase.phase.labelling_scores import adjusted_rand_index, description_bits
from prophase.plain import finite
from prophase.plural import counted
from prophase.result import Result, Table
from prophase.trace.series.kmeans_centres import MOST_ROWS
from prophase.trace.series.usage_series import Floats, Ints

#: phases that are tried at most when their number is not given
MOST_PHASES = 12
#: samples that choices are made on; the chosen one then learns from all
_TRIED_SAMPLES = 12_000
#: numbers of phases that may be worse in a row before larger ones are given up
_PATIENCE = 1
#: a number of phases is clearly worse if it is so by this many standard errors
_CLEARLY = 1.0
#: parts of series that are needed for a standard error
_LEAST_UNITS = 8

Progress = Callable[[str, float | None], None]


@dataclass(frozen=True)
class LabellerTrial:
    """One labeller with one number of phases and one window, and how well it explains."""

    labeller: str
    n_phases: int
    window: int
    #: bits per sample that series take with its labels; less is better; NaN if not asked for
    bits: float
    #: changes of phase per 1,000 samples
    changes_per_1000: float
    #: agreement of labels learned from two halves of the series, 1 is full; None if not asked for
    stability: float | None = None
    #: bits per sample of series that the model did not learn from; for ``hmm``
    unseen: tuple[float, ...] = ()
    #: hidden features; for ``crbm``
    hidden: int | None = None

    def row(self) -> JsonObject:
        return {
            "labeller": self.labeller,
            "phases": self.n_phases,
            "window": self.window,
            "hidden": self.hidden,
            "bits": self.bits if np.isfinite(self.bits) else None,
            "unseen_bits": float(np.mean(self.unseen)) if self.unseen else None,
            "changes_per_1000": self.changes_per_1000 if np.isfinite(self.bits) else None,
            "stability": self.stability,
        }


def check_choice(labeller: str, n_phases: int | None, window: int | None) -> None:
    """Refuse what cannot be tried."""
    if labeller not in LABELLERS:
        raise ParameterError(not_among(f"labeller {labeller!r} is unknown.", labeller, LABELLERS))
    if n_phases is not None and not 1 <= n_phases <= 200:
        raise ParameterError(f"phases is {n_phases}. Pass a number from 1 to 200, or none.")
    if window is not None and not 0 <= window <= 500:
        raise ParameterError(
            f"window is {window}. Pass a number of samples from 0 to 500, or none."
        )


def choose(
    stretches: list[Floats],
    labeller: str = "hmm",
    *,
    n_phases: int | None = None,
    window: int | None = None,
    hidden: int = HIDDEN,
    random_state: int = 0,
    progress: Progress = lambda step, percent: None,
) -> tuple[Labeller, tuple[LabellerTrial, ...]]:
    """Return the labeller that explains the series best, and all that were tried.

    Parameters
    ----------
    stretches : list of arrays (n, metrics)
        Scaled, uninterrupted values.
    n_phases, window : int, optional
        Given, they are taken as they are; otherwise several are tried.
    hidden : int, default=10
        Hidden features, for ``crbm``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = np.repeat([0.0, 3.0, 6.0] * 4, 40)[:, None] + rng.normal(0, 0.2, (480, 1))
    >>> found, trials = choose([values], "hmm")
    >>> found.n_phases
    3
    """
    check_choice(labeller, n_phases, window)
    part = _part(stretches, random_state)
    trials: list[LabellerTrial] = []
    windows = LABELLERS[labeller][1] if window is None else (window,)
    numbers: Sequence[int] = range(1, MOST_PHASES + 1) if n_phases is None else (n_phases,)
    if len(windows) * len(numbers) > 1:
        finalists: list[LabellerTrial] = []
        for tried in windows:
            near = numbers
            if labeller == "hmm" and finalists:
                # the number of phases hardly depends on how far back is looked
                near = [n for n in numbers if abs(n - finalists[0].n_phases) <= 1]
            found = _numbers(part, labeller, near, tried, hidden, random_state, progress)
            finalist = _fewest(found)
            if labeller == "hmm":
                model = learn(part, labeller, finalist.n_phases, tried, random_state)
                judged = _judged(model, labeller, part, tried)
                found[found.index(finalist)] = judged = replace(judged, unseen=finalist.unseen)
                finalist = judged
            finalists.append(finalist)
            trials += found
        best = min(finalists, key=lambda one: one.bits)
        chosen, looked = best.n_phases, best.window
    else:
        chosen, looked = numbers[0], windows[0]
    progress(f"learning {chosen} phases", None)
    model = learn(stretches, labeller, chosen, looked, random_state, hidden=hidden)
    if not trials:
        trials = [_judged(model, labeller, stretches, looked)]
    return model, tuple(trials)


def reason(trials: Sequence[LabellerTrial], n_phases: int, window: int) -> str | None:
    """Say why this number of phases and this window were chosen; None if both were given."""
    if len(trials) < 2:
        return None
    why = (
        "the fewest that explain series not trained on as well as more would"
        if any(one.unseen for one in trials)
        else "the fewest bits"
    )
    return (
        f"Chosen of {len(trials)} trials: {counted(n_phases, 'phase')} and a window of "
        f"{counted(window, 'sample')}, {why}."
    )


def learn(
    stretches: list[Floats],
    labeller: str,
    n_phases: int,
    window: int,
    random_state: int = 0,
    *,
    hidden: int | None = None,
) -> Labeller:
    """Learn one labeller; refuse if no stretch is long enough for it."""
    kind = LABELLERS[labeller][0]
    if max(map(len, stretches)) <= window + 1:
        raise InputError(_too_short(stretches, window))
    if kind is BoltzmannMeans:
        return BoltzmannMeans.learn(
            stretches, n_phases, window=window, random_state=random_state, hidden=hidden or HIDDEN
        )
    return kind.learn(stretches, n_phases, window=window, random_state=random_state)


def sweep(
    stretches: list[Floats],
    labellers: Sequence[str],
    *,
    n_phases: Sequence[int],
    windows: Sequence[int] | None = None,
    hidden: Sequence[int] = (HIDDEN,),
    random_state: int = 0,
    stability: bool = True,
    progress: Progress = lambda step, percent: None,
) -> list[LabellerTrial]:
    """Return a trial per labeller, window and number of phases, best explanation first.

    ``crbm`` is tried with each number of hidden features as well.
    """
    part = _part(stretches, random_state)
    found = []
    for labeller in labellers:
        check_choice(labeller, None, None)
        for window in windows or LABELLERS[labeller][1]:
            for units in hidden if labeller == "crbm" else (HIDDEN,):
                tried = _numbers(
                    part, labeller, n_phases, window, units, random_state, progress, every=True
                )
                if stability:
                    tried = [_with_stability(one, part, random_state) for one in tried]
                found += tried
    return sorted(found, key=lambda one: one.bits)


def _numbers(
    stretches: list[Floats],
    labeller: str,
    numbers: Sequence[int],
    window: int,
    hidden: int,
    random_state: int,
    progress: Progress,
    *,
    every: bool = False,
) -> list[LabellerTrial]:
    """Try numbers of phases in rising order; stop when more explain less."""
    trials: list[LabellerTrial] = []
    worse = 0
    shared = None
    for number in numbers:
        progress(f"{labeller}: {number} phases, window {window}", None)
        if labeller == "hmm" and not every:
            trials.append(_not_seen(stretches, number, window, random_state))
            scores = [_trimmed(np.array(one.unseen))[0] for one in trials]
            worse = 0 if scores[-1] <= min(scores) else worse + 1
            if worse > _PATIENCE:
                break
            continue
        try:
            # hidden features do not depend on how many groups are made of them
            if labeller == "crbm" and shared is not None:
                model: Labeller = BoltzmannMeans.on(shared, stretches, number, random_state)
            else:
                model = learn(stretches, labeller, number, window, random_state, hidden=hidden)
        except InputError:
            if not trials:
                raise
            break
        shared = model.model if isinstance(model, BoltzmannMeans) else None
        trial = _judged(model, labeller, stretches, window)
        if labeller == "hmm":
            held = _not_seen(stretches, number, window, random_state)
            trial = replace(trial, unseen=held.unseen)
        trials.append(trial)
        worse = 0 if trial.bits <= min(one.bits for one in trials) else worse + 1
        if worse > _PATIENCE and not every:
            break
    return trials


def _fewest(trials: list[LabellerTrial]) -> LabellerTrial:
    """Return the trial with the best score, or a smaller one that is not clearly worse."""
    if not trials[0].unseen:
        return min(trials, key=lambda one: one.bits)
    scores = {one.n_phases: np.array(one.unseen) for one in trials}
    best = min(scores, key=lambda number: _trimmed(scores[number])[0])
    for one in trials:
        worse, error = _trimmed(scores[one.n_phases] - scores[best])
        if one.n_phases == best or worse <= _CLEARLY * error:
            return one
    raise AssertionError("the best trial is among the trials")


def _trimmed(values: Floats) -> tuple[float, float]:
    """Return mean and standard error without the outermost fifths (Tukey and McLaughlin 1963).

    A series that is larger than all others is explained badly by any number of phases, and would
    decide alone.
    """
    ordered = np.sort(values)
    cut = len(ordered) // 5
    inner = ordered[cut : len(ordered) - cut]
    if len(inner) < 2:
        return float(ordered.mean()), 0.0
    drawn_in = np.clip(ordered, inner[0], inner[-1])
    error = drawn_in.std(ddof=1) / (len(inner) / len(ordered)) / np.sqrt(len(ordered))
    return float(inner.mean()), float(error)


def _judged(model: Labeller, labeller: str, stretches: list[Floats], window: int) -> LabellerTrial:
    labels = [model.label(one) for one in stretches]
    bits = description_bits(stretches, labels)
    hidden = model.model.hidden if isinstance(model, BoltzmannMeans) else None
    return LabellerTrial(labeller, model.n_phases, window, bits, _changes(labels), hidden=hidden)


def _not_seen(
    stretches: list[Floats], n_phases: int, window: int, random_state: int
) -> LabellerTrial:
    """Judge by the bits per sample of each stretch under a model of the other half of them."""
    units = stretches
    if len(units) < _LEAST_UNITS:
        size = max(sum(map(len, stretches)) // _LEAST_UNITS, 4 * (window + 2))
        units = [
            one[begin : begin + size]
            for one in stretches
            for begin in range(0, len(one), size)
            if len(one[begin : begin + size]) > window + 2
        ]
    fold = np.random.default_rng(random_state).permutation(len(units)) % 2
    bits = np.full(len(units), np.nan)
    for side in (0, 1):
        others = [one for one, where in zip(units, fold, strict=True) if where != side]
        if not any(len(one) > window + 1 for one in others):
            raise InputError(_too_short(units, window))
        model = HiddenMarkov.learn(others, n_phases, window=window, random_state=random_state)
        own = np.flatnonzero(fold == side)
        bits[own] = model.model.bits_of([units[place] for place in own])
    unseen = tuple(bits[np.isfinite(bits)].tolist())
    return LabellerTrial("hmm", n_phases, window, float("nan"), float("nan"), unseen=unseen)


def _too_short(stretches: list[Floats], window: int) -> str:
    longest = max(map(len, stretches), default=0)
    return (
        f"no series has more than {longest} samples without a pause, too few to find phases with a "
        f"window of {window}. Use a smaller window, or more samples."
    )


def _changes(labels: list[Ints]) -> float:
    total = sum(map(len, labels))
    return 1000 * sum(int((np.diff(one) != 0).sum()) for one in labels) / max(total, 1)


def _with_stability(
    trial: LabellerTrial, stretches: list[Floats], random_state: int
) -> LabellerTrial:
    """Learn from each half of the stretches; compare the labels both give to all."""
    order = np.random.default_rng(random_state).permutation(len(stretches))
    halves = [[stretches[n] for n in order[0::2]], [stretches[n] for n in order[1::2]]]
    if not halves[1]:
        middle = len(stretches[0]) // 2
        halves = [[stretches[0][:middle]], [stretches[0][middle:]]]
    try:
        one, other = (
            learn(
                half,
                trial.labeller,
                trial.n_phases,
                trial.window,
                random_state,
                hidden=trial.hidden,
            )
            for half in halves
        )
    except InputError:
        return trial
    labels = [np.concatenate([model.label(s) for s in stretches]) for model in (one, other)]
    agreement = adjusted_rand_index(labels[0], labels[1])
    return replace(trial, stability=agreement)


def _part(stretches: list[Floats], random_state: int) -> list[Floats]:
    """Return whole stretches, drawn until there are enough samples to choose by."""
    if sum(map(len, stretches)) <= _TRIED_SAMPLES:
        return stretches
    rng = np.random.default_rng(random_state)
    kept, held = [], 0
    for place in rng.permutation(len(stretches)):
        if held >= _TRIED_SAMPLES:
            break
        kept.append(stretches[place][: min(MOST_ROWS, _TRIED_SAMPLES)])
        held += len(kept[-1])
    return kept


def trials_result(trials: Sequence[LabellerTrial]) -> Result:
    """Return what was tried, the fewest bits first."""
    rows = [finite(one.row()) for one in trials]
    if all(one.hidden is None for one in trials):
        rows = [{name: row[name] for name in row if name != "hidden"} for row in rows]
    first = trials[0]
    return Result(
        "phase-sweep",
        tables=[Table("trials", rows)],
        notes=[
            "bits: per sample, what series take with these labels, less is better; unseen_bits: "
            "of series the model did not learn from; stability: agreement of labels from two "
            "halves, 1 is full.",
            f"Fewest bits: {first.labeller} with {first.n_phases} phases, window {first.window}"
            + (f" and {first.hidden} hidden features." if first.hidden else "."),
        ],
    )
