"""Exported sizes in a real Airflow: DAGs accept them, and pods rise with the try number."""

from __future__ import annotations

import sys
from pathlib import Path

from prophase.sizing.exports import write_for
from prophase.sizing.exports.kind_requests import KindRequests

sys.path.append(str(Path(__file__).parents[1]))
from airflow_server import KUBECONFIG, new_airflow_home

ASKED = [
    KindRequests(
        "align",
        {"memory_gib": (0.5, 1.0, 4.0), "cpu_cores": (1.0, 2.0), "time_limit_s": (60.0, 120.0)},
    ),
    KindRequests("train", {"memory_gib": (2.0,), "gpus": (1.0,)}),
]
DAG = """
from airflow.sdk import DAG
from airflow.providers.standard.operators.bash import BashOperator
from airflow.serialization.serialized_objects import DagSerialization

import sizes

with DAG("small", schedule=None) as dag:
    for name in ("align", "train"):
        BashOperator(task_id=name, bash_command="true", **sizes.task_arguments(name))

if __name__ == "__main__":
    back = DagSerialization.from_dict(DagSerialization.to_dict(dag)).get_task("align")
    pod = back.executor_config["pod_override"]
    print("DAG", back.retries, back.execution_timeout, pod.spec.containers[0].resources.requests)
    print("STATE", dag.test().state)
"""
PODS = """
import datetime
from airflow import settings
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.providers.cncf.kubernetes.pod_generator import PodGenerator
from kubernetes.client import ApiClient, models as k8s
import sizes

base = k8s.V1Pod(
    metadata=k8s.V1ObjectMeta(name="base"),
    spec=k8s.V1PodSpec(containers=[k8s.V1Container(name="base", image="a:1")]),
)
for try_number in (1, 2, 3, 4):
    pod = PodGenerator.construct_pod(
        dag_id="small", task_id="align", pod_id="p", try_number=try_number, kube_image="a:1",
        date=None, args=["true"], pod_override_object=sizes.pod_override("align"),
        base_worker_pod=base, namespace="n", scheduler_job_id="1", run_id="r",
    )
    settings.pod_mutation_hook(pod)
    held = pod.spec.containers[0].resources
    print("POD", try_number, sorted(held.requests.items()), sorted(held.limits.items()))

operator = KubernetesPodOperator(
    task_id="train", name="train", image="a:1", container_resources=sizes.resources("train"),
    config_file="KUBECONFIG", in_cluster=False,
)
made = operator.build_pod_request_obj(None)
print("OPERATOR", sorted(made.spec.containers[0].resources.limits.items()))
"""


def test_airflow_parses_runs_and_raises_what_was_exported(tmp_path: Path) -> None:
    home = new_airflow_home(tmp_path / "airflow")
    module = write_for("airflow", ASKED).text
    (home.dags / "sizes.py").write_text(module, encoding="utf-8")
    (home.dags / "small.py").write_text(DAG, encoding="utf-8")
    config = home.folder / "config"
    config.mkdir(exist_ok=True)
    (config / "sizes.py").write_text(module, encoding="utf-8")
    (config / "airflow_local_settings.py").write_text("from sizes import pod_mutation_hook\n")
    drive = home.dags / "pods.py"
    (home.folder / "kubeconfig").write_text(KUBECONFIG)
    drive.write_text(PODS.replace("KUBECONFIG", str(home.folder / "kubeconfig")))
    done = home.python(str(home.dags / "small.py"))
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert "DAG 2 0:02:00 {'cpu': '1', 'memory': '512Mi'}" in done.stdout.replace(
        "{'memory': '512Mi', 'cpu': '1'}", "{'cpu': '1', 'memory': '512Mi'}"
    )
    assert "STATE success" in done.stdout
    done = home.python(str(drive))
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    told = [line for line in done.stdout.splitlines() if line.startswith(("POD", "OPERATOR"))]
    rungs = [("1", "512Mi"), ("2", "1024Mi"), ("2", "4096Mi"), ("2", "4096Mi")]
    assert told == [
        *(
            f"POD {number} [('cpu', '{cpu}'), ('memory', '{memory}')] "
            f"[('cpu', '2'), ('memory', '{memory}')]"
            for number, (cpu, memory) in enumerate(rungs, 1)
        ),
        "OPERATOR [('memory', '2048Mi'), ('nvidia.com/gpu', '1')]",
    ]
