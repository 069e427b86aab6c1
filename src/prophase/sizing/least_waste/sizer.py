"""Our default sizer: least expected waste under what the next peak may be.

Several views of a task's history predict the next peak, each as a sample. They are pooled,
those with less waste so far counting more, and the ladder of requests is the one with the
least expected waste. With a risk, kills get a price that moves until the chosen share of
tasks is killed: cheap tasks become safe first, where safety costs least.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, MutableMapping
from typing import Any

import numpy as np

from prophase.sizing.least_waste.cold_start import ColdStart
from prophase.sizing.least_waste.history import (
    LATEST,
    TaskHistory,
    growth_to_come,
    has_changed,
)
from prophase.sizing.least_waste.joint_regression import Joint
from prophase.sizing.least_waste.kill_price import MOST_NOTED, KillPrice, instance_key
from prophase.sizing.least_waste.ladder import Floats, Outlook
from prophase.sizing.least_waste.lineage import (
    INPUT,
    OWN,
    Lineage,
    best_ancestor,
    own_numbers,
    own_words,
    prefixes,
)
from prophase.sizing.least_waste.predictive_samples import PLAIN, Sample, tag_level, views
from prophase.sizing.least_waste.settings import MOST_OPEN, LeastWasteSettings
from prophase.sizing.sizer import (
    GROWTH,
    Features,
    OnlineSizer,
    code_of,
    known_number,
    request_of,
    request_or_plenty,
)

#: retries by the ladder; the next one asks for the request or doubles
_MOST_RUNGS = 3
_LEAST_STEP = 1.1
#: with a risk: weight of the whole request among what the second peak may be
_WORST = 1.0
_UNSEEN_POWER = 2.0
#: what was never seen may be anything up to the request: so many values stand for it
_STEPS_TO_REQUEST = np.arange(1, 7) / 6
#: with a smaller risk a task without history gets its whole request
_COLD_RISK = 0.01
#: with a risk and others under way, less than the highest peak is asked for once so many kills
#: would have been seen. Of 1, 3, 5 and 10 the first that holds the risk on mag, where runs of one
#: assembly begin together and are alike
_SHOWN_KILLS = 5.0
#: runs from which a rise of the peaks counts
_FEWEST_RISING = 5
#: a retry that would be this near to the request asks for the whole
_NEARLY = 0.7


class LeastWaste(OnlineSizer):
    """Ask for the ladder with the least expected waste.

    Parameters
    ----------
    risk : float, optional
        Share of tasks that may be killed at their first request. Without it only waste counts.
    prior : bool, default=True
        Whether a task without history may ask for less than its request because other tasks of
        the same workflow use far less than theirs. Without it, it keeps its request.
    """

    def __init__(
        self,
        risk: float | None = None,
        *,
        settings: LeastWasteSettings | None = None,
        prior: bool = True,
    ) -> None:
        super().__init__(risk)
        self.prior = prior
        self.settings = settings or LeastWasteSettings()
        self.histories_: MutableMapping[str, TaskHistory] = {}
        self.lineage_ = Lineage()
        self.cold_: dict[str, ColdStart] = {}
        self.price_ = KillPrice(risk, self.settings.kill_cost)
        #: what was last asked about, and its views: a decision needs them twice, and an instance
        #: that ends before anything else happens is judged by them
        self._viewed: tuple[tuple[int, int], dict[str, Sample], Features] | None = None
        #: what similar tags said of an instance when it was decided on, until it ends. Those that
        #: begin together are alike: by the others of its kind an instance is no surprise, but
        #: none of them had reported then
        self._levels: dict[tuple[object, ...], tuple[int, float]] = {}

    def predict(self, task: str, features: Features) -> float:
        rungs, outlook = self.laddered(task, features)
        asked, request = rungs[0], request_of(features)
        # as far as history tells; whoever gets the whole request is not killed
        chance = 0.5 if outlook is None else outlook.exceed(asked)
        held = request is not None and asked >= request
        self.price_.decided(task, features, 0.0 if held else chance)
        history = self._history(task)
        history.open += 1
        if len(self._levels) >= MOST_NOTED:
            del self._levels[next(iter(self._levels))]
        level = tag_level(history, prefixes(_tag_of(features)))
        self._levels[instance_key(task, features)] = history.changes, level
        least = self.settings.least
        return max(asked, min(least, request or least))

    def retry(self, task: str, features: Features, attempt: int, last_gib: float) -> float:
        self.price_.retried(task, features)
        request = request_of(features)
        if attempt <= _MOST_RUNGS:
            outlook = self.outlook(task, features, above=1.02 * last_gib, climbing=True)
            if outlook is not None and len(outlook):
                hours = self._usual_hours(task)
                rungs, _ = outlook.ladder(self.price_.per_kill(task, hours))
                return max(rungs[0], _LEAST_STEP * last_gib)
        doubled = GROWTH * last_gib
        if (
            request is not None
            and last_gib < 0.99 * request
            and (doubled > _NEARLY * request or attempt > _MOST_RUNGS)
        ):
            return request
        return doubled

    def laddered(
        self, task: str, features: Features, *, under_way: int | None = None
    ) -> tuple[list[float], Outlook | None]:
        """Return the requests of the 1st, 2nd ... attempt, and what the peak may be.

        The last request is expected to hold. Without history nothing is known of the peak.

        Parameters
        ----------
        under_way : int, optional
            Instances of the task to be taken as under way; without it those that were sized and
            have not ended.
        """
        history = self.histories_.get(task)
        request = request_of(features)
        if history is None or not history.count or self._is_new_code(history, features):
            outlook = self.outlook(task, features, under_way=under_way)
            if request is None:
                return [request_or_plenty(features)], outlook
            above = max(history.bounds, default=0.0) if history else 0.0
            unsafe = self.risk is not None and self.risk < _COLD_RISK
            if not self.prior or unsafe or above >= request:
                return [max(request, 1.02 * above)], outlook
            return self._cold(features).ask(request, self.settings, above), outlook
        # a kill nobody has explained yet: whatever comes next may need more than that as well
        above = max(history.bounds, default=0.0)
        outlook = left = self.outlook(task, features, under_way=under_way)
        if above > 0:
            left = self.outlook(task, features, above, under_way=under_way)
        assert left is not None
        if not len(left):
            return [GROWTH * above], outlook
        rungs = left.ladder(self.price_.per_kill(task, self._usual_hours(task)))[0]
        if under_way is None:
            rungs = self._not_all_at_once(rungs, history, features)
        return rungs, outlook

    def _not_all_at_once(
        self, rungs: list[float], history: TaskHistory, features: Features
    ) -> list[float]:
        """Return rungs from the highest peak on, where a view that is wrong would kill many.

        Runs that begin together are sized by the same view before one of them reports. That it
        is right about all but a share of them is shown by as many runs as have such kills.
        """
        if self.risk is None or not history.open or self.risk * history.count >= _SHOWN_KILLS:
            return rungs
        most = self._most(history, features)
        least = history.highest if most is None else min(history.highest, most)
        return rungs if rungs[0] >= least else [least, *(rung for rung in rungs if rung > least)]

    def outlook(
        self,
        task: str,
        features: Features,
        above: float = 0.0,
        *,
        climbing: bool = False,
        under_way: int | None = None,
    ) -> Outlook | None:
        """Return what the next peak of a task may be; None without history.

        Who climbs after a kill does not allow for the worst: the next kill is not likely.
        """
        history = self.histories_.get(task)
        if history is None or not history.count:
            return None
        under_way = history.open if under_way is None else under_way
        found = self._views(history, features, under_way)
        shares = self._shares(history, found)
        values = np.concatenate([sample[0] for sample in found.values()])
        weights = np.concatenate([shares[name] * found[name][1] for name in found])
        most = self._most(history, features)
        if self.risk is not None and most is not None and not climbing:
            unseen = self._unseen(history, under_way)
            rare = min(1.0, _COLD_RISK / self.risk)
            worst = rare * _WORST * float(weights.sum()) * unseen
            lowest = min(history.highest, most)
            spread = lowest * (most / lowest) ** _STEPS_TO_REQUEST
            count = len(_STEPS_TO_REQUEST)
            values = np.concatenate([values, spread])
            weights = np.concatenate([weights, np.full(count, worst / count)])
            # without word from those under way, a rise of the peaks goes on
            values = values * self._growth(history, under_way)
        return Outlook(values, weights, most=most, above=above)

    @staticmethod
    def _growth(history: TaskHistory, under_way: int) -> float:
        """Return how much higher peaks are to be expected than those of the runs that ended."""
        if not under_way or history.count < _FEWEST_RISING:
            return 1.0
        unheard = min(1.0, under_way / (history.count + 1.0))
        return float(growth_to_come(history.peaks) ** unheard)

    @staticmethod
    def _unseen(history: TaskHistory, under_way: int) -> float:
        """Return how likely the next peak is unlike all seen: few have ended, or many still run."""
        ended = history.count + 1.0
        open_now = min(under_way / ended, MOST_OPEN)
        return float(min(1.0, (1.0 + open_now) / ended**_UNSEEN_POWER))

    def telling(self, task: str, features: Features, under_way: int | None = None) -> bool:
        """Say whether what is known of this instance says more than the task's history alone."""
        history = self.histories_.get(task)
        if history is None or not history.count:
            return False
        under_way = history.open if under_way is None else under_way
        shares = self._shares(history, self._views(history, features, under_way))
        return max(shares, key=lambda name: shares[name]) not in PLAIN

    def may_tell(self, task: str) -> bool:
        """Say whether :meth:`telling` is true for some instance, whatever is known of it."""
        history = self.histories_.get(task)
        if history is None or not history.count:
            return False
        plain = PLAIN if history.count > self.settings.recent else PLAIN[:1]
        shares = self._shares(history, [*plain, *(set(history.record) - set(PLAIN))])
        return max(shares, key=lambda name: shares[name]) not in PLAIN

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        peak, hours = _positive(peak_gib), _positive(runtime_h) or 0.0
        if peak is None:
            return
        history = self._history(task)
        if self._is_new_code(history, features):
            history.keep_last(0)
            self._viewed = None
        history.code = code_of(features) or history.code
        if failed:
            self._viewed = None
            history.killed(peak)
            self.price_.killed(task, features)
            return
        history.open = max(0, history.open - 1)
        # the kills on the way to this success are now explained by its peak
        history.explain(peak)
        self._learn(history, task, features, peak, hours)

    def _learn(
        self, history: TaskHistory, task: str, features: Features, peak: float, hours: float
    ) -> None:
        tag = _tag_of(features)
        words = prefixes(tag) if tag else ()
        surprise = math.nan
        changes, level = self._levels.pop(instance_key(task, features), (-1, math.nan))
        if history.count:
            self._judge(history, task, features, peak, hours)
            if changes != history.changes or level != level:
                level = tag_level(history, words)
            surprise = math.log(peak) - level
        self._viewed = None
        known_numbers = {
            **(self.lineage_.known_numbers(task, tag) if tag else {}),
            **own_numbers(features),
        }
        size = _log_input(features)
        if size == size:
            known_numbers[INPUT] = size
        history.add(
            peak, max(hours, 1e-5), size,
            known_numbers.get(history.ancestor, math.nan) if history.ancestor else math.nan,
            surprise, known_numbers, own_words(features),
        )  # fmt: skip
        for prefix in words:
            held = history.tags.setdefault(prefix, [0.0, 0.0])
            held[0] += math.log(peak)
            held[1] += 1.0
        if history.seen >= history.next_choice:
            history.next_choice = int(1.3 * history.seen) + 1
            self._choose_ancestor(history)
            history.choose_joint()
        if has_changed(history.peaks, history.inputs):
            # the first of the latest may still be of the old kind
            history.keep_last(LATEST - 2)
        if tag:
            self.lineage_.add(task, tag, peak, hours, features.get("post"))
        request = request_of(features)
        if request is not None:
            self._cold(features).add(task, peak, max(hours, 1e-5), request)
        self.price_.succeeded(task, features, (request or peak) * hours)

    def _judge(
        self, history: TaskHistory, task: str, features: Features, peak: float, hours: float
    ) -> None:
        """Record what each view would have wasted, and what it expected to."""
        found = self._views(history, features, history.open)
        most, fading = self._most(history, features), self.settings.fading
        usual = self._hours(history)
        price = self.price_.per_kill(task, usual)
        wasted, expected = {}, {}
        for name, (values, weights) in found.items():
            asked, expected[name] = Outlook(values, weights, most=most).one_rung(price)
            wasted[name] = (
                asked - peak
                if asked >= peak
                else asked + price + max(0.0, max(1.5 * asked, history.highest) - peak)
            )
        before = history.record.get("all", 0.0)
        for name in {*history.record, *wasted}:
            # a view that is new or silent stands where the plainest one stands
            record = history.record.get(name, before)
            history.record[name] = fading * record + wasted.get(name, wasted["all"]) * hours
        history.record_hours = fading * history.record_hours + hours
        history.expected = expected

    def _shares(self, history: TaskHistory, found: Iterable[str]) -> dict[str, float]:
        """Return how much each view counts: more if it wasted less, and expects to."""
        settings = self.settings
        trust = settings.expecting * self._hours(history)
        plain = history.record.get("all", 0.0), history.expected.get("all", 0.0)
        total = history.record_hours + trust
        score = {}
        for name in found:
            wasted = history.record.get(name, plain[0])
            expected = history.expected.get(name, plain[1])
            score[name] = (wasted + trust * expected) / total + 1e-3 * history.highest
        least = min(score.values())
        return {name: (least / value) ** settings.preference for name, value in score.items()}

    def _views(self, history: TaskHistory, features: Features, under_way: int) -> dict[str, Sample]:
        tag = _tag_of(features)
        asked = (id(history), under_way)
        if "post" in features:
            features = {name: value for name, value in features.items() if name != "post"}
        if self._viewed is not None and self._viewed[0] == asked and self._viewed[2] == features:
            return self._viewed[1]
        found = views(
            history,
            self.settings.with_under_way(under_way / (history.count + 1.0)),
            _log_input(features),
            self._told_before(tag, features, history.ancestor),
            prefixes(tag) if tag else (),
            self._taken_together(history, tag, features),
        )
        self._viewed = asked, found, features
        return found

    def _taken_together(
        self, history: TaskHistory, tag: str, features: Features
    ) -> tuple[Joint, Floats] | None:
        """Return the regression on all that is known, and the row of this instance."""
        joint = history.joint()
        if joint is None or joint.count < self.settings.lines_from:
            return None
        known_numbers = {**own_numbers(features), INPUT: _log_input(features)}
        for column in joint.numbers:
            if column[0] != OWN:
                known_numbers[column] = self.lineage_.one(tag, column) if tag else math.nan
        row = joint.encode(known_numbers, own_words(features))
        unsaid = (row[place] != row[place] for one, place in joint.numbers.items() if one[0] == OWN)
        # an instance that does not say what others say of themselves is not like their mean
        return None if any(unsaid) else (joint, row)

    def _told_before(self, tag: str, features: Features, counter: tuple[str, str] | None) -> float:
        """Return the chosen counter: of the sample, or a number of the instance itself."""
        if counter is None:
            return math.nan
        if counter[0] == OWN:
            return own_numbers(features).get(counter, math.nan)
        return self.lineage_.one(tag, counter) if tag else math.nan

    def _choose_ancestor(self, history: TaskHistory) -> None:
        chosen = best_ancestor(history.known_numbers, np.log(history.peaks))
        if chosen != history.ancestor:
            history.ancestor = chosen
            history.ancestry[:] = [
                row.get(chosen, math.nan) if chosen else math.nan for row in history.known_numbers
            ]
            for name in [name for name in history.record if name.startswith("sample")]:
                del history.record[name]

    def _most(self, history: TaskHistory, features: Features) -> float | None:
        """Return the request, unless the task was already seen to need more."""
        request = request_of(features)
        highest = max([history.highest, *history.bounds])
        return None if request is None or request < highest else request

    def _cold(self, features: Features) -> ColdStart:
        return self.cold_of(str(features.get("workflow") or ""))

    def cold_of(self, workflow: str) -> ColdStart:
        """Return what the tasks of a workflow say about requests."""
        if workflow not in self.cold_:
            self.cold_[workflow] = ColdStart()
        return self.cold_[workflow]

    def _history(self, task: str) -> TaskHistory:
        if task not in self.histories_:
            self.histories_[task] = TaskHistory(self.settings.remembered)
        return self.histories_[task]

    def _usual_hours(self, task: str) -> float:
        return self._hours(self.histories_[task])

    @staticmethod
    def _hours(history: TaskHistory) -> float:
        return float(history.hours[-50:].mean()) if history.count else 0.0

    @staticmethod
    def _is_new_code(history: TaskHistory, features: Features) -> bool:
        code = code_of(features)
        return code is not None and history.code is not None and code != history.code


class OwnHistory(LeastWaste):
    """The same, but a task without history keeps its request, whatever others use."""

    def __init__(self, risk: float | None = None) -> None:
        super().__init__(risk, prior=False)


def _tag_of(features: Features) -> str:
    tag = features.get("tag")
    return tag if isinstance(tag, str) else "" if tag is None or tag != tag else str(tag)


def _log_input(features: Features) -> float:
    size = known_number(features, "input_gib")
    return math.nan if size is None else math.log(max(size, 1e-6))


def _positive(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number > 0 else None
