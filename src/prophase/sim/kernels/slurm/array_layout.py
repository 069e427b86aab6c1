"""The state of a replay by Slurm's rules: groups of arrays, the rules, the counts.

An instance of a job is a node: the instances of one job run on different nodes. Requests are
rows of ``asks`` as everywhere, with two more columns: the set of nodes that may be used, and the
reservation that the job runs in.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from prophase.sim.signatures import (
    ASK_COLUMNS,
    Flag,
    Float,
    FloatGrid,
    FloatLine,
    Int,
    IntGrid,
    IntLine,
)

#: further columns of a request: its set of nodes, and its reservation (-1: none)
ASK_NODES, ASK_RESERVATION = ASK_COLUMNS, ASK_COLUMNS + 1
SLURM_ASK_COLUMNS = ASK_COLUMNS + 2

#: how nodes are chosen: by runs of neighbours, by load, by leaf switch
NEIGHBOURS, LEAST_LOADED, SWITCHES = range(3)
#: what happens to a preempted job
NEVER, REQUEUED, CANCELLED = range(3)

#: columns of a limit: cores, MiB, GPUs, nodes and jobs; first what is allowed, then what is held
LIMITED = 5
#: columns of what is free on a node: milli-cores, MiB, whole GPUs, reasons to be off, and which
#: GPUs are taken as bits
CORES, MEMORY, GPUS, OFF, TAKEN = range(5)
FREE_COLUMNS = 5
#: columns of where instances are
ON_NODE, ON_GPUS = range(2)


class SlurmRules(NamedTuple):
    """The scheduler's parameters."""

    #: seconds before the first submission at which the clock began; between backfill passes (0:
    #: no backfilling) and between evaluations of priorities
    clock_s: Float = 0.0
    every_s: Float = 30.0
    rekey_s: Float = 300.0
    keys_move: Flag = False
    half_life_s: Float = 0.0
    #: is a job charged for the time between the last evaluation and its end?
    ends_count: Flag = True
    #: jobs that the main scheduler and a backfill pass look at; of one user and of one partition
    main_depth: Int = 100
    depth: Int = 500
    per_user: Int = 0
    per_partition: Int = 0
    window_s: Float = 86_400.0
    resolution_s: Float = 60.0
    choice: Int = NEIGHBOURS
    #: do all nodes have the same weight?
    one_weight: Flag = False
    #: a job that a limit holds back holds back those behind it
    limits_stop: Flag = False
    #: may jobs preempt others; how long a preempted job waits at least; how long nodes need
    #: after a job; how long after a submission the main scheduler looks at the queue,
    #: and how long after it has done so for others
    preempts: Flag = False
    requeue_s: Float = 0.0
    turnaround_s: Float = 0.0
    main_s: Float = 0.0
    main_every_s: Float = 0.0
    #: windows of ends that are looked at together grow by so much; 0: they double
    window_linear_s: Float = 0.0


class SlurmJobs(NamedTuple):
    """Jobs in order of submission."""

    #: columns JOB_SUBMIT ... of ``signatures``
    table: FloatGrid
    asks: IntGrid
    shape_of: IntLine
    #: of the present attempt: where its nodes are, and its record
    row_of: IntLine
    attempt_of: IntLine
    partition: IntLine
    #: added to keys: partitions of a higher tier go first
    tier: FloatLine
    #: who may preempt whom (classes), what then happens to it, and how long it is safe
    preempt_class: IntLine
    preempt_mode: IntLine
    #: lowest first
    preempt_rank: FloatLine
    exempt_s: FloatLine
    #: limits of each job: ``limit_rows[limit_first[job] : limit_first[job + 1]]``
    limit_first: IntLine
    limit_rows: IntLine
    #: jobs that wait for this one's end, or start; how many a job still waits for
    follower_first: IntLine
    followers: IntLine
    follows_start: IntLine
    waits_for: IntLine
    #: when a job may start at the earliest
    begin_s: FloatLine
    #: nodes on which jobs run from the beginning
    held_first: IntLine
    held: IntLine


class SlurmNodes(NamedTuple):
    """Nodes, and who may use them."""

    free: IntGrid
    #: per set of nodes (ASK_NODES) and node
    allowed: IntGrid
    #: per partition and node
    members: IntGrid
    #: rank of the weight, leaf switch, cores
    weight: IntLine
    switch: IntLine
    cores: IntLine
    #: reservations of each node: ``[reserved_first[node] : reserved_first[node + 1]]``
    reserved_first: IntLine
    reserved_begin: FloatLine
    reserved_end: FloatLine
    reserved_name: IntLine
    #: begin of each reservation, for the jobs in it
    opens_s: FloatLine
    closes_s: FloatLine


class SlurmOwners(NamedTuple):
    """What users and accounts have used, and what they may hold."""

    #: columns OWNER_USAGE ... of ``signatures``
    table: FloatGrid
    limits: IntGrid
    #: the cluster's milli-GPUs, milli-cores and MiB
    whole: FloatLine
    #: may a class of jobs preempt another?
    preempts: IntGrid


class SlurmQueue(NamedTuple):
    """Waiting jobs."""

    jobs: IntLine
    keys: FloatLine
    #: jobs seen of each user and of each partition in one pass
    per_user: IntLine
    per_partition: IntLine
    #: jobs that wait for their time, as a heap
    later_s: FloatLine
    later: IntLine
    #: pass in which a partition's first job was held up
    held_up: IntLine
    #: places of the jobs that a backfill pass looks at
    looked_at: IntLine
    #: running jobs that might be preempted, from the front; preempted ones from the back
    victims: IntLine


class SlurmRunning(NamedTuple):
    """Running jobs, a heap of their ends, and the record of all attempts."""

    jobs: IntLine
    place_of: IntLine
    end_s: FloatLine
    heap: IntLine
    heap_place_of: IntLine
    record: IntGrid
    times: FloatGrid
    #: node and GPUs of every instance, and the next instance on that node
    placed: IntGrid
    after: IntLine
    #: job of every instance
    job_at: IntLine
    #: first running instance on each node, -1: none; its first and last believed end
    first_on: IntLine
    first_end_s: FloatLine
    last_end_s: FloatLine


class SlurmPlan(NamedTuple):
    """When nodes are free, and the reservations of a backfill pass."""

    #: the row of a shape: those that differ in the number of nodes alone share one
    ready_of: IntLine
    #: per row and node: believed instant from which there is room, -inf: now
    ready_s: FloatGrid
    #: per row: changes it has seen (-1: none)
    seen: IntLine
    #: the last nodes that changed; a power of two of places
    log: IntLine
    #: of each node: how many reservations, when the first begins and the last ends
    number: IntLine
    opens_s: FloatLine
    closes_s: FloatLine
    #: where a node's first reservation is, the one after it, and the time of each
    first_on: IntLine
    after: IntLine
    begin_s: FloatLine
    end_s: FloatLine
    #: nodes closed to the main scheduler in this pass
    closed: IntLine
    #: of the job at hand: when each node could take it, a copy, and the nodes chosen
    free_s: FloatLine
    sorted_s: FloatLine
    chosen: IntLine
    #: and the cores that are free on each node when the job starts
    cores: IntLine
    #: room for a count per switch, or for the free resources while preempting
    tally: IntLine
    after_preemption: IntGrid
    #: per shape: the instant last found, for which length, and in which pass
    bound_s: FloatLine
    bound_length: FloatLine
    bound_pass: IntLine


class SlurmOutages(NamedTuple):
    """Nodes lost, drained and returned: times, and (node, what)."""

    times: FloatLine
    events: IntGrid


class SlurmOrder(NamedTuple):
    """An order whose keys move, as the steps take it."""

    key: Any
    refresh: Any
    facts: Any


#: counts that the dynamic loop does not have: changes of nodes, reservations of the plan, jobs that
#: wait for their time, changes at the last backfill pass, its number, whether a job has come
#: since, jobs that have not ended and their instances
(
    CHANGES,
    PLANNED,
    LATER,
    LAST_CHANGES,
    BACKFILLS,
    DIRTY,
    LEFT,
    LEFT_ROWS,
    #: has a job joined the queue since it was sorted, and places of started jobs in it
    UNSORTED,
    GAPS,
    #: the job that held up the last main pass first, one more than its number, and the changes of
    #: nodes by then
    HELD_UP,
    HELD_UP_AT,
) = range(27, 39)
SLURM_COUNTS = 39
#: clock: now, evaluations of keys, when the next reservation of the plan begins, and when the main
#: scheduler looks at the queue because of submissions, and did last
NOW, REKEYED, NEXT_PLANNED, MAIN_DUE, LAST_MAIN = range(5)
