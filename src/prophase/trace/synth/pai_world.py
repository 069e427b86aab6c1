"""The laws and latent profiles of the PAI-like world, as the published figures fix them.

Figures: Weng et al., "MLaaS in the Wild", NSDI 2022, for requests, waits, gangs and
recurrence; Table I of the Polaris profiler paper for the mix of workloads. Levels of
use and duration follow the order of magnitude of public samples of the trace. What has
no source is marked as assumed.
"""

from __future__ import annotations

from typing import NamedTuple

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


class LatentProfile(NamedTuple):
    """One latent kind of work: what an instance uses on average, and how long it takes."""

    name: str
    workloads: tuple[str, ...]
    role_class: str
    #: part of the rows of its workload and role
    share: float
    cpu_cores: float
    memory_gib: float
    gpus: float
    gpu_memory_gib: float
    read_bytes: float
    write_bytes: float
    read_count: float
    write_count: float
    duration_s: float


#: one line per profile, the fields in the order above
_TABLE = """
bert-train         bert       worker    0.45  1.00  1.8 0.200 2.20 7.0e6 1.6e6  1500   360  880
bert-serve         bert       worker    0.35  0.60  1.1 0.022 0.60 2.2e6 4.0e6   700   900  210
bert-idle          bert       worker    0.20  0.12  0.6 0.001 0.25 4.0e5 1.5e5   160   110  720
bert-ps            bert       ps        1.00  1.10  3.4 0.000 0.00 5.5e6 6.0e6  2600  2400 1120
bert-evaluate      bert       evaluator 1.00  0.85  1.1 0.140 0.46 9.0e6 2.6e6  1150   320  240
ctr-dense          ctr        worker    0.45  5.80  2.7 0.050 0.26 5.5e8 2.4e6 10400  4800 1040
ctr-sparse         ctr        worker    0.35  2.70  5.2 0.014 0.26 1.2e8 9.0e6  4200  2500  340
ctr-wide           ctr        worker    0.20  9.50 10.5 0.120 1.10 1.3e9 2.5e7 21000  9000 2080
ctr-ps             ctr        ps        0.60  2.20  2.6 0.000 0.00 3.0e8 2.5e6 11000  5000 1040
ctr-ps-large       ctr        ps        0.40  6.50 14.0 0.000 0.00 9.0e8 3.0e7 26000 14000 1520
ctr-evaluate       ctr        evaluator 1.00  2.10  2.7 0.058 0.27 1.2e8 1.5e6  6600  4100  560
graph-sample       graphlearn worker    0.60  0.70  4.1 0.004 0.30 1.5e7 1.8e7  3900  6400 1200
graph-train        graphlearn worker    0.40  4.30 16.0 0.030 0.90 9.0e7 7.5e7 12000 15000 2880
graph-ps           graphlearn ps        1.00  1.40  6.5 0.000 0.00 2.7e7 7.5e7  7800  6200 1200
graph-evaluate     graphlearn evaluator 1.00  0.50  2.6 0.010 0.30 6.0e6 3.0e6  1700  1500  400
inception-short    inception  worker    0.55  0.80  4.9 0.044 2.40 3.3e7 8.6e6  5500  2400  140
inception-batch    inception  worker    0.45  3.90  9.5 0.090 5.20 1.6e8 2.4e6 15000  1700  420
inception-ps       inception  ps        1.00  0.70  5.0 0.000 0.00 3.6e7 6.0e6  5600  1900  180
inception-evaluate inception  evaluator 1.00  1.20  3.4 0.090 1.60 6.0e7 8.0e5  5000   600  160
rl-learn           rl         worker    0.60  1.60  5.1 0.320 1.80 7.0e7 2.5e6  1900   850 1920
rl-simulate        rl         worker    0.40 10.50 13.0 0.060 0.70 9.0e6 3.0e7   900  4200 3360
resnet-train       resnet     worker    1.00  1.50 13.0 0.165 1.70 1.1e9 4.0e6 18000  7300 2400
nmt-train          nmt        worker    1.00  2.20  8.0 0.770 8.80 4.8e6 7.5e5   780   240 7200
vgg-train          vgg        worker    1.00  3.00  7.0 0.550 6.50 4.0e8 1.0e6  9000   800 2080
xlnet-train        xlnet      worker    1.00  0.45  1.0 0.900 4.00 5.0e7 6.0e7  8000  4000 2800
other-ps           others     ps        1.00  1.50  9.0 0.000 0.00 4.0e8 2.5e6 15000  5000 2000
other-evaluate     others     evaluator 1.00  1.00  3.0 0.120 1.20 4.0e7 1.0e6  3500   700  480
"""


#: workloads so rare that they share the profiles of their side roles
_OTHERS = ("nmt", "resnet", "rl", "vgg", "xlnet")


def _parsed(line: str) -> LatentProfile:
    name, workload, role_class, *numbers = line.split()
    workloads = _OTHERS if workload == "others" else (workload,)
    return LatentProfile(name, workloads, role_class, *map(float, numbers))


PROFILES = tuple(_parsed(line) for line in _TABLE.strip().splitlines())
