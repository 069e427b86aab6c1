"""Which of the nodes that could take a job it gets: Slurm's own rules.

Nodes of the least weight go first. Among them: the run of neighbours in the node list that holds
the job with the fewest free cores, else the largest run, and again; or the least loaded nodes; or
the leaf switch that just holds it.
"""

from __future__ import annotations

import numpy as np

from prophase.sim.compilation import njit
from prophase.sim.kernels.slurm.array_layout import LEAST_LOADED, NEIGHBOURS
from prophase.sim.signatures import LOOP


@njit(**LOOP)
def choose_nodes(instant, wanted, nodes, plan, rules):
    """Fill ``plan.chosen`` with nodes whose ``free_s`` is the instant; return how many.

    ``plan.cores`` says how many cores each of them has free then.
    """
    if rules.one_weight and rules.choice == NEIGHBOURS:
        return _of_runs(instant, 0, 0, wanted, nodes, plan)
    found, weight, choice = 0, -1, rules.choice
    while found < wanted:
        # the next weight among the candidates
        lightest = 1 << 60
        for node in range(plan.free_s.size):
            if plan.free_s[node] == instant and weight < nodes.weight[node] < lightest:
                lightest = nodes.weight[node]
        if lightest == 1 << 60:
            return found
        weight, more = lightest, -1
        if choice == NEIGHBOURS:
            found = _of_runs(instant, weight, found, wanted, nodes, plan)
        while choice != NEIGHBOURS and found < wanted and more != found:
            more = found
            if choice == LEAST_LOADED:
                found = _least_loaded(instant, weight, found, nodes, plan)
            else:
                found = _of_switch(instant, weight, found, wanted, nodes, plan)
    return found


@njit(**LOOP)
def _of_runs(instant, weight, found, wanted, nodes, plan):
    more = -1
    while found < wanted and more != found:
        more = found
        found = _of_run(instant, weight, found, wanted, nodes, plan)
    return found


@njit(**LOOP)
def _take(node, found, plan):
    plan.chosen[found] = node
    # chosen nodes are no candidates any more
    plan.free_s[node] = np.nan
    return found + 1


@njit(**LOOP)
def _least_loaded(instant, weight, found, nodes, plan):
    best, most = -1, -1.0
    for node in range(plan.free_s.size):
        if plan.free_s[node] == instant and nodes.weight[node] == weight:
            share = plan.cores[node] / max(nodes.cores[node], 1)
            if share > most:
                best, most = node, share
    return found if best < 0 else _take(best, found, plan)


@njit(**LOOP)
def _of_switch(instant, weight, found, wanted, nodes, plan):
    tally = plan.tally
    tally[:] = 0
    for node in range(plan.free_s.size):
        if plan.free_s[node] == instant and nodes.weight[node] == weight:
            tally[nodes.switch[node]] += 1
    left, best = wanted - found, -1
    for switch in range(tally.size):
        if tally[switch] == 0:
            continue
        if best < 0:
            best = switch
        elif tally[switch] >= left:
            if tally[best] < left or tally[switch] < tally[best]:
                best = switch
        elif tally[best] < left and tally[switch] > tally[best]:
            best = switch
    if best < 0:
        return found
    for node in range(plan.free_s.size):
        if found == wanted:
            break
        if (
            plan.free_s[node] == instant
            and nodes.weight[node] == weight
            and nodes.switch[node] == best
        ):
            found = _take(node, found, plan)
    return found


@njit(**LOOP)
def _of_run(instant, weight, found, wanted, nodes, plan):
    left, count = wanted - found, plan.free_s.size
    best, best_length, best_cores = -1, 0, 0
    node = 0
    while node < count:
        first, cores = node, 0
        while node < count and plan.free_s[node] == instant and nodes.weight[node] == weight:
            cores += plan.cores[node]
            node += 1
        length = node - first
        if length > 0:
            enough, had = length >= left, best_length >= left
            better = best < 0 or (enough and (not had or cores < best_cores))
            if better or (not enough and not had and cores > best_cores):
                best, best_length, best_cores = first, length, cores
        else:
            node += 1
    if best < 0:
        return found
    for node in range(best, best + min(best_length, left)):
        found = _take(node, found, plan)
    return found
