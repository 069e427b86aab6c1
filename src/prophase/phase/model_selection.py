"""How many phases are there, and how far back must one look? Try, and take what explains most.

Every labelling is judged by how few bits the series take with it, each with levels and movements of
its own. A hidden Markov model is learned with too many phases, which are joined until telling them
apart pays (`phase_merging`); other labellers are learned with each number of phases.
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
from prophase.phase.labelling_scores import adjusted_rand_index
from prophase.phase.phase_merging import JoinedPhases, as_good, bits_by_series, join
from prophase.phase.stays import listed
from prophase.plain import finite
from prophase.plural import counted
from prophase.result import Result, Table
from prophase.trace.series.kmeans_centres import MOST_ROWS
from prophase.trace.series.usage_series import Floats, Ints

#: phases that are tried at most when their number is not given
MOST_PHASES = 12
#: phases that joining begins with; with the most, if hardly any were joined
_FIRST_PHASES = 8
#: samples of a phase, on average, that are needed to try so many
_LEAST_SAMPLES = 12
#: samples that choices are made on; the chosen one then learns from all
_TRIED_SAMPLES = 12_000
#: bits per sample that a longer window must save
_SAME_BITS = 0.05
#: numbers of phases that may be worse in a row before larger ones are given up
_PATIENCE = 1

Progress = Callable[[str, float | None], None]


@dataclass(frozen=True)
class LabellerTrial:
    """One labeller with one number of phases and one window, and how well it explains."""

    labeller: str
    n_phases: int
    window: int
    #: bits per sample that series take with its labels, each by itself; less is better
    bits: float
    #: changes of phase per 1,000 samples
    changes_per_1000: float
    #: agreement of labels learned from two halves of the series, 1 is full; None if not asked for
    stability: float | None = None
    #: hidden features; for ``crbm``
    hidden: int | None = None
    #: taken; or else explains the series about as well as what was taken
    chosen: bool = False
    as_good: bool = False
    #: bits of each series, while in memory
    by_series: tuple[float, ...] = ()
    #: its phases of each sample, while in memory; for ``hmm``
    labels: tuple[Ints, ...] = ()

    def row(self) -> JsonObject:
        return {
            "labeller": self.labeller,
            "phases": self.n_phases,
            "window": self.window,
            "hidden": self.hidden,
            "bits": self.bits if np.isfinite(self.bits) else None,
            "changes_per_1000": self.changes_per_1000,
            "stability": self.stability,
            "chosen": "yes" if self.chosen else "as good" if self.as_good else "",
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
    series: Sequence[int] | None = None,
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
    series : sequence of int, optional
        Series that each stretch belongs to; each is one of its own if not given.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = np.repeat([0.0, 3.0, 6.0] * 4, 40)[:, None] + rng.normal(0, 0.2, (480, 1))
    >>> found, trials = choose([values], "hmm")
    >>> found.n_phases
    3
    """
    check_choice(labeller, n_phases, window)
    of = np.arange(len(stretches)) if series is None else np.asarray(series)
    part, whose = _part(stretches, of, random_state)
    windows = LABELLERS[labeller][1] if window is None else (window,)
    numbers: Sequence[int] = range(1, MOST_PHASES + 1) if n_phases is None else (n_phases,)
    many = len(np.unique(of))
    if len(windows) * len(numbers) == 1:
        progress(f"learning {numbers[0]} phases", None)
        model = learn(stretches, labeller, numbers[0], windows[0], random_state, hidden=hidden)
        trial = replace(_judged(model, labeller, stretches, windows[0], of), chosen=True)
        return _for_others(model, many), (trial,)
    trials: list[LabellerTrial] = []
    for tried in windows:
        trials += _numbers(part, whose, labeller, numbers, tried, hidden, random_state, progress)
    trials = marked(trials)
    best = next(one for one in trials if one.chosen)
    progress(f"learning {best.n_phases} phases", None)
    if best.labels and n_phases is None:
        labels: Sequence[Ints] = best.labels
        if part is not stretches:
            begun = HiddenMarkov.continued(
                part, labels, window=best.window, random_state=random_state
            )
            labels = [begun.label(one) for one in stretches]
        model = HiddenMarkov.continued(
            stretches, labels, window=best.window, random_state=random_state
        )
    else:
        model = learn(stretches, labeller, best.n_phases, best.window, random_state, hidden=hidden)
    return _for_others(model, many), tuple(trials)


def _for_others(model: Labeller, series: int) -> Labeller:
    """Return a model that leaves room for what differs between series."""
    return HiddenMarkov(model.model.widened(series)) if isinstance(model, HiddenMarkov) else model


def marked(trials: Sequence[LabellerTrial]) -> list[LabellerTrial]:
    """Mark the trial that takes the fewest bits, of equals the one with the fewest phases.

    A longer window must be worth it. Further numbers of phases are marked that series cannot tell
    from the one taken.
    """
    least = min(one.bits for one in trials)
    window = min(one.window for one in trials if one.bits <= least + _SAME_BITS)
    near = [one for one in trials if one.window == window]
    best = min(near, key=lambda one: (round(one.bits, 9), one.n_phases))
    alike = [one for one in trials if (one.window, one.hidden) == (best.window, best.hidden)]
    doubt = {
        one.n_phases for one in alike if as_good(np.array(one.by_series), np.array(best.by_series))
    }
    return [
        replace(
            one,
            chosen=one is best,
            as_good=one is not best and one in alike and one.n_phases in doubt,
        )
        for one in trials
    ]


def reason(trials: Sequence[LabellerTrial]) -> str | None:
    """Say why this number of phases and this window were chosen; None if both were given."""
    best = next((one for one in trials if one.chosen), None)
    if len(trials) < 2 or best is None:
        return None
    said = (
        f"Chosen of {len(trials)} trials: {counted(best.n_phases, 'phase')} and a window of "
        f"{counted(best.window, 'sample')}, the fewest bits ({best.bits:.2f} per sample)"
    )
    near = {
        one.n_phases - best.n_phases: one.bits
        for one in trials
        if (one.window, one.hidden) == (best.window, best.hidden)
    }
    beside = [
        f"{more} would take {near[step] - best.bits:.2f} more"
        for step, more in ((-1, "one phase less"), (1, "one phase more"))
        if step in near
    ]
    return said + "".join(f"; {one}" for one in beside) + "."


def doubt(trials: Sequence[LabellerTrial]) -> str | None:
    """Say that the number of phases cannot be told from these series, if so."""
    best = next((one for one in trials if one.chosen), None)
    others = sorted({one.n_phases for one in trials if one.as_good})
    if best is None or not others:
        return None
    return (
        f"How many phases there are cannot be told from these series: {listed(others)} "
        f"explain{'s' if len(others) == 1 else ''} them about as well as {best.n_phases}. Give "
        "more series, or set the number with --phases."
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
    series: Sequence[int] | None = None,
    random_state: int = 0,
    stability: bool = True,
    progress: Progress = lambda step, percent: None,
) -> list[LabellerTrial]:
    """Return a trial per labeller, window and number of phases, best explanation first.

    ``crbm`` is tried with each number of hidden features as well. Of each labeller the one that
    `choose` would take is marked.
    """
    of = np.arange(len(stretches)) if series is None else np.asarray(series)
    part, whose = _part(stretches, of, random_state)
    found = []
    for labeller in labellers:
        check_choice(labeller, None, None)
        own = []
        for window in windows or LABELLERS[labeller][1]:
            for units in hidden if labeller == "crbm" else (HIDDEN,):
                own += _numbers(
                    part, whose, labeller, n_phases, window, units, random_state, progress,
                    every=True,
                )  # fmt: skip
        if stability:
            own = [_with_stability(one, part, random_state) for one in own]
        found += marked(own)
    return sorted(found, key=lambda one: one.bits)


def _numbers(
    stretches: list[Floats],
    series: Ints,
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
    joined: dict[int, LabellerTrial] = {}
    if labeller == "hmm" and len(numbers) > 1:
        joined = _joined(stretches, series, numbers, window, random_state, progress)
    for number in numbers:
        if number in joined:
            trials.append(joined[number])
            continue
        if joined and not every:
            break
        progress(f"{labeller}: {number} phases, window {window}", None)
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
        trials.append(_judged(model, labeller, stretches, window, series))
        worse = 0 if trials[-1].bits <= min(one.bits for one in trials) else worse + 1
        if worse > _PATIENCE and not every:
            break
    return trials


def _joined(
    stretches: list[Floats],
    series: Ints,
    numbers: Sequence[int],
    window: int,
    random_state: int,
    progress: Progress,
) -> dict[int, LabellerTrial]:
    """Return a trial per number of phases that remains while too many of them are joined."""
    most = max(2, sum(map(len, stretches)) // _LEAST_SAMPLES)
    for begun in (_FIRST_PHASES, MOST_PHASES):
        count = min(begun, most)
        progress(f"hmm: joining {count} phases, window {window}", None)
        model = learn(stretches, "hmm", count, window, random_state)
        path = join(stretches, [model.label(one) for one in stretches], series)
        least = min(one.bits_per_sample for one in path)
        fewest = min(one.n_phases for one in path if one.bits_per_sample <= least + 1e-9)
        if fewest < count - 1 or count == most:
            break
    return {
        one.n_phases: _settled(one, stretches, series, window, random_state)
        if abs(one.n_phases - fewest) <= 1
        else _as_joined(one, window)
        for one in path
        if one.n_phases in numbers
    }


def _as_joined(one: JoinedPhases, window: int) -> LabellerTrial:
    return LabellerTrial(
        "hmm", one.n_phases, window, one.bits_per_sample, _changes(list(one.labels)),
        by_series=tuple(one.bits.tolist()), labels=one.labels,
    )  # fmt: skip


def _settled(
    one: JoinedPhases, stretches: list[Floats], series: Ints, window: int, random_state: int
) -> LabellerTrial:
    """Let samples that were joined to the wrong phase find theirs, if that takes fewer bits."""
    before = _as_joined(one, window)
    model = HiddenMarkov.continued(stretches, one.labels, window=window, random_state=random_state)
    labels = tuple(model.label(each) for each in stretches)
    after = _judged(model, "hmm", stretches, window, series)
    after = replace(after, bits=after.bits + one.lost / max(one.samples, 1), labels=labels)
    used = len(np.unique(np.concatenate([each[each >= 0] for each in labels])))
    return after if after.bits < before.bits and used == one.n_phases else before


def _judged(
    model: Labeller, labeller: str, stretches: list[Floats], window: int, series: Ints
) -> LabellerTrial:
    labels = [model.label(one) for one in stretches]
    bits = bits_by_series(stretches, labels, series)
    samples = sum(int((one >= 0).sum()) for one in labels)
    hidden = model.model.hidden if isinstance(model, BoltzmannMeans) else None
    return LabellerTrial(
        labeller, model.n_phases, window, float(bits.sum() / max(samples, 1)), _changes(labels),
        hidden=hidden, by_series=tuple(bits.tolist()),
    )  # fmt: skip


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


def _part(stretches: list[Floats], series: Ints, random_state: int) -> tuple[list[Floats], Ints]:
    """Return stretches of whole series, drawn until there are enough samples to choose by."""
    if sum(map(len, stretches)) <= _TRIED_SAMPLES:
        return stretches, series
    rng = np.random.default_rng(random_state)
    kept: list[Floats] = []
    whose: list[int] = []
    held = 0
    for number in rng.permutation(np.unique(series)):
        for place in np.flatnonzero(series == number):
            if held >= _TRIED_SAMPLES:
                break
            kept.append(stretches[place][: min(MOST_ROWS, _TRIED_SAMPLES)])
            whose.append(int(number))
            held += len(kept[-1])
    return kept, np.array(whose)


def trials_result(trials: Sequence[LabellerTrial]) -> Result:
    """Return what was tried, the fewest bits first, and what a fit of each labeller would take."""
    rows = [finite(one.row()) for one in trials]
    if all(one.hidden is None for one in trials):
        rows = [{name: row[name] for name in row if name != "hidden"} for row in rows]
    notes = [
        "bits: per sample, what series take with these labels, less is better; stability: "
        "agreement of labels from two halves, 1 is full; chosen: what a fit of a labeller takes.",
    ]
    for name in dict.fromkeys(one.labeller for one in trials):
        own = [one for one in trials if one.labeller == name]
        notes += [f"{name}: {said}" for said in (reason(own), doubt(own)) if said]
    return Result("phase-sweep", tables=[Table("trials", rows)], notes=notes)
