"""A controller in a process of its own, with a clock that a file holds: to be killed by tests."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from kubernetes import config
from kubernetes.client import CoordinationV1Api, CoreV1Api

from prophase.autoscale.live_decision import LiveRules
from prophase.integrations.kubernetes.autoscaler.controller import PodScaler
from prophase.integrations.kubernetes.autoscaler.leader_lease import LeaderLease
from prophase.integrations.kubernetes.autoscaler.usage_samples import PrometheusSamples
from prophase.study.phase_scaling import load_policy


def main() -> None:
    asked = json.loads(sys.argv[1])
    policy = load_policy(asked["policy"])
    client = config.new_client_from_config(asked["kubeconfig"])
    lease = LeaderLease(
        CoordinationV1Api(client), asked["namespace"], "scaler", asked["holder"], duration_s=2
    )
    log = Path(asked["log"]).open("a", buffering=1)  # noqa: SIM115 - until the process is killed

    def tell(document: object) -> None:
        log.write(json.dumps(document) + "\n")

    scaler = PodScaler(
        CoreV1Api(client),
        asked["namespace"],
        policy,
        PrometheusSamples(asked["prometheus"], asked["namespace"], policy),
        rules=LiveRules(least=asked["least"], most=asked["most"], changes_per_hour=1e9),
        lease=lease,
        tell=tell,
    )
    clock = Path(asked["clock"])
    scaler.run(threading.Event(), every_s=0.05, clock=lambda: float(clock.read_text()))


if __name__ == "__main__":
    main()
