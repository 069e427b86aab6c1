"""The numbers a run is set by, and the counts it keeps, as places in plain arrays."""

from __future__ import annotations

#: queue disciplines: two of them plan with believed run times
STRICT, SKIP, EASY, CONSERVATIVE = range(4)

(
    RULE_QUEUE,
    #: seconds before the first submission at which the scheduler's clock began
    RULE_CLOCK,
    #: seconds between passes made by the clock (0: none); do only those passes backfill?
    RULE_TICK,
    RULE_PLAN_ON_TICK,
    #: reservations per pass, jobs of one user that a pass looks at (0: all), and how far ahead
    RULE_DEPTH,
    RULE_PER_USER,
    RULE_WINDOW,
    #: does a reservation keep whole nodes, and to which seconds are its times rounded down?
    RULE_WHOLE_NODES,
    RULE_RESOLUTION,
    #: do keys move; seconds between two looks at them (0: every pass); anew after each start?
    RULE_MOVES,
    RULE_REKEY,
    RULE_RESORT,
    RULE_HALF_LIFE,
    #: may a job push out others; run time it is sure of; checkpoint interval; restart cost
    RULE_PREEMPT,
    RULE_MIN_RUN,
    RULE_CHECKPOINT,
    RULE_RESTART,
    #: do speeds differ, and do neighbours on a GPU slow each other?
    RULE_RATES,
    RULE_NEIGHBOURS,
    #: nodes from this one on are switched on and off (as many as there are: none)
    RULE_ELASTIC,
    RULE_BOOT,
    RULE_IDLE,
) = range(22)
RULES = 22

#: what an event does to a node: stops what runs there, lets it run out, brings the node back
LOSE, DRAIN, RETURN = range(3)

#: counts of the running replay
(
    CHANGES,
    RUNNING,
    WAITING,
    PASSES,
    ATTEMPTS,
    ROWS,
    ALARMS,
    SWITCHES,
    #: different shapes among the waiting
    KINDS,
    #: jobs pushed out, one after the other, without having saved any work
    FRUITLESS,
) = range(10)
COUNTS = 10

#: columns of the attempts' record
ATTEMPT_JOB, ATTEMPT_OUTCOME, ATTEMPT_ROW, ATTEMPT_RUNG = range(4)
ATTEMPT_START, ATTEMPT_END, ATTEMPT_LOST = range(3)

#: columns of the quota matrix: limits, then what is held now
QUOTA_GPU, QUOTA_CPU, QUOTA_MEMORY, QUOTA_JOBS = range(4)
HELD_GPU, HELD_CPU, HELD_MEMORY, HELD_JOBS = range(4, 8)
QUOTA_COLUMNS = 8

#: a node that is off lacks this much memory, so that nothing fits, and gets it back
OFF = 1 << 50
