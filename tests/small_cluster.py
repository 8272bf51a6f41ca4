# SPDX-License-Identifier: Apache-2.0
"""A cluster of one machine: the few paths of Kubernetes' API, whose pods are processes here."""

import contextlib
import json
import os
import signal
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from stoker.launchers import pods

HERE = "127.0.0.1"
"""The address of every pod, and of the API."""
TOKEN = "a-token-of-the-cluster"
PODS = "/api/v1/namespaces/pipelines/pods"


@dataclass
class SmallCluster:
    """What it was asked for, and the processes of its pods."""

    account_dir: Path
    own: dict[str, Any]
    made: list[dict[str, Any]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    processes: dict[str, subprocess.Popen] = field(default_factory=dict)
    waiting: dict[str, str] | None = None
    """Why its pods do not start, if so."""
    port: int = 0

    def enter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let this process be in the step's pod."""
        monkeypatch.setattr(pods, "ACCOUNT_DIR", str(self.account_dir))
        monkeypatch.setattr(pods, "_LOOK_SECONDS", 0.02)
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", HERE)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(self.port))
        monkeypatch.setenv("HOSTNAME", self.own["metadata"]["name"])

    def make(self, manifest: dict[str, Any]) -> dict[str, Any]:
        (container,) = manifest["spec"]["containers"]
        self.made.append(manifest)
        if self.waiting is None:
            words = [*container.get("command", ()), *container.get("args", ())]
            variables = {one["name"]: one.get("value", HERE) for one in container.get("env", ())}
            self.processes[manifest["metadata"]["name"]] = subprocess.Popen(
                words,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, **variables},
                cwd=container.get("workingDir"),
                start_new_session=True,
            )
        return manifest

    def describe(self, name: str) -> dict[str, Any]:
        if name == self.own["metadata"]["name"]:
            return self.own
        if self.waiting:
            state = {"waiting": self.waiting}
            return {"status": {"phase": "Pending", "containerStatuses": [{"state": state}]}}
        code = self.processes[name].poll()
        if code is None:
            return {"status": {"phase": "Running"}}
        state = {"terminated": {"exitCode": code}}
        phase = "Failed" if code else "Succeeded"
        return {"status": {"phase": phase, "containerStatuses": [{"state": state}]}}

    def remove(self, name: str) -> dict[str, Any]:
        self.removed.append(name)
        if process := self.processes.get(name):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        return {"status": "Success"}


@contextlib.contextmanager
def serve_cluster(folder: Path, shared: Path) -> Iterator[SmallCluster]:
    """A cluster that listens on this machine, with one pod that has `shared` mounted."""
    account = folder / "account"
    account.mkdir()
    key, certificate = folder / "key.pem", account / "ca.crt"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=kubernetes", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", key, "-out", certificate),
        ],
        check=True,
        capture_output=True,
    )
    (account / "token").write_text(TOKEN + "\n")
    (account / "namespace").write_text("pipelines")
    cluster = SmallCluster(account, make_own_pod(shared))
    server = ThreadingHTTPServer((HERE, 0), _make_handler(cluster))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    cluster.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield cluster
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def make_own_pod(shared: Path) -> dict[str, Any]:
    """A step's pod, as Kubeflow makes it."""
    return {
        "metadata": {"name": "penguin-system-container-impl-12", "uid": "8a1b"},
        "spec": {
            "serviceAccountName": "pipeline-runner",
            "nodeSelector": {"pool": "big"},
            "schedulerName": "default-scheduler",
            "volumes": [
                {"name": "root", "persistentVolumeClaim": {"claimName": "root"}},
                {"name": "kube-api-access-x", "projected": {"sources": []}},
                {"name": "scratch", "emptyDir": {}},
            ],
            "containers": [
                {"name": "wait", "image": "argoexec"},
                {
                    "name": "main",
                    "image": "ours",
                    "command": ["stoker"],
                    "env": [{"name": "PASSWORD", "value": "only ours"}],
                    "resources": {"limits": {"cpu": "2"}},
                    "volumeMounts": [
                        {"name": "root", "mountPath": str(shared)},
                        {"name": "scratch", "mountPath": "/scratch"},
                    ],
                },
            ],
        },
    }


def _make_handler(cluster: SmallCluster) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

        def _answer(self, record: dict[str, Any], status: int = 200) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(record).encode())

        def _is_allowed(self) -> bool:
            if self.headers["Authorization"] == f"Bearer {TOKEN}" and self.path.startswith(PODS):
                return True
            self._answer({"message": "pods is forbidden"}, 403)
            return False

        def do_GET(self) -> None:
            name, _, rest = self.path.removeprefix(f"{PODS}/").partition("/")
            if not self._is_allowed():
                return
            if rest.startswith("log"):
                self.send_response(200)
                self.end_headers()
                for line in cluster.processes[name].stdout:
                    self.wfile.write(line)
                cluster.processes[name].wait()
            else:
                self._answer(cluster.describe(name))

        def do_POST(self) -> None:
            manifest = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self._is_allowed():
                self._answer(cluster.make(manifest), 201)

        def do_DELETE(self) -> None:
            if self._is_allowed():
                self._answer(cluster.remove(self.path.removeprefix(f"{PODS}/")))

    return Handler
