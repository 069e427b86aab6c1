"""What all tests share: where the real traces are, and that nothing is skipped in CI."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings
from tools.kubernetes_referee import KubernetesReferee, KubernetesSite
from tools.slurm_referee import SlurmReferee, SlurmSite, why_not

from tools import kubernetes_referee

# the same examples in every run; PROPHASE_EXPLORE=1 looks for new ones
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("explore" if os.environ.get("PROPHASE_EXPLORE") == "1" else "steady")

# what asserts become is kept beside the tests, also where Python is told to keep no bytecode: each
# of the workers took 14 seconds to make it anew
sys.dont_write_bytecode = False

ROOT = Path(__file__).parent.parent
#: in CI a test that cannot run is a failure, not a gap
REQUIRE_ALL = os.environ.get("PROPHASE_REQUIRE_ALL") == "1"


@pytest.fixture(scope="session", autouse=True)
def one_process() -> Iterator[None]:
    """Test the compiled kernels, and start no further processes where nobody asks for them.

    Small replays would run as plain Python otherwise. The workers of the tests hold all cores, so
    a process more only loads again what the one that asks has loaded.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("prophase.sim.compilation.FEW", -1)
        patch.setattr("prophase.workers._ALONE_S", 600.0)
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the real traces; tests that need it are skipped elsewhere."""
    folder = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real traces at {folder}; set PROPHASE_DATA")
    return folder


@pytest.fixture(scope="session")
def slurm_of() -> Iterator[Callable[[SlurmSite], SlurmReferee]]:
    """Start a real Slurm with a given configuration; equal ones are started once and shared."""
    reason = why_not()
    if reason is not None:
        pytest.skip(f"no real Slurm: {reason}")
    held: dict[str, SlurmReferee] = {}
    with ExitStack() as running:

        def start(site: SlurmSite) -> SlurmReferee:
            key = repr(site)
            if key not in held:
                held[key] = running.enter_context(SlurmReferee(site))
            return held[key]

        yield start


@pytest.fixture(scope="session")
def real_slurm(slurm_of: Callable[[SlurmSite], SlurmReferee]) -> SlurmReferee:
    """A real Slurm: four nodes with eight cores, 32 GB and four GPUs; ann of nlp, bob of bio."""
    return slurm_of(SlurmSite(rest=True))


@pytest.fixture(scope="session")
def kube_of() -> Iterator[Callable[[KubernetesSite], KubernetesReferee]]:
    """Start a real Kubernetes control plane; equal ones are started once and shared."""
    reason = kubernetes_referee.why_not()
    if reason is not None:
        pytest.skip(f"no real Kubernetes: {reason}")
    held: dict[str, KubernetesReferee] = {}
    with ExitStack() as running:

        def start(site: KubernetesSite) -> KubernetesReferee:
            key = repr(site)
            if key not in held:
                held[key] = running.enter_context(KubernetesReferee(site))
            return held[key]

        yield start


@pytest.fixture(scope="module")
def real_kube(
    kube_of: Callable[[KubernetesSite], KubernetesReferee],
) -> Iterator[KubernetesReferee]:
    """A real control plane: four nodes with 32 cores, 128 GiB and eight GPUs; users ann and bob.

    Namespaces go with the module that made them, so that no pod holds what the next one needs.
    """
    kube = kube_of(KubernetesSite())
    yield kube
    kube.delete_namespaces()


#: tests that share what is dear to start run in one process
_TOGETHER = {
    "tests/integrations/slurm/": "slurm",
    "tests/tools/test_slurm_referee.py": "slurm",
    "tests/contracts/test_every_collector.py": "slurm",
    "tests/cli/queue/test_queue.py": "slurm",
    "tests/cli/test_validate.py": "slurm",
    "tests/integrations/kubernetes/": "kubernetes",
    "tests/deploy/test_helm_install.py": "kubernetes",
    "tests/serve/submit/test_real_api_server.py": "kubernetes",
    "tests/sim/test_kube_scheduler.py": "kubernetes",
    "tests/tools/test_kubernetes_referee.py": "kubernetes",
    "tests/integrations/prometheus/": "prometheus",
    "tests/serve/pages/": "pages",
}
#: folders and files whose tests take long come first, or the last worker ends alone. Those of a
#: group may mostly wait for a referee: one group at the beginning and the others in the middle
#: leave their processor to the two workers that compute meanwhile
_LONG = (
    *(name for name, to in _TOGETHER.items() if to == "slurm"),
    "tests/serve/pages/", "tests/docs/", "tests/journeys/", "tests/contracts/",
    "tests/test_golden_house.py", "tests/faults/", "tests/papers/",
    *(name for name, to in _TOGETHER.items() if to != "slurm"),
    "tests/integrations/", "tests/serve/", "tests/cli/", "tests/trace/",
)  # fmt: skip


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector off the million objects that modules and the list of tests are.

    They live to the end; looking through them took a quarter of the time of collecting, and came
    again in the middle of tests.
    """
    gc.disable()
    yield
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let what takes long come first."""
    items.sort(
        key=lambda item: next(
            (place for place, name in enumerate(_LONG) if item.nodeid.startswith(name)), len(_LONG)
        )
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Give each worker whole files, or all that share something."""
    from xdist.scheduler import LoadFileScheduling

    class Shared(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return next((to for name, to in _TOGETHER.items() if file.startswith(name)), file)

    return Shared(config, log)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: object) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although PROPHASE_REQUIRE_ALL=1: {report.longrepr}"


@pytest.fixture
def pai_dump(tmp_path: Path) -> Path:
    """A small dump of the seven raw PAI tables: two jobs, three tasks, five workers."""
    folder = tmp_path / "pai"
    folder.mkdir()
    tables = {
        "pai_job_table": [
            "j1,id1,u1,Terminated,100,900",
            "j2,id2,u2,Failed,500,700",
        ],
        "pai_task_table": [
            "j1,worker,2,Terminated,110,900,600.0,29.296875,50.0,T4",
            "j1,ps,1,Terminated,110,900,100.0,10.0,,",
            "j2,worker,2,Failed,510,700,1200.0,59.0,100.0,V100",
        ],
        "pai_instance_table": [
            "j1,worker,i1,w1,id1,Terminated,120,890,m1",
            "j1,worker,i2,w2,id1,Terminated,121,900,m2",
            "j1,ps,i3,w3,id1,Terminated,119,900,m1",
            "j2,worker,i4,w4,id2,Failed,520,700,m3",
            "j2,worker,i5,w5,id2,Running,520,,m3",
        ],
        "pai_sensor_table": [
            "j1,worker,w1,id1,m1,/dev/nvidia0,104.5,57.2,1.7,1.9,1.1,1.25,3658824.8,813217.9,972.5,252.9",
            "j1,worker,w2,id1,m2,/dev/nvidia1,60.0,14.7,0.5,1.8,0.4,1.27,15756703.3,4941606.2,4002.7,825.5",
            "j2,worker,w4,id2,m3,,55.5,,2.5,2.75,,,10.0,20.0,1.0,2.0",
        ],
        "pai_group_tag_table": ["id1,u1,,g1,bert", "id2,u2,V100,g2,"],
        "pai_machine_spec": ["m1,T4,96,512,2", "m2,T4,96,512,2", "m3,V100,96,512,8"],
        "pai_machine_metric": ["w1,m1,120,890,0.1,2.0,30.0,25.0,4.5,1000.0,3,32.1"],
    }
    for name, rows in tables.items():
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder
