# SPDX-License-Identifier: Apache-2.0
"""A page that is really served, in a process of its own, asked by real requests."""

import re
import signal
import subprocess
import sys

import httpx
import note_pipeline
import pytest

pytest.importorskip("starlette", reason="stoker[ui] is not installed")


class Served:
    """`stoker ui`, as a user starts it."""

    def __init__(self, folder, *options):
        command = [sys.executable, "-m", "stoker", "ui", "--no-open", "--port", "0", *options]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.clients = []
        self.told = self.process.stdout.readline()
        self.link = re.search(r"http://\S+", self.told)[0]
        self.address, _, self.token = self.link.partition("/?token=")
        self.host = self.address.removeprefix("http://")

    def enter(self):
        """A client that has followed the link."""
        client = httpx.Client(base_url=self.address, trust_env=False, timeout=30)
        self.clients.append(client)
        assert client.get("/", params={"token": self.token}).status_code == 200
        return client

    def end(self, how=signal.SIGINT):
        for client in self.clients:
            client.close()
        self.process.send_signal(how)
        self.process.communicate(timeout=20)
        return self.process.returncode


@pytest.fixture(scope="module")
def serve():
    started = []

    def start(folder, *options):
        started.append(Served(folder, *options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.end()


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    """A folder with a store in which a small pipeline ran twice, and failed once."""
    folder = tmp_path_factory.mktemp("notes")
    for text in ("hello", "hello", "good day"):
        note_pipeline.run_notes(folder / "out", text=text)
    with pytest.raises(Exception, match="disk is full"):
        note_pipeline.fail_notes(folder / "out")
    return folder


@pytest.fixture(scope="module")
def served(serve, notes):
    return serve(notes)


@pytest.fixture(scope="module")
def client(served):
    return served.enter()
