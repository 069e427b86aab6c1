"""A real Prometheus server on loopback, with a cluster's past and a pod that runs now."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.integrations.prometheus.small_cluster import live_metrics, open_metrics

from prophase.errors import InputError
from prophase.integrations.prometheus.client import Prometheus

#: generous, for a machine that does much else
_STARTED_S = 120.0


@dataclass(frozen=True)
class Running:
    """A server that is up, and the time its past was written for."""

    url: str
    now_s: float


class _Exporter(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        # who asked may have hung up; a traceback printed here would be parsed beside other tests
        with suppress(ConnectionError):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(live_metrics(time.time()).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="package")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    programs = [shutil.which(name) for name in ("prometheus", "promtool")]
    if not all(programs):
        pytest.skip("Prometheus is not installed; tools/system-packages does it")
    folder = tmp_path_factory.mktemp("prometheus")
    now_s = time.time()
    past = folder / "past.txt"
    past.write_text(open_metrics(now_s), encoding="utf-8")
    blocks = ["tsdb", "create-blocks-from", "openmetrics", str(past), str(folder / "data")]
    subprocess.run([str(programs[1]), *blocks], check=True, capture_output=True, timeout=300)
    exporter = ThreadingHTTPServer(("127.0.0.1", 0), _Exporter)
    threading.Thread(target=exporter.serve_forever, daemon=True).start()
    port = _free_port()
    config = folder / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: cluster\n"
        "  honor_labels: true\n  static_configs:\n"
        f"  - targets: ['127.0.0.1:{exporter.server_address[1]}']\n",
        encoding="utf-8",
    )
    said = (folder / "server.log").open("w")
    server = subprocess.Popen(
        [str(programs[0]), f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
         f"--web.listen-address=127.0.0.1:{port}"],
        stdout=said, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for_scrapes(url, folder)
        yield Running(url, now_s)
    finally:
        server.terminate()
        server.wait(timeout=60)
        said.close()
        exporter.shutdown()
        exporter.server_close()


def _wait_for_scrapes(url: str, folder: Path) -> None:
    asking = Prometheus(url, tries=1)
    until = time.monotonic() + _STARTED_S
    while time.monotonic() < until:
        try:
            seen = asking.instant('count_over_time(kube_pod_info{pod="live-e"}[1m])', time.time())
            if seen and seen[0][1] >= 3:
                return
        except InputError:
            pass
        time.sleep(0.3)
    raise AssertionError((folder / "server.log").read_text(encoding="utf-8")[-3000:])


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
