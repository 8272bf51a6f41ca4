# SPDX-License-Identifier: Apache-2.0
"""The pipeline of `test_buckets.py` in a bucket of Google's, as an emulator on loopback has it.

gcsfs asks Google by gRPC what kind a bucket is, which the emulator does not answer: that is off.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.envs

PROGRAM = Path(__file__).with_name("bucket_pipeline.py")
SERVER = """
import socket, sys
from gcp_storage_emulator.server import create_server
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
create_server("127.0.0.1", port, in_memory=True, default_bucket="team").start()
print(port, flush=True)
sys.stdin.read()
"""
FILL = """
from tfx.dsl.io import fileio
with fileio.open("gs://team/data/a.csv", "w") as file:
    file.write("x,y\\n" + "".join(f"{n},w{n % 3}\\n" for n in range(200)))
with fileio.open("gs://team/schema/schema.pbtxt", "w") as file:
    file.write('feature { name: "x" type: INT }\\nfeature { name: "y" type: BYTES }\\n')
"""


@pytest.fixture
def environ(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        port = int(process.stdout.readline())
        yield {
            **os.environ,
            "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}",
            "FSSPEC_GS_TOKEN": "anon",
            "FSSPEC_GCS_TOKEN": "anon",
            "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
            "STOKER_CACHE_DIR": str(tmp_path / "cache"),
        }
        process.kill()


def test_a_pipeline_runs_in_a_bucket_of_google_and_its_second_run_is_cached(environ, tmp_path):
    def run(*words):
        done = subprocess.run(
            [sys.executable, *words], env=environ, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stderr

    run("-c", FILL)
    first = run(str(PROGRAM), "gs://team", str(tmp_path / "m.db"))
    assert "Pusher.pushed_model: gs://team/root/Pusher/pushed_model/" in first
    again = run(str(PROGRAM), "gs://team", str(tmp_path / "m.db"))
    assert again.count(" cached in ") == 6
