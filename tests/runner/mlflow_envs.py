# SPDX-License-Identifier: Apache-2.0
"""MLflow's client on top of this environment, and its server in one of its own.

Both are made on first use, under `.envs/`: `stoker[mlflow]` is the client, without which Stoker is
tested everywhere else; a server is what somebody else has.
"""

import contextlib
import os
import re
import shutil
import site
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
CLIENT = REPOSITORY / ".envs" / "mlflow-client"
SERVER = REPOSITORY / ".envs" / "mlflow"
"""The same as that of tests/patches/test_mlflow.py."""
PACKAGES = {
    *("annotated-doc", "cachetools", "cloudpickle", "databricks-sdk", "fastapi", "gitdb"),
    *("gitpython", "importlib-metadata", "mlflow-skinny", "opentelemetry-api"),
    *("opentelemetry-proto", "opentelemetry-sdk", "opentelemetry-semantic-conventions", "pandas"),
    *("python-dotenv", "pytz", "smmap", "sqlparse", "starlette", "tzdata", "uvicorn"),
}


def client_python() -> str:
    """The interpreter that can import both Stoker and MLflow's client."""
    inside = str(CLIENT / "bin" / "python")
    if not (CLIENT / "ready").exists():
        _run(sys.executable, "-m", "venv", "--clear", "--without-pip", str(CLIENT))
        own = next((CLIENT / "lib").glob("python*/site-packages"))
        below = [f"import site; site.addsitedir({path!r})" for path in site.getsitepackages()]
        (own / "below.pth").write_text("\n".join([*below, ""]))
        lines = (REPOSITORY / "constraints.txt").read_text().splitlines()
        pinned = [line for line in lines if re.split("==", line)[0] in PACKAGES]
        _install(inside, "--no-deps", *pinned)
        (CLIENT / "ready").touch()
    return inside


def server_python() -> str:
    """The interpreter of an MLflow that has all, and knows nothing of Stoker."""
    inside = str(SERVER / "bin" / "python")
    if not (SERVER / "ready").exists():
        _run(sys.executable, "-m", "venv", "--clear", "--without-pip", str(SERVER))
        _install(inside, "mlflow==3.17.*")
        (SERVER / "ready").touch()
    return inside


def _install(python: str, *what: str) -> None:
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    assert uv, "uv is not here to make the environment with"
    _run(uv, "pip", "install", "--quiet", "--python", python, *what)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


@contextlib.contextmanager
def serve(folder: Path):
    """An MLflow server on loopback: its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [server_python(), "-m", "mlflow", "server", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db"]
    command += ["--artifacts-destination", str(folder / "artifacts")]
    quiet = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env=quiet, start_new_session=True
        )
        try:
            _wait_for(address, server)
            yield address
        finally:
            os.killpg(server.pid, 15)
            server.wait()


def _wait_for(address: str, server: subprocess.Popen) -> None:
    while server.poll() is None:
        with contextlib.suppress(urllib.error.URLError, OSError):
            urllib.request.urlopen(f"{address}/health", timeout=5).close()
            return
        time.sleep(0.3)
    raise AssertionError("The MLflow server did not start; see server.log.")
