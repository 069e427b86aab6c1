"""Operators of Airflow whose memory is sized from recommendations, and lifted after an OOM.

In a DAG::

    from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
    from airflow.providers.standard.operators.bash import BashOperator
    from prophase.integrations.airflow_sizing import Sizes, sized

    sizes = Sizes.read("/opt/airflow/sizes.json")  # prophase size ws --format json > sizes.json
    Pod, Bash = sized(KubernetesPodOperator, sizes), sized(BashOperator, sizes)

    train = Pod(task_id="train", image="train:1", ...)
    convert = Bash(task_id="convert", bash_command="./convert {{ ds }}")

Airflow's own Python imports this file. It needs the package alone, without what it depends on:
``pip install --no-deps prophase``. Nothing of Airflow is imported here.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prophase import units
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.runs.end_cause import REASONS
from prophase.runs.next_attempt import ladder
from prophase.runs.recommended_ladders import read_recommended_ladders


@dataclass(frozen=True)
class Sizes:
    """What each task should ask for at its first, second and third try, in GiB.

    Examples
    --------
    >>> sizes = Sizes({"train": (2.0, 3.0, 16.0)}, names={"my_train": "train"})
    >>> sizes.ladder("my_train"), sizes.ladder("other")
    ((2.0, 3.0, 16.0), ())
    """

    ladders: Mapping[str, Sequence[float]]
    #: task of the DAG -> task of the history, where they are called differently
    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path | str, names: Mapping[str, str] | None = None) -> Sizes:
        """Return the sizes that ``prophase size WS --format json`` has written."""
        return cls(read_recommended_ladders(path), names or {})

    def ladder(self, task_id: str) -> tuple[float, ...]:
        """Return the requests of a task; none if its own request stays."""
        return tuple(self.ladders.get(self.names.get(task_id, task_id), ()))


def sized(operator: type, sizes: Sizes, *, limits: bool = True) -> type:
    """Return a subclass of an operator that asks for the recommended memory, for more after an OOM.

    Parameters
    ----------
    operator : type
        ``KubernetesPodOperator`` or ``BashOperator``, or a subclass.
    sizes : Sizes
        What was recommended. A task without a recommendation runs as it is.
    limits : bool, default=True
        Of pods: whether the memory limit follows the request. Otherwise it stays.

    Notes
    -----
    A pod that was killed for memory is started again by the same try of the task, with the next
    rung, so that Airflow's retries are left for other failures. A deferrable pod goes up
    one rung with every retry of Airflow, as its outcome is not known before. A Bash command runs
    under a real memory limit and is started again in the same way.
    """
    name = f"Sized{operator.__name__}"
    if hasattr(operator, "build_pod_request_obj"):
        return type(name, (_SizedPod, operator), {"_sizes": sizes, "_limits": limits})
    fields = getattr(operator, "template_fields", ())
    if "bash_command" in fields:
        return type(name, (_SizedBash, operator), {"_sizes": sizes})
    raise ParameterError(
        f"{operator.__name__} cannot be sized. Pass KubernetesPodOperator, BashOperator or a class "
        "made from one of them."
    )


class _SizedPod:
    """Goes before a KubernetesPodOperator and sets its requests."""

    _sizes: Sizes
    _limits: bool
    task_id: str
    container_resources: Any
    log: Any

    def execute(self, context: JsonObject) -> Any:
        """Run the pod, and after an OOM again with the next rung."""
        rungs = self._sizes.ladder(self.task_id)
        if not rungs:
            return super().execute(context)  # type: ignore[misc]
        place = 0
        if getattr(self, "deferrable", False):
            place = min(int(context["ti"].try_number), len(rungs)) - 1
        before = self.container_resources
        while True:
            self.container_resources = _with_memory(before, rungs[place], limits=self._limits)
            self.log.info("Prophase: asks for %.3g GiB of memory.", rungs[place])
            try:
                return super().execute(context)  # type: ignore[misc]
            except Exception as error:
                if place + 1 >= len(rungs) or not was_oom(getattr(self, "remote_pod", None), error):
                    raise
                place += 1
                self.log.warning("Prophase: killed for memory; next %.3g GiB.", rungs[place])


class _SizedBash:
    """Goes before a BashOperator and runs its command under a memory limit."""

    _sizes: Sizes
    task_id: str
    bash_command: object

    def execute(self, context: JsonObject) -> Any:
        """Run the command, which Airflow has filled in by now, under the recommended limit."""
        rungs = self._sizes.ladder(self.task_id)
        if rungs:
            self.bash_command = under_limit(str(self.bash_command), rungs)
        return super().execute(context)  # type: ignore[misc]


def under_limit(command: str, rungs: Sequence[float], python: str = sys.executable) -> str:
    """Return a command that runs another under memory limits, one after the other after OOMs.

    Examples
    --------
    >>> print(under_limit("echo 'hi'", [0.5, 1.0], python="python3"))
    exec python3 -m prophase.integrations.airflow_sizing 0.5,1 bash -c 'echo '"'"'hi'"'"''
    """
    requests = ",".join(f"{rung:.6g}" for rung in rungs)
    words = [python, "-m", "prophase.integrations.airflow_sizing", requests, "bash", "-c", command]
    return f"exec {shlex.join(words)}"


def was_oom(pod: Any, error: BaseException | None = None) -> bool:
    """Say whether a pod's container was killed for memory, from its state or what was said of it.

    Examples
    --------
    >>> was_oom(None, RuntimeError("'reason': 'OOMKilled'")), was_oom(None, RuntimeError("lost"))
    (True, False)
    """
    status = getattr(pod, "status", None)
    for one in getattr(status, "container_statuses", None) or ():
        for state in (getattr(one, "state", None), getattr(one, "last_state", None)):
            reason = getattr(getattr(state, "terminated", None), "reason", None)
            if REASONS.get(str(reason)) == "host_memory":
                return True
    return error is not None and "OOMKilled" in str(error)


def _with_memory(before: Any, gib: float, *, limits: bool) -> Any:
    """Return resources with this memory and everything else as it was."""
    from kubernetes.client import V1ResourceRequirements

    amount = f"{units.whole_mib(gib)}Mi"
    requests = dict(getattr(before, "requests", None) or {})
    ends = dict(getattr(before, "limits", None) or {})
    requests["memory"] = amount
    if limits:
        ends["memory"] = amount
    return V1ResourceRequirements(
        requests=requests, limits=ends or None, claims=getattr(before, "claims", None)
    )


def _main(words: Sequence[str]) -> int:
    """Run a command under limits; what is said goes to stderr, and nothing after a success."""
    from prophase.runs.retried_command import Try, retry

    rungs = [float(part) for part in words[0].split(",")]

    def report(one: Try) -> None:
        if one.ending.oom:
            more = units.memory(one.next_gib)
            after = f"next {more}" if one.next_gib else "no more is recommended"
            held = units.memory(one.memory_gib)
            print(f"Prophase: out of {held} of memory; {after}.", file=sys.stderr)

    tries = retry(
        list(words[1:]),
        memory_gib=rungs[0],
        lift=ladder(recommended=rungs, bins=[], most=max(rungs)),
        attempts=len(rungs),
        report=report,
    )
    return int(tries[-1].ending.exit_code)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
