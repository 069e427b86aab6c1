"""Other ways to simulate a queue of c servers, all given the same arrivals and services."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Any


def simpy_waits(gaps: Sequence[float], services: Sequence[float], servers: int) -> list[float]:
    """Return waits by SimPy: one process per customer, a resource for the servers."""
    import simpy

    env = simpy.Environment()
    pool = simpy.Resource(env, capacity=servers)
    waits = [0.0] * len(gaps)

    def customer(number: int) -> Iterator[Any]:
        arrived = env.now
        with pool.request() as turn:
            yield turn
            waits[number] = env.now - arrived
            yield env.timeout(services[number])

    def arrivals() -> Iterator[Any]:
        for number, gap in enumerate(gaps):
            yield env.timeout(gap)
            env.process(customer(number))

    env.process(arrivals())
    env.run()
    return waits


def ciw_waits(gaps: Sequence[float], services: Sequence[float], servers: int) -> list[float]:
    """Return waits by Ciw: one node, the values in sequence."""
    import ciw

    # it draws one arrival and one service more than it needs
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([*gaps, 1e12])],
        service_distributions=[ciw.dists.Sequential([*services, 1.0])],
        number_of_servers=[servers],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(len(gaps), method="Finish")
    return [one.waiting_time for one in simulation.get_all_records()]


def heap_waits(gaps: Sequence[float], services: Sequence[float], servers: int) -> list[float]:
    """Return waits by a plain event loop: one heap of events, one queue, no library."""
    events: list[tuple[float, int, int]] = []
    waiting: deque[tuple[int, float]] = deque()
    waits = [0.0] * len(gaps)
    free = servers
    heappush(events, (gaps[0], 1, 0))
    while events:
        now, is_arrival, number = heappop(events)
        if is_arrival:
            waiting.append((number, now))
            if number + 1 < len(gaps):
                heappush(events, (now + gaps[number + 1], 1, number + 1))
        else:
            free += 1
        while free and waiting:
            first, arrived = waiting.popleft()
            waits[first] = now - arrived
            free -= 1
            heappush(events, (now + services[first], 0, first))
    return waits
