"""Our default sizer: least expected waste under what the next peak may be.

Several views of a task's history predict the next peak, each as a sample. They are pooled,
those with less waste so far counting more, and the ladder of requests is the one with the
least expected waste. With a risk, kills get a price that moves until the chosen share of
tasks is killed: cheap tasks become safe first, where safety costs least.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophase.sizing.least_waste.cold_start import ColdStart
from prophase.sizing.least_waste.history import LATEST, TaskHistory, has_changed
from prophase.sizing.least_waste.joint_regression import Joint
from prophase.sizing.least_waste.kill_price import KillPrice
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
from prophase.sizing.least_waste.predictive_samples import Sample, tag_level, views
from prophase.sizing.least_waste.settings import LeastWasteSettings
from prophase.sizing.resources import SMALLEST_GIB
from prophase.sizing.sizer import (
    GROWTH,
    Features,
    OnlineSizer,
    known_number,
    request_of,
    request_or_plenty,
)

#: retries by the ladder; the next one asks for the request or doubles
_MOST_RUNGS = 3
_LEAST_STEP = 1.1
#: with a risk: weight of the whole request among what the second peak may be
_WORST = 1.0
_UNSEEN_POWER, _MOST_OPEN = 2.0, 8.0
#: what was never seen may be anything up to the request: so many values stand for it
_STEPS_TO_REQUEST = 6
#: with a smaller risk a task without history gets its whole request
_COLD_RISK = 0.01
#: a retry that would be this near to the request asks for the whole
_NEARLY = 0.7
#: features that name the version of a task's code
_CODE = ("code", "version", "container")


class LeastWaste(OnlineSizer):
    """Ask for the ladder with the least expected waste.

    Parameters
    ----------
    risk : float, optional
        Share of tasks that may be killed at their first request. Without it only waste counts.
    """

    def __init__(
        self, risk: float | None = None, *, settings: LeastWasteSettings | None = None
    ) -> None:
        super().__init__(risk)
        self.settings = settings or LeastWasteSettings()
        self.histories_: dict[str, TaskHistory] = {}
        self.lineage_ = Lineage()
        self.cold_: dict[str, ColdStart] = {}
        self.price_ = KillPrice(risk, self.settings.kill_cost)

    def predict(self, task: str, features: Features) -> float:
        asked = self.ladder(task, features)[0]
        self.price_.decided(task, features, self._chance(task, features, asked))
        self._history(task).open += 1
        return max(asked, min(SMALLEST_GIB, request_of(features) or SMALLEST_GIB))

    def _chance(self, task: str, features: Features, asked: float) -> float:
        """Return the chance that a first request is killed, as far as history tells."""
        request = request_of(features)
        if request is not None and asked >= request:
            return 0.0
        outlook = self.outlook(task, features)
        return 0.5 if outlook is None else outlook.exceed(asked)

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

    def ladder(self, task: str, features: Features) -> list[float]:
        """Return the requests of the 1st, 2nd ... attempt; the last one is expected to hold."""
        history = self.histories_.get(task)
        request = request_of(features)
        if history is None or not history.count or self._is_new_code(history, features):
            if request is None:
                return [request_or_plenty(features)]
            above = max(history.bounds, default=0.0) if history else 0.0
            if (self.risk is not None and self.risk < _COLD_RISK) or above >= request:
                return [max(request, 1.02 * above)]
            return self._cold(features).ask(request, self.settings, above)
        # a kill nobody has explained yet: whatever comes next may need more than that as well
        outlook = self.outlook(task, features, above=max(history.bounds, default=0.0))
        assert outlook is not None
        if not len(outlook):
            return [GROWTH * max(history.bounds)]
        return outlook.ladder(self.price_.per_kill(task, self._usual_hours(task)))[0]

    def outlook(
        self, task: str, features: Features, above: float = 0.0, *, climbing: bool = False
    ) -> Outlook | None:
        """Return what the next peak of a task may be; None without history.

        Who climbs after a kill does not allow for the worst: the next kill is not likely.
        """
        history = self.histories_.get(task)
        if history is None or not history.count:
            return None
        found = self._views(history, features)
        shares = self._shares(history, found)
        values = np.concatenate([sample[0] for sample in found.values()])
        weights = np.concatenate([shares[name] * found[name][1] for name in found])
        most = self._most(history, features)
        if self.risk is not None and most is not None and not climbing:
            unseen = self._unseen(history, most)
            rare = min(1.0, _COLD_RISK / self.risk)
            worst = rare * _WORST * float(weights.sum()) * unseen
            spread = np.geomspace(min(history.highest, most), most, _STEPS_TO_REQUEST + 1)[1:]
            values = np.append(values, spread)
            weights = np.append(weights, np.full(_STEPS_TO_REQUEST, worst / _STEPS_TO_REQUEST))
        return Outlook(values, weights, most=most, above=above)

    @staticmethod
    def _unseen(history: TaskHistory, most: float) -> float:
        """Return how likely the next peak is unlike all seen: few have ended, or many still run."""
        ended = history.count + 1.0
        open_now = min(history.open / ended, _MOST_OPEN)
        return float(min(1.0, (1.0 + open_now) / ended**_UNSEEN_POWER))

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        peak, hours = _positive(peak_gib), _positive(runtime_h) or 0.0
        if peak is None:
            return
        history = self._history(task)
        if self._is_new_code(history, features):
            history.keep_last(0)
        history.code = _code_of(features) or history.code
        if failed:
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
        if history.count:
            self._judge(history, task, features, peak, hours)
            surprise = math.log(peak) - tag_level(history, words)
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
        found = self._views(history, features)
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

    def _shares(self, history: TaskHistory, found: dict[str, Sample]) -> dict[str, float]:
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

    def _views(self, history: TaskHistory, features: Features) -> dict[str, Sample]:
        tag = _tag_of(features)
        return views(
            history,
            self.settings,
            _log_input(features),
            self._told_before(tag, features, history.ancestor),
            prefixes(tag) if tag else (),
            self._taken_together(history, tag, features),
        )

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
        return joint, joint.encode(known_numbers, own_words(features))

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
        workflow = str(features.get("workflow") or "")
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
        code = _code_of(features)
        return code is not None and history.code is not None and code != history.code


def _tag_of(features: Features) -> str:
    tag = features.get("tag")
    return tag if isinstance(tag, str) else "" if tag is None or tag != tag else str(tag)


def _log_input(features: Features) -> float:
    size = known_number(features, "input_gib")
    return math.nan if size is None else math.log(max(size, 1e-6))


def _code_of(features: Features) -> str | None:
    for name in _CODE:
        if features.get(name):
            return f"{name}={features[name]}"
    return None


def _positive(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number > 0 else None
