"""Sized operators in a real Airflow: commands are really killed, pods are of its own class."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from prophase.errors import MissingFileError, ParameterError
from prophase.integrations.airflow_sizing import Sizes, sized, under_limit, was_oom

sys.path.append(str(Path(__file__).parent))
from airflow_server import KUBECONFIG, VENV, new_airflow_home

ADVICE = {
    "resource": "memory",
    "tasks": [
        {"task": "convert", "advice": 0.1, "2nd": 0.2, "3rd": 2.0, "why": "saves 90%"},
        {"task": "train", "advice": 2.0, "2nd": 3.0, "3rd": 16.0, "why": "saves 80%"},
        {"task": "kept", "advice": 4.0, "2nd": 4.0, "3rd": 4.0, "why": "keep: too few runs"},
    ],
}
DAG = """
from airflow.sdk import DAG
from airflow.providers.standard.operators.bash import BashOperator
from prophase.integrations.airflow_sizing import Sizes, sized

sizes = Sizes.read({sizes!r}, names={{"my_convert": "convert"}})
Bash = sized(BashOperator, sizes)
NEEDS = "{python} -c 'x = bytearray(400 * 2**20); print(len(x), \\"{{{{ params.word }}}}\\")'"

with DAG("small", schedule=None) as dag:
    words = {{"word": "two words"}}
    first = Bash(task_id="my_convert", bash_command=f"exec {{NEEDS}}", params=words)
    plain = Bash(task_id="other", bash_command="echo $((6 * 7))")
    first >> plain

if __name__ == "__main__":
    run = dag.test()
    print("STATE", run.state)
    for ti in run.get_task_instances():
        print("GAVE", ti.task_id, ti.xcom_pull(task_ids=ti.task_id))
"""
POD = """
import logging
from kubernetes.client import (
    V1ContainerState, V1ContainerStateTerminated, V1ContainerStatus, V1Pod, V1PodStatus,
    V1ResourceRequirements,
)
from airflow.exceptions import AirflowException
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from prophase.integrations.airflow_sizing import Sizes, sized

sizes = Sizes.read({sizes!r})
asked = []


def killed(reason):
    ended = V1ContainerStateTerminated(exit_code=137, reason=reason)
    status = V1ContainerStatus(
        name="base", image="x", image_id="x", ready=False, restart_count=0,
        state=V1ContainerState(terminated=ended),
    )
    return V1Pod(status=V1PodStatus(phase="Failed", container_statuses=[status]))


class Cluster(KubernetesPodOperator):
    # the operator's own class, with a cluster that kills whatever has less than 3 GiB
    reason = "OOMKilled"

    def execute(self, context):
        made = self.build_pod_request_obj(None)
        memory = made.spec.containers[0].resources.requests["memory"]
        asked.append((memory, made.spec.containers[0].resources.limits["memory"]))
        assert made.spec.containers[0].resources.requests["cpu"] == "2"
        if int(memory.removesuffix("Mi")) < 3 * 1024:
            self.remote_pod = killed(self.reason)
            raise AirflowException("Pod returned a failure.")
        return "done"


class Broken(Cluster):
    reason = "Error"


def make(operator, **more):
    ends = {{"memory": "16Gi"}}
    before = V1ResourceRequirements(requests={{"cpu": "2", **ends}}, limits=ends)
    return operator(
        task_id="train", name="train", image="x", container_resources=before,
        config_file={config!r}, in_cluster=False, **more,
    )


class Ti:
    try_number = 2


print("GAVE", make(sized(Cluster, sizes)).execute({{"ti": Ti}}), asked)
asked.clear()
print("GAVE", make(sized(Cluster, sizes, limits=False)).execute({{"ti": Ti}}), asked)
asked.clear()
print("GAVE", make(sized(Cluster, sizes), deferrable=True).execute({{"ti": Ti}}), asked)
asked.clear()
try:
    make(sized(Broken, sizes)).execute({{"ti": Ti}})
except AirflowException as error:
    print("GAVE", error, asked)
"""


@pytest.fixture
def sizes(tmp_path: Path) -> Path:
    (tmp_path / "sizes.json").write_text(json.dumps(ADVICE), encoding="utf-8")
    return tmp_path / "sizes.json"


def test_a_bash_task_is_killed_at_its_limit_and_run_again_with_more(
    sizes: Path, tmp_path: Path
) -> None:
    home = new_airflow_home(tmp_path / "airflow")
    dag = home.dags / "small.py"
    dag.write_text(DAG.format(sizes=str(sizes), python=VENV / "bin" / "python"), encoding="utf-8")
    done = home.python(str(dag))
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-3000:]
    told = [line for line in done.stdout.splitlines() if line.startswith(("STATE", "GAVE"))]
    assert told[0] == "STATE success", output[-3000:]
    assert set(told[1:]) == {"GAVE my_convert 419430400 two words", "GAVE other 42"}
    assert "out of 102 MiB of memory; next 205 MiB" in output
    assert "out of 205 MiB of memory; next 2 GiB" in output


def test_a_pod_that_is_killed_for_memory_is_started_again_with_the_next_rung(
    sizes: Path, tmp_path: Path
) -> None:
    home = new_airflow_home(tmp_path / "airflow")
    drive = tmp_path / "drive.py"
    config = tmp_path / "kubeconfig"
    config.write_text(KUBECONFIG, encoding="utf-8")
    drive.write_text(POD.format(sizes=str(sizes), config=str(config)), encoding="utf-8")
    done = home.python(str(drive))
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert [line for line in done.stdout.splitlines() if line.startswith("GAVE")] == [
        "GAVE done [('2048Mi', '2048Mi'), ('3072Mi', '3072Mi')]",
        "GAVE done [('2048Mi', '16Gi'), ('3072Mi', '16Gi')]",
        # a deferred pod goes up one rung with every retry of Airflow
        "GAVE done [('3072Mi', '3072Mi')]",
        # what failed for another reason is not started again
        "GAVE Pod returned a failure. [('2048Mi', '2048Mi')]",
    ]


def test_sizes_are_read_by_task_and_by_other_names(sizes: Path) -> None:
    found = Sizes.read(sizes, names={"fit": "train"})
    assert found.ladder("fit") == found.ladder("train") == (2.0, 3.0, 16.0)
    assert found.ladder("kept") == found.ladder("new") == ()
    with pytest.raises(MissingFileError):
        Sizes.read(sizes.parent / "absent.json")


def test_an_operator_without_memory_cannot_be_sized() -> None:
    class EmptyOperator:
        template_fields = ()

    with pytest.raises(ParameterError, match="EmptyOperator cannot be sized"):
        sized(EmptyOperator, Sizes({}))


def test_operators_are_recognised_without_airflow() -> None:
    class BashOperator:
        template_fields = ("bash_command",)
        ran: str

        def __init__(self, task_id: str, bash_command: str) -> None:
            self.task_id, self.bash_command = task_id, bash_command

        def execute(self, context: Any) -> str:
            return self.bash_command

    made = sized(BashOperator, Sizes({"a": (1.0, 2.0)}))
    assert made.__name__ == "SizedBashOperator"
    assert made("b", "true").execute({}) == "true"
    assert made("a", "true").execute({}).endswith("airflow_sizing 1,2 bash -c true")


def test_exit_codes_of_other_failures_and_output_pass_through() -> None:
    said = subprocess.run(
        ["bash", "-c", under_limit("echo 'a  b'; exit 7", [1.0])],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (said.returncode, said.stdout) == (7, "a  b\n")


def test_an_oom_is_read_from_the_state_of_the_container() -> None:
    ended = SimpleNamespace(terminated=SimpleNamespace(reason="OOMKilled"))
    for state, last in ((ended, None), (None, ended)):
        one = SimpleNamespace(state=state, last_state=last)
        pod = SimpleNamespace(status=SimpleNamespace(container_statuses=[one]))
        assert was_oom(pod)
    assert not was_oom(SimpleNamespace(status=None))
