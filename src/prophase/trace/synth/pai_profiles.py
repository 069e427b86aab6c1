"""The latent profiles of the PAI-like world: where each sits in the space of use."""

from __future__ import annotations

from typing import NamedTuple


class Profile(NamedTuple):
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


def _parsed(line: str) -> Profile:
    name, workload, role_class, *numbers = line.split()
    workloads = _OTHERS if workload == "others" else (workload,)
    return Profile(name, workloads, role_class, *map(float, numbers))


PROFILES = tuple(_parsed(line) for line in _TABLE.strip().splitlines())
