"""Exact waits of one first-come-first-served queue, customer by customer.

Starts never go back in time under this discipline, so nothing but the ends of running
jobs has to be remembered (Kiefer and Wolfowitz 1955). A heap of ends replaces their sorted
vector of remaining work; both give the same starts.
"""

from __future__ import annotations

from numba import types

from prophase.sim.compilation import njit
from prophase.sim.signatures import FLOAT_LINE, INT_LINE

_I = types.int64


@njit(types.void(FLOAT_LINE, FLOAT_LINE, FLOAT_LINE, FLOAT_LINE), cache=True)
def pool_starts(submit, duration, free_at, start):
    """Fill ``start`` for jobs that take one server each; ``free_at`` is zeroed scratch space."""
    servers = free_at.size
    for server in range(servers):
        free_at[server] = submit[0] if submit.size else 0.0
    for job in range(submit.size):
        begin = free_at[0] if free_at[0] > submit[job] else submit[job]
        start[job] = begin
        end = begin + duration[job]
        # the server that was free first takes the job: sink its new end from the root
        place = 0
        child = 1
        while child < servers:
            if child + 1 < servers and free_at[child + 1] < free_at[child]:
                child += 1
            if free_at[child] >= end:
                break
            free_at[place] = free_at[child]
            place = child
            child = 2 * place + 1
        free_at[place] = end


@njit(
    types.void(FLOAT_LINE, FLOAT_LINE, INT_LINE, _I, FLOAT_LINE, INT_LINE, FLOAT_LINE), cache=True
)
def gang_starts(submit, duration, need, capacity, ends, held, start):
    """Fill ``start`` for jobs that take several units at once and never overtake.

    ``ends`` and ``held`` are scratch space of one entry per job: a heap of the jobs that
    hold units. Jobs that ended stay in it until their units are asked for.
    """
    free, size, now = capacity, 0, 0.0
    for job in range(submit.size):
        if job == 0 or submit[job] > now:
            now = submit[job]
        while free < need[job]:
            if ends[0] > now:
                now = ends[0]
            free += held[0]
            size -= 1
            end, units = ends[size], held[size]
            place, child = 0, 1
            while child < size:
                if child + 1 < size and ends[child + 1] < ends[child]:
                    child += 1
                if ends[child] >= end:
                    break
                ends[place], held[place] = ends[child], held[child]
                place = child
                child = 2 * place + 1
            ends[place], held[place] = end, units
        free -= need[job]
        start[job] = now
        end = now + duration[job]
        place = size
        size += 1
        while place > 0 and ends[(place - 1) // 2] > end:
            above = (place - 1) // 2
            ends[place], held[place] = ends[above], held[above]
            place = above
        ends[place], held[place] = end, need[job]
