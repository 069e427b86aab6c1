"""The state of a dynamic replay: a few groups of arrays, the rules it follows, counts it keeps.

All arrays come from outside. The groups whose size is not known beforehand (``RunningArrays``,
``PlanArrays``, ``PowerArrays``) are replaced by larger ones when the loop asks for it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from prophase.sim.signatures import Flag, Float, FloatGrid, FloatLine, Int, IntGrid, IntLine

#: queue disciplines: two of them plan with believed run times
STRICT, SKIP, EASY, CONSERVATIVE = range(4)


class Rules(NamedTuple):
    """What a cluster does beyond starting jobs in turn; what is not set does nothing."""

    queue: Int = SKIP
    #: seconds before the first submission at which the scheduler's clock began
    clock_s: Float = 0.0
    #: seconds between passes made by the clock (0: none); do only those passes backfill?
    tick_s: Float = 0.0
    plan_on_tick: Flag = False
    #: reservations per pass, jobs of one user that a pass considers (0: all), and how far ahead
    depth: Float = math.inf
    per_user: Float = 0.0
    window_s: Float = math.inf
    #: does a reservation keep whole nodes, and to which seconds are its times rounded down?
    whole_nodes: Flag = False
    resolution_s: Float = 0.0
    #: do keys move; seconds between two evaluations (0: every pass); sort again after each start?
    keys_move: Flag = False
    rekey_s: Float = 0.0
    resort: Flag = False
    #: do the keys of waiting jobs stay, whatever usage there is?
    still: Flag = False
    #: do the keys of running jobs move alike, but for jumps, so that groups stay in order?
    alike: Flag = False
    half_life_s: Float = 0.0
    #: may a job preempt others; run time it is sure of; checkpoint interval; restart cost
    preempt: Flag = False
    min_run_s: Float = 0.0
    checkpoint_s: Float = math.inf
    restart_s: Float = 0.0
    #: do speeds differ, and do neighbours on a GPU slow each other?
    speeds_differ: Flag = False
    neighbours: Flag = False
    #: nodes from this one on are switched on and off
    elastic_from: Int = 1 << 62
    boot_s: Float = 0.0
    idle_s: Float = 0.0


class JobArrays(NamedTuple):
    """Jobs in order of submission, and the requests they climb."""

    #: columns JOB_SUBMIT ... of ``signatures``
    table: FloatGrid
    #: requests by shape
    asks: IntGrid
    #: of the present attempt: its request, its rung of the ladder, where its instances and its
    #: record are
    shape_of: IntLine
    rung_of: IntLine
    row_of: IntLine
    attempt_of: IntLine
    #: where a job's rungs begin (one entry more than jobs); their requests and work. Each but the
    #: last ends, after its work, out of memory
    first_rung: IntLine
    rung_shape: IntLine
    rung_work: FloatLine


class OwnerArrays(NamedTuple):
    """What users and accounts have used, and what they may hold."""

    #: columns OWNER_USAGE ... of ``signatures``
    table: FloatGrid
    quotas: IntGrid
    #: rows of a job's quotas, -1 for none
    quota_of: IntGrid
    #: the cluster's milli-GPUs, milli-cores and MiB
    whole: FloatLine


class NodeArrays(NamedTuple):
    """Nodes, what runs on them, and how fast."""

    matrix: IntGrid
    #: instances on each node, since when it has been idle, and how many reasons keep it off
    busy: IntLine
    idle_since: FloatLine
    reasons_off: IntLine
    #: GPUs that victims would free, while they are looked for
    freed: IntLine
    #: jobs on each GPU, ``slots`` places for each
    tenants: IntGrid
    slots: Int
    #: speed by (kind, GPU type), and the factor a neighbour of a kind leaves of one's speed
    speeds: FloatGrid
    pairs: FloatGrid


class QueueArrays(NamedTuple):
    """Waiting jobs."""

    jobs: IntLine
    #: of all jobs, waiting or not
    keys: FloatLine
    #: waiting jobs of each shape; the passes in which it did not fit, and preempting did not help
    per_shape: IntLine
    failed_at: IntLine
    unmoved_at: IntLine
    #: jobs considered in this pass, by user
    per_user: IntLine
    #: jobs to preempt from the front, jobs preempted in this pass from the back
    victims: IntLine


class RunningArrays(NamedTuple):
    """Running jobs, a heap of their ends, and the record of all attempts."""

    #: one group of jobs whose keys move alike after the other, each in order
    jobs: IntLine
    place_of: IntLine
    #: in order, beside ``jobs``: node * 256 + GPUs of a job of one instance, -1 of others
    held: IntLine
    end_s: FloatLine
    heap: IntLine
    heap_place_of: IntLine
    #: columns ATTEMPT_JOB ..., ATTEMPT_START ...
    record: IntGrid
    times: FloatGrid
    #: node and GPUs of every instance of every attempt
    placed: IntGrid
    #: a heap of when keys of running jobs jump, and whether a job is in it; empty if none do
    jump_s: FloatLine
    jump_jobs: IntLine
    jump_noted: IntLine
    #: the group of each job, where each group ends in ``jobs``, and where one joined it last
    group_of: IntLine
    group_end: IntLine
    joined: IntLine
    #: a walk over running jobs from the last to the first: a place in each group, and its key
    walk: IntLine
    walk_keys: FloatLine


class PlanArrays(NamedTuple):
    """What backfilling plans with, made anew in every pass."""

    times: FloatLine
    events: IntGrid
    #: where the job goes that is planned for, and jobs that still need a reservation
    planned: IntGrid
    reserving: IntLine
    #: nodes as they will be
    future: IntGrid
    sweep: IntGrid
    seen: IntGrid
    low: IntGrid
    #: believed ends of running jobs
    end_s: FloatLine
    enders: IntLine
    #: EASY: the start reserved for the first job that has to wait
    reserved_s: FloatLine


class PowerArrays(NamedTuple):
    """Nodes that are switched on and off, and outages."""

    state: IntLine
    ready_s: FloatLine
    wanted: IntLine
    #: shapes for which no more nodes are found
    full: IntLine
    #: elastic nodes switched on (1) or off (0): times, and (node, on)
    switch_s: FloatLine
    switches: IntGrid
    #: nodes lost, drained and returned: times, and (node, what)
    outage_s: FloatLine
    outages: IntGrid
    #: hours with a rule of their own, one after the other: columns HOURS_FROM ...
    hours: FloatGrid
    #: forecasts of arrivals: when each is made, where its rows begin, and (shape, jobs)
    ahead_s: FloatLine
    ahead_first: IntLine
    ahead: IntGrid


class Order(NamedTuple):
    """An order whose keys move, as the steps of the loop take it."""

    key: Any
    refresh: Any
    facts: Any


class Turn(NamedTuple):
    """One scheduling pass: when, by which discipline, with preemption, and with new keys?

    Jobs that are believed to run for longer than ``longest_s`` do not start in it.
    """

    now: float
    queue: int
    preempts: bool
    fresh_keys: bool
    longest_s: float
    order: Any


#: what an event does to a node: stops what runs there, lets it run out, brings the node back
LOSE, DRAIN, RETURN = range(3)
#: how the loop returns: it needs larger arrays, it has come to its end, or jobs preempt each other
#: without getting on
NEEDS_ROOM, ENDED, CIRCLING = range(3)

#: counts of the replay
(
    ARRIVED,
    WAITING,
    RUNNING,
    #: instances of waiting and of running jobs
    WAITING_ROWS,
    RUNNING_ROWS,
    #: different shapes among the waiting
    KINDS,
    PASSES,
    ATTEMPTS,
    ROWS,
    ENDS,
    SWITCHES,
    OUTAGES,
    #: jobs preempted, one after the other, without having saved any work
    FRUITLESS,
    #: is a pass still to be made at this instant, is it one of the clock's, and did the last one
    #: start nothing?
    PASS_DUE,
    TICKED,
    STALLED,
    #: rows that the loop needs: attempts, instances, events of the plan, switches
    NEED_ATTEMPTS,
    NEED_ROWS,
    NEED_EVENTS,
    NEED_SWITCHES,
    #: of one pass: shapes that did not fit, jobs preempted, the shape of the first job that has to
    #: wait (-1: none), the plan's length and whether it is made, reservations made and to be made
    FAILED_KINDS,
    EVICTED,
    HEAD,
    PLAN_SIZE,
    PLAN_READY,
    RESERVED,
    TO_RESERVE,
    #: the first hours that are not over, and the forecasts that were made
    HOURS,
    FORECASTS,
    #: waiting jobs that are in order, from the front, and running jobs whose keys will jump
    SORTED,
    JUMPS,
) = range(31)
COUNTS = 31
#: columns of the hours: when they begin and end, and the longest job that starts in them
HOURS_FROM, HOURS_TO, HOURS_LONGEST = range(3)
#: the clock: now, and the number of the last evaluation of keys
NOW, REKEYED = range(2)

#: columns of the attempts' record
ATTEMPT_JOB, ATTEMPT_OUTCOME, ATTEMPT_ROW, ATTEMPT_RUNG = range(4)
ATTEMPT_START, ATTEMPT_END, ATTEMPT_LOST = range(3)

#: columns of the quota matrix: limits, then what is held now
QUOTA_GPU, QUOTA_CPU, QUOTA_MEMORY, QUOTA_JOBS = range(4)
HELD_GPU, HELD_CPU, HELD_MEMORY, HELD_JOBS = range(4, 8)
QUOTA_COLUMNS = 8

#: a node that is off lacks this much memory, so that nothing fits, and gets it back
OFF = 1 << 50
