# SPDX-License-Identifier: Apache-2.0
"""The examples with everything in a bucket give what they give in a folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stoker.metadata.config import sqlite_metadata_connection_config
from stoker.metadata.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "storage"))

from bucket_server import Proxy, serve, variables_for

pytestmark = pytest.mark.envs

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "bucket_examples.py"
SAME = ("examples", "statistics", "schema", "anomalies", "transformed_examples")
"""The outputs that are the same, byte for byte, whenever the same data is read."""
MOST_REQUESTS = {"penguin": 15, "taxi_blessed": 35}
"""Of a run in which all is cached: one listing for each artifact, and few besides."""


def run(variables, *words):
    command = [sys.executable, str(PROGRAM), *map(str, words)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr + done.stdout


def read_results(path):
    """The digests of what is the same, the metrics of what is measured, and the blessings."""
    with Store(sqlite_metadata_connection_config(path)) as store:
        (newest,) = store.runs(newest=1)
        found = {}
        for execution in store.executions(run_id=newest.run_id):
            for key, many in store.outputs(execution.id).items():
                for one in many:
                    known = one.custom_properties
                    if key in SAME:
                        found[execution.node_id, key] = known["content_digest"]
                    elif "blessed" in known or "pushed" in known:
                        found[execution.node_id, key] = known.get("blessed", known.get("pushed"))
        return found


@pytest.mark.parametrize(("example", "num_runs"), [("penguin", 2), ("taxi_blessed", 3)])
def test_an_example_in_a_bucket_is_as_in_a_folder(tmp_path, example, num_runs):
    import s3fs

    here = tmp_path / "here"
    run(os.environ, "fill", here)
    run(os.environ, example, here, tmp_path / "here.db")
    with serve() as server, Proxy(server.port) as proxy:
        variables = variables_for(proxy, str(tmp_path / "cache"))
        options = {"key": "testing", "secret": "testing", "skip_instance_cache": True}
        endpoint = variables["AWS_ENDPOINT_URL"]
        s3fs.S3FileSystem(endpoint_url=endpoint, **options).mkdir("examples")
        run(variables, "fill", "s3://examples")
        run(variables, example, "s3://examples", tmp_path / "there.db")
        assert read_results(tmp_path / "there.db") == read_results(tmp_path / "here.db")
        for _ in range(num_runs - 1):  # an Evaluator that finds its first baseline runs again
            proxy.reset()
            last = run(variables, example, "s3://examples", tmp_path / "there.db")
    assert [
        line for line in last.splitlines() if " done in " in line and "resolver" not in line
    ] == []
    print(f"{example}, all cached: {last.splitlines()[-1]}; {dict(proxy.requests)}")
    assert {*proxy.requests} == {"LIST"}
    assert proxy.requests["LIST"] <= MOST_REQUESTS[example]
    cpu_seconds = float(last.splitlines()[-1].split()[4])
    assert cpu_seconds < 3
