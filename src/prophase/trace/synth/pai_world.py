"""The laws of the PAI-like world: what the published figures fix, written as tables.

Figures: Weng et al., "MLaaS in the Wild", NSDI 2022, for requests, waits, gangs and
recurrence; Table I of the Polaris profiler paper for the mix of workloads. Levels of
use and duration follow the order of magnitude of public samples of the trace. What has
no source is marked as assumed.
"""

from __future__ import annotations

from prophase.trace.synth.pai_profiles import PROFILES as PROFILES

#: rows per workload in Table I of the Polaris profiler paper
WORKLOAD_ROWS = {
    "bert": 10_940_142,
    "ctr": 9_128_957,
    "graphlearn": 4_888_371,
    "inception": 10_781_289,
    "nmt": 13_537,
    "resnet": 60_863,
    "rl": 849_626,
    "vgg": 11_768,
    "xlnet": 15_632,
}
WORKLOADS = tuple(WORKLOAD_ROWS)

ROLES = ("ps", "worker", "evaluator", "chief", "tensorflow", "PyTorchWorker")
PS, WORKER, EVALUATOR, CHIEF, TENSORFLOW, PYTORCH = range(len(ROLES))
#: roles that do the same work share profiles
ROLE_CLASS = {
    PS: "ps",
    WORKER: "worker",
    EVALUATOR: "evaluator",
    CHIEF: "worker",
    TENSORFLOW: "worker",
    PYTORCH: "worker",
}
#: the shapes a job can have: which tasks it launches
JOB_SHAPES = (
    (TENSORFLOW,),
    (WORKER,),
    (PYTORCH,),
    (EVALUATOR,),
    (PS, WORKER),
    (PS, WORKER, EVALUATOR),
    (CHIEF, PS, WORKER),
)
#: assumed probability of each shape; the trace notes only say that most jobs launch one task
SHAPE_SHARES = {
    "bert": (0.35, 0.12, 0.35, 0.02, 0.12, 0.03, 0.01),
    "ctr": (0.48, 0.30, 0.04, 0.02, 0.12, 0.03, 0.01),
    "graphlearn": (0.46, 0.36, 0.01, 0.01, 0.12, 0.03, 0.01),
    "inception": (0.58, 0.14, 0.10, 0.02, 0.12, 0.03, 0.01),
    "nmt": (0.30, 0.34, 0.20, 0.00, 0.12, 0.03, 0.01),
    "resnet": (0.40, 0.24, 0.20, 0.00, 0.12, 0.03, 0.01),
    "rl": (0.02, 0.02, 0.79, 0.01, 0.12, 0.03, 0.01),
    "vgg": (0.40, 0.24, 0.20, 0.00, 0.12, 0.03, 0.01),
    "xlnet": (0.30, 0.34, 0.20, 0.00, 0.12, 0.03, 0.01),
}


# fmt: off
#: (value, share) of planned cores, GiB and GPUs per instance.
#: Together: medians 6 cores, 29.3 GiB, 0.5 GPU; 95th percentiles 12 cores, 58.6 GiB, 1 GPU
CPU_PLANS = {
    "worker": ((1, .03), (2, .06), (4, .13), (6, .47), (8, .13), (10, .055), (12, .10),
               (16, .015), (32, .010)),
    "ps": ((1, .10), (2, .14), (4, .20), (6, .42), (8, .10), (12, .04)),
    "evaluator": ((1, .06), (2, .14), (4, .20), (6, .45), (10, .15)),
}
MEMORY_PLANS = {
    "worker": ((2.0, .008), (4.0, .024), (9.765625, .11), (14.6484375, .08), (19.53125, .13),
               (29.296875, .476), (39.0625, .05), (58.59375, .10), (97.65625, .016),
               (195.3125, .006)),
    "ps": ((4.0, .03), (9.765625, .20), (19.53125, .20), (29.296875, .51), (58.59375, .06)),
    "evaluator": ((4.0, .06), (9.765625, .20), (19.53125, .18), (29.296875, .56)),
}
#: GPUs of a task that does not insist on a V100
GPU_PLANS = ((0.25, .35), (0.5, .31), (1.0, .318), (2.0, .012), (4.0, .006), (8.0, .004))
GPU_PLANS_V100 = ((1.0, .90), (2.0, .05), (4.0, .02), (8.0, .03))
# fmt: on

#: assumed: tasks without a GPU besides parameter servers
CPU_ONLY_SHARE = 0.06

GPU_TYPES = ("T4", "P100", "MISC", "V100", "V100M32")
#: assumed: types the user insists on; the rest takes what is free among the older ones
DEMANDED_TYPES = (("T4", 0.08), ("P100", 0.05), ("MISC", 0.02), ("V100", 0.05), ("V100M32", 0.05))
GIVEN_TYPES = (("T4", 0.30), ("P100", 0.34), ("MISC", 0.36))

#: instances of one task: sizes people choose, and how often
GANG_SIZES = (2, 3, 4, 5, 8, 10, 12, 16, 20, 25, 30, 40, 50, 64, 80, 100, 128, 160, 200, 256)
#: the share falls with this power of the size
GANG_POWER = 0.45
#: share of instances that start together with others of their task
GANG_SHARE = 0.85
#: tasks with more GPUs per instance than one come in gangs of at most this many
WIDE_GANG = 8
#: share of parameter servers that are more than one
GANG_SHARE_PS = 0.30
#: parameter servers are fewer than the workers they serve
PS_PER_WORKER = 0.20

#: two runs of one group and task: 52 % of groups repeat closely, the others do not.
#: Solves: differ by at most 5, 20, 50 % in 21, 60, 81 % of pairs
STEADY_SHARE = 0.518
STEADY_SD = 0.078
RESTLESS_SD = 0.575
#: spread of log duration between groups of one profile
GROUP_DURATION_SD = 1.75
#: nobody holds a gang of hundreds for as long as a single instance: divided by sqrt(instances)
LONGEST_S = 10 * 86400.0

#: share of tasks whose group and task run at least five times
RECURRING_SHARE = 0.65

#: seconds in the queue: median and 90th percentile
WAIT_OLDER_GPUS = (11.0, 360.0)
WAIT_V100 = (113.0, 13_709.0)
LONGEST_WAIT_S = 3 * 86400.0

#: assumed: share of jobs that fail
FAILED_SHARE = 0.13
#: assumed, and lower than in the real trace: share of tasks whose sensors left no record
UNMEASURED_SHARE = 0.04
#: assumed: share of runs that behave like another profile of their workload and role
OFF_PROFILE_SHARE = 0.04
