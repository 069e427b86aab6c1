"""What is remembered of one task, in arrays that grow, and whether it has become another one."""

from __future__ import annotations

import math

import numpy as np

from prophase.sizing.least_waste.joint_regression import Joint, choose_columns
from prophase.sizing.least_waste.ladder import Floats
from prophase.sizing.least_waste.lineage import Known, Prefix
from prophase.stats.ranks import ranks

_MOST_BOUNDS = 8
#: runs with lower peaks after which a kill no longer raises requests
_UNCONFIRMED = 5
#: the joint view is refitted when the history has grown by one part in so many
_REFIT = 40


class TaskHistory:
    """Peaks of a task with what was known before each run.

    Attributes
    ----------
    peaks, hours : arrays
        Peak and run time of the remembered instances, oldest first.
    inputs, ancestry : arrays
        Logarithm of the size of the input, and of the chosen counter of a finished task of the
        same sample; NaN where unknown.
    surprises : array
        Log peak less the log peak expected from instances with a similar tag.
    """

    def __init__(self, remembered: int) -> None:
        self.remembered = remembered
        self._rows = np.empty((5, 8))
        self.count = 0
        #: instances ever seen, also forgotten ones
        self.seen = 0
        self.highest = 0.0
        #: instances that were sized and have not ended
        self.open = 0
        self.known_numbers: list[Known] = []
        self.words: list[tuple[str, ...]] = []
        self._joint: Joint | None = None
        self._joint_rows: list[Floats] = []
        self.tags: dict[Prefix, list[float]] = {}
        #: requests that were killed and no success has explained yet, and runs since then
        self.bounded: list[tuple[float, int]] = []
        self.record: dict[str, float] = {}
        self.record_hours = 0.0
        self.expected: dict[str, float] = {}
        self.ancestor: tuple[str, str] | None = None
        self.next_choice = 4
        self.code: object = None
        #: how often the history was retired because the task had changed
        self.changes = 0

    @property
    def peaks(self) -> Floats:
        return self._rows[0, : self.count]

    @property
    def hours(self) -> Floats:
        return self._rows[1, : self.count]

    @property
    def inputs(self) -> Floats:
        return self._rows[2, : self.count]

    @property
    def ancestry(self) -> Floats:
        return self._rows[3, : self.count]

    @property
    def surprises(self) -> Floats:
        return self._rows[4, : self.count]

    @property
    def bounds(self) -> list[float]:
        return [bound for bound, _ in self.bounded]

    def killed(self, request: float) -> None:
        """Remember that a run needs more than this."""
        self.bounded = [*self.bounded, (request, 0)][-_MOST_BOUNDS:]

    def explain(self, peak: float) -> None:
        """Forget kills that this peak explains, and those that many runs did not confirm."""
        self.bounded = [
            (bound, runs + 1)
            for bound, runs in self.bounded
            if bound > peak and runs + 1 < _UNCONFIRMED
        ]

    def add(
        self,
        peak: float,
        hours: float,
        size: float,
        ancestor: float,
        surprise: float,
        known_numbers: Known,
        words: tuple[str, ...],
    ) -> None:
        """Remember one instance; forget the oldest if there are too many."""
        if self.count == self._rows.shape[1]:
            self._make_room()
        self._rows[:, self.count] = (peak, hours, size, ancestor, surprise)
        self.count += 1
        self.seen += 1
        self.highest = max(self.highest, peak)
        self.known_numbers.append(known_numbers)
        self.words.append(words)
        if self._joint is not None:
            self._joint_rows.append(self._joint.encode(known_numbers, words))

    def choose_joint(self) -> None:
        """Choose again which of all that is known is taken together."""
        columns = choose_columns(self.known_numbers, self.words, np.log(self.peaks))
        self.take_joint(Joint(columns) if columns else None)

    def take_joint(self, joint: Joint | None, fitted: int = 0) -> None:
        """Take these columns together; the oldest ``fitted`` runs take part in the fit at once."""
        self._joint, self._joint_rows = joint, []
        if joint is None:
            return
        known = zip(self.known_numbers, self.words, strict=True)
        self._joint_rows = [joint.encode(*one) for one in known]
        if fitted:
            joint.fit(np.array(self._joint_rows[:fitted]), np.log(self.peaks[:fitted]))

    @property
    def fitted_joint(self) -> Joint | None:
        """Return what is taken together as it was last fitted."""
        return self._joint

    def fill(self, rows: Floats, known_numbers: list[Known], words: list[tuple[str, ...]]) -> None:
        """Take the runs of a saved history: peak, hours, input, ancestor and surprise of each."""
        self.count = rows.shape[1]
        self._rows = np.empty((5, max(8, self.count)))
        self._rows[:, : self.count] = rows
        self.known_numbers, self.words = known_numbers, words

    def joint(self) -> Joint | None:
        """Return all that is known taken together; the very latest runs may not be in it yet."""
        joint = self._joint
        if joint is not None and self.count - joint.count > (
            self.count // _REFIT if joint.count else 0
        ):
            joint.fit(np.array(self._joint_rows), np.log(self.peaks))
        return joint

    def keep_last(self, count: int) -> None:
        """Retire everything but the last instances: the task is not what it was."""
        count = min(count, self.count)
        self._rows[:, :count] = self._rows[:, self.count - count : self.count].copy()
        self.known_numbers = self.known_numbers[len(self.known_numbers) - count :]
        self.words = self.words[len(self.words) - count :]
        self._joint, self._joint_rows = None, []
        self.count = count
        self.highest = float(self.peaks.max()) if count else 0.0
        self.tags = {}
        self.ancestor, self.next_choice = None, self.seen + 4
        self.changes += 1
        self.record, self.record_hours, self.expected = {}, 0.0, {}
        self.surprises[:] = np.nan

    def _make_room(self) -> None:
        if self.count < self.remembered:
            wider = np.empty((5, 2 * self.count))
            wider[:, : self.count] = self._rows
            self._rows = wider
            return
        # forgetting in bulk keeps the cost of each instance constant on average
        kept = self.remembered * 3 // 4
        self._rows[:, :kept] = self._rows[:, self.count - kept : self.count].copy()
        self.known_numbers, self.words = self.known_numbers[-kept:], self.words[-kept:]
        self._joint_rows = self._joint_rows[-kept:]
        if self._joint is not None:
            self._joint.count = 0
        self.count = kept
        self.highest = float(self.peaks.max())


# Has a task become another one? New code or new data make its history misleading.
#
# The latest peaks are ranked among the older ones. If they stand apart from them, and their
# inputs do not, the task has changed: what is older is retired. Smaller changes are left to the
# view of the latest runs, which follows them by itself.


#: latest runs that are held against the older ones, and how many of those there must be
LATEST, _FEWEST_OLDER = 10, 14
#: rank-sum score, and ratio of medians, beyond which a task has changed
_SCORE, _RATIO = 4.0, 1.2
#: inputs explain a change if their median left this range of the older ones
_USUAL_INPUTS = (0.1, 0.9)


def has_changed(peaks: Floats, inputs: Floats) -> bool:
    """Say whether the latest peaks stand apart from the older ones without a reason.

    Parameters
    ----------
    peaks, inputs : arrays
        Peaks and logarithms of input sizes, oldest first; NaN where an input is unknown.

    Examples
    --------
    >>> peaks = np.r_[np.linspace(4.0, 4.2, 30), np.linspace(6.4, 6.6, 10)]
    >>> has_changed(peaks, np.full(40, np.nan))
    True
    >>> has_changed(peaks, np.log(peaks))
    False
    """
    older, latest = peaks[:-LATEST], peaks[-LATEST:]
    count = len(older)
    if count < _FEWEST_OLDER:
        return False
    middle = older.mean()
    if abs(latest.mean() - middle) < 0.1 * middle:
        return False
    below = (older[:, None] < latest).sum() + 0.5 * (older[:, None] == latest).sum()
    pairs = LATEST * count
    score = (below - 0.5 * pairs) / math.sqrt(pairs * (LATEST + count + 1) / 12)
    ratio = float(np.median(latest)) / float(np.median(older))
    if abs(score) < _SCORE or 1 / _RATIO < ratio < _RATIO:
        return False
    known = inputs[:-LATEST][inputs[:-LATEST] == inputs[:-LATEST]]
    if not len(known):
        return True
    low, high = np.quantile(known, _USUAL_INPUTS)
    return bool(low <= np.median(inputs[-LATEST:]) <= high)


# Do its peaks rise? In a workflow whose small samples come first they go on rising for a while.


#: runs of a task that count, the latest ones
REMEMBERED = 400
#: rank correlation of peaks with their order, in standard errors, from which they rise: steady
#: peaks look like that once in a hundred tasks
_RISING = 2.33
#: how far a rise is drawn on, as a share of the runs that show it, and how far at most
_DRAWN_ON, _MOST_GROWTH = 0.75, 4.0


def growth_to_come(peaks: Floats) -> float:
    """Return the factor by which peaks are to be expected higher, as they have been rising.

    Examples
    --------
    >>> steady = np.tile([2.0, 2.3, 2.1, 2.4], 10)
    >>> growth_to_come(steady), round(growth_to_come(steady * np.linspace(1.0, 2.0, 40)), 2)
    (1.0, 1.71)
    """
    recent = peaks[-REMEMBERED:]
    runs = len(recent)
    order = np.arange(runs) - (runs - 1) / 2
    placed = ranks(recent) - (runs + 1) / 2
    spread = math.sqrt(float(order @ order) * float(placed @ placed))
    if spread == 0 or float(order @ placed) / spread * math.sqrt(runs - 1) < _RISING:
        return 1.0
    slope = float(order @ np.log(recent)) / float(order @ order)
    return min(math.exp(max(slope, 0.0) * _DRAWN_ON * runs), _MOST_GROWTH)
