"""Queueing theory: what formulas say about a cluster, and when they do not apply."""

from prophase.sim.queueing.customers import Customers, customers_of
from prophase.sim.queueing.erlang import (
    erlang_b,
    erlang_c,
    load_for_blocking,
    load_for_delay,
    servers_for_blocking,
    servers_for_delay,
)
from prophase.sim.queueing.facade import MODELS, answer
from prophase.sim.queueing.ggc import ggc
from prophase.sim.queueing.mg1 import mg1
from prophase.sim.queueing.mgc import mdc, mgc
from prophase.sim.queueing.mmc import LossAnswer, loss, mmc, mmck
from prophase.sim.queueing.multiserver import (
    balanced_split,
    server_filling,
    stability_limit,
)
from prophase.sim.queueing.priorities import (
    JobClass,
    PriorityAnswer,
    aggregate,
    priorities,
    shortest_first,
)
from prophase.sim.queueing.recursion import exact_starts, exact_waits
from prophase.sim.queueing.result import QueueAnswer
from prophase.sim.queueing.staffing import (
    garnett_delay,
    halfin_whitt_delay,
    least_servers,
    square_root_staffing,
)
from prophase.sim.queueing.target import Target, parse_target
from prophase.sim.queueing.timevarying import fluid_backlog, offered_load, waits_over_time
from prophase.sim.queueing.tracetheory import TraceTheory, trace_theory

__all__ = [
    "MODELS",
    "Customers",
    "JobClass",
    "LossAnswer",
    "PriorityAnswer",
    "QueueAnswer",
    "Target",
    "TraceTheory",
    "aggregate",
    "answer",
    "balanced_split",
    "customers_of",
    "erlang_b",
    "erlang_c",
    "exact_starts",
    "exact_waits",
    "fluid_backlog",
    "garnett_delay",
    "ggc",
    "halfin_whitt_delay",
    "least_servers",
    "load_for_blocking",
    "load_for_delay",
    "loss",
    "mdc",
    "mg1",
    "mgc",
    "mmc",
    "mmck",
    "offered_load",
    "parse_target",
    "priorities",
    "server_filling",
    "servers_for_blocking",
    "servers_for_delay",
    "shortest_first",
    "square_root_staffing",
    "stability_limit",
    "trace_theory",
    "waits_over_time",
]
