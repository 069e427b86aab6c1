"""The numbers our sizer was given, and what each does.

They were chosen from a few values each on four workflow traces together, never for one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from prophase.sizing.resources import SMALLEST_GIB

#: running instances per ended one that count at most
MOST_OPEN = 8.0


@dataclass(frozen=True)
class LeastWasteSettings:
    """How the sizer learns and how it weighs."""

    #: instances of a task that are remembered; older ones are forgotten
    remembered: int = 400
    #: the short view: the last so many instances
    recent: int = 25
    #: instances from which lines in the size of the input have a say
    lines_from: int = 5
    #: nearest neighbours by size of input: at least so many, and this power of all instances
    neighbours: int = 12
    neighbours_power: float = 0.7
    #: width of the region around an input in which residuals count fully, in standard deviations
    locality: float = 0.7
    #: probability that the next peak lies above all seen, times (instances + 1)
    tail: float = 0.4
    #: and so much more, divided by (instances + 1) once more: few runs show little
    tail_few: float = 0.8
    #: scale of that tail: at least this share of the highest peak
    tail_scale: float = 0.02
    #: instances from which the highest fifth of a sample is smoothed
    smoothed_from: int = 9
    #: share of their weight that the highest fifth keeps; the rest goes to a smooth tail
    smoothed_keep: float = 0.25
    #: weight of the least scale among the excesses that set the scale of the smooth tail
    smoothed_prior: float = 0.5
    #: the same with one instance only; falls with the root of their number
    tail_scale_first: float = 0.15
    #: how much likelier that is while other instances still run: the quick ones end first
    early: float = 1.0
    #: how fast the record of a view fades, per instance
    fading: float = 0.97
    #: instances for which expected waste counts beside the record
    expecting: float = 3.0
    #: how strongly views with less waste are preferred
    preference: float = 10.0
    #: what a kill costs beside the lost work, as a share of a usual request x run time
    kill_cost: float = 0.003
    #: no request is below it, unless the user asks for less
    least: float = SMALLEST_GIB
    #: other tasks that must speak before a task without history gets less than its request
    cold_tasks: float = 5.0
    #: expected saving from which that is done
    cold_worth: float = 0.1

    def with_under_way(self, per_ended: float) -> LeastWasteSettings:
        """Return them with the tail of a task of which so many run for each that ended.

        The first instances to end are the short ones, which need less than those still running.
        """
        if not per_ended > 0:
            return self
        unlike = 1.0 + self.early * min(per_ended, MOST_OPEN)
        return replace(self, tail=self.tail * unlike, tail_few=self.tail_few * unlike)
