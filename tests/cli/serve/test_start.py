from __future__ import annotations

import socket
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest
from tests.cli.conftest import Run
from tests.serve.conftest import Run as Serve
from tests.serve.conftest import run as run

from prophase.trace.workspace import Workspace


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    return Workspace.create(tmp_path / "ws").folder


def test_an_open_service_is_open_to_its_own_machine_alone(prophase_here: Run, ws: Path) -> None:
    said = prophase_here("serve", ws, "--host", "0.0.0.0", "--open")
    assert said.returncode == 2
    assert "0.0.0.0 is reached from elsewhere" in said.stderr
    assert "make tokens" in said.stderr


def test_open_is_refused_where_there_are_tokens(prophase_here: Run, ws: Path) -> None:
    prophase_here("serve", "token", "add", "ann", "-w", ws)
    said = prophase_here("serve", ws, "--open")
    assert said.returncode == 2
    assert "has 1 token(s), and --open would pass over them" in said.stderr


def test_without_tokens_nobody_may_ask_and_the_service_says_how_to_begin(
    prophase_here: Run, ws: Path, run: Serve
) -> None:
    service = run(ws)
    assert httpx.get(f"{service.address}v1/workspace").status_code == 401
    assert httpx.get(f"{service.address}healthz").status_code == 200
    made = prophase_here("serve", "token", "add", "ann", "-w", ws)
    token = {"authorization": f"Bearer {made.stdout.strip()}"}
    assert httpx.get(f"{service.address}v1/workspace", headers=token).status_code == 200
    assert service.process.stderr is not None
    service.process.terminate()
    assert "Nobody may ask yet" in service.process.stderr.read()


@pytest.mark.parametrize("how", ["revoke", "delete"])
def test_a_service_that_was_closed_never_opens_again(
    prophase_here: Run, ws: Path, run: Serve, how: str
) -> None:
    service = run(ws, "--open")
    asked = f"{service.address}v1/workspace"
    assert httpx.get(asked).status_code == 200
    prophase_here("serve", "token", "add", "ann", "-w", ws)
    assert httpx.get(asked).status_code == 401
    if how == "revoke":
        prophase_here("serve", "token", "revoke", "ann", "-w", ws)
    else:
        for path in (ws / "service").glob("feedback.sqlite*"):
            path.unlink()
    assert httpx.get(asked).status_code == 401
    assert httpx.get(asked, headers={"authorization": "Bearer x"}).status_code == 401


def test_a_port_in_use_is_told(prophase_here: Run, ws: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = prophase_here("serve", ws, "--port", port)
    assert said.returncode == 2
    assert "Choose another with --port" in said.stderr


def test_a_folder_that_is_no_workspace_is_told(prophase_here: Run, tmp_path: Path) -> None:
    said = prophase_here("serve", tmp_path / "nothing")
    assert said.returncode == 1
    assert "is not a Prophase workspace" in said.stderr


def test_tls_needs_both_files(prophase_here: Run, ws: Path) -> None:
    assert "both --tls-cert and" in prophase_here("serve", ws, "--tls-cert", "x.pem").stderr
    said = prophase_here("serve", ws, "--tls-cert", "x.pem", "--tls-key", "x.key")
    assert "x.pem: there is no such file" in said.stderr


def test_the_service_answers_at_the_address_it_prints_with_tls(
    ws: Path, tmp_path: Path, run: Serve
) -> None:
    made = subprocess.run(
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -days 2 "
        "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1".split(),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("no openssl to make a certificate with")
    service = run(ws, "--tls-cert", tmp_path / "c.pem", "--tls-key", tmp_path / "k.pem")
    assert service.address.startswith("https://127.0.0.1:")
    trusted = ssl.create_default_context(cafile=str(tmp_path / "c.pem"))
    said = httpx.get(f"{service.address}healthz", verify=trusted)
    assert said.json()["status"] == "ok"
    assert said.headers["strict-transport-security"]
    assert "server" not in said.headers
