"""Other ways to simulate a queue of c servers, all given the same arrivals and services."""

from __future__ import annotations

import json
import subprocess
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from heapq import heappop, heappush
from pathlib import Path
from tempfile import TemporaryDirectory
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


#: run by a Python that has AccaSim: jobs of one core in its workload format, FIFO, first fit
ACCASIM = """
import collections, collections.abc, json, os, sys, time
# it was written for Python before 3.10
collections.Mapping = collections.abc.Mapping
from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import FirstInFirstOut
from accasim.base.simulator_class import Simulator
folder, servers = sys.argv[1], int(sys.argv[2])
nodes = {"groups": {"all": {"core": servers, "mem": 1}}, "resources": {"all": 1},
         "equivalence": {"processor": {"core": 1}}, "start_time": 0}
with open(os.path.join(folder, "nodes.json"), "w") as out:
    json.dump(nodes, out)
began = time.process_time()
replay = Simulator(os.path.join(folder, "jobs.swf"), os.path.join(folder, "nodes.json"),
    FirstInFirstOut(FirstFit()), RESULTS_FOLDER_PATH=folder, show_statistics=False,
    statistics_output=False, LOG_LEVEL="ERROR")
written = replay.start_simulation()["sched-"]
print(json.dumps({"s": time.process_time() - began, "written": written}))
"""


def accasim_wait(
    python: str, submit_s: Sequence[int], duration_s: Sequence[int], servers: int
) -> tuple[float, float]:
    """Return the mean wait and CPU seconds of AccaSim, which counts in whole seconds."""
    with TemporaryDirectory() as folder:
        lines = [
            f"{number + 1} {submit} -1 {duration} 1 -1 -1 1 {duration} -1 1 1 1 1 1 -1 -1 -1\n"
            for number, (submit, duration) in enumerate(zip(submit_s, duration_s, strict=True))
        ]
        Path(folder, "jobs.swf").write_text("".join(lines), encoding="utf-8")
        done = subprocess.run(
            [python, "-c", ACCASIM, folder, str(servers)],
            capture_output=True,
            text=True,
            check=True,
        )
        found = json.loads(done.stdout.splitlines()[-1])
        # job;user;queued__nodes__started;ended;...
        rows = [line.split("__") for line in Path(found["written"]).read_text("utf-8").splitlines()]
    waits = [
        (_instant(row[2].split(";")[0]) - _instant(row[0].split(";")[2])).total_seconds()
        for row in rows
    ]
    if len(waits) != len(submit_s):
        raise SystemExit(f"AccaSim ran {len(waits):,} of {len(submit_s):,} jobs")
    return sum(waits) / len(waits), float(found["s"])


def _instant(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
