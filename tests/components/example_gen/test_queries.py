# SPDX-License-Identifier: Apache-2.0
"""Examples from databases: the real clients ask servers of our own that answer as theirs do."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tfx.examples.custom_components.presto_example_gen.presto_component.component import (
    PrestoExampleGen,
)
from tfx.examples.custom_components.presto_example_gen.proto import presto_config_pb2
from tfx.extensions.google_cloud_big_query.example_gen.component import BigQueryExampleGen

from stoker.components.example_gen.query_executors import BigQueryExecutor, PrestoExecutor
from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import BadData, MissingPart

ROWS = [[number, number / 2, f"n{number}" if number % 3 else None] for number in range(1, 31)]


@contextlib.contextmanager
def serve(answer):
    """A server that answers `(method, path, body)`; gives its port and what it was asked."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked.append((self.command, self.path, body.decode()))
            text = json.dumps(answer(*asked[-1], server.server_port)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = _answer

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port, asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def read(records):
    found = []
    for record in records:
        features = Example.FromString(record).features.feature
        assert set(features) == {"id", "half", "name"}
        name = features["name"].bytes_list.value
        assert bool(name) == (features["name"].WhichOneof("kind") is not None)
        found.append(
            [
                features["id"].int64_list.value[0],
                features["half"].float_list.value[0],
                name[0].decode() if name else None,
            ]
        )
    return sorted(found)


def answer_like_big_query(method, path, body, port):
    job = {"jobReference": {"projectId": "mine", "jobId": "1", "location": "US"}}
    if method == "POST":
        return {
            **job,
            "configuration": json.loads(body)["configuration"],
            "status": {"state": "DONE"},
        }
    kinds = {"id": "INTEGER", "half": "FLOAT", "name": "STRING"}
    fields = [{"name": name, "type": kind, "mode": "NULLABLE"} for name, kind in kinds.items()]
    rows = [{"f": [{"v": one if one is None else str(one)} for one in row]} for row in ROWS]
    return {
        **job,
        "schema": {"fields": fields},
        "totalRows": str(len(rows)),
        "jobComplete": True,
        "rows": rows,
    }


def test_a_query_to_big_query_becomes_examples(run, records, monkeypatch):
    class Executor(BigQueryExecutor):
        def __init__(self):
            super().__init__(
                self.Context(beam_pipeline_args=["--project=mine", "--temp_location=x"])
            )

    with serve(answer_like_big_query) as (port, asked):
        monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", f"http://127.0.0.1:{port}")
        examples = run(BigQueryExampleGen(query="SELECT * FROM trips"), Executor)
    assert read([*records(examples, "train"), *records(examples, "eval")]) == ROWS
    assert "/projects/mine/jobs" in asked[0][1]
    assert json.loads(asked[0][2])["configuration"]["query"]["query"] == "SELECT * FROM trips"


def answer_like_presto(method, path, body, port):
    known = {"id": "1", "infoUri": f"http://127.0.0.1:{port}/query.html"}
    if method == "POST":
        return {**known, "nextUri": f"http://127.0.0.1:{port}/v1/statement/1", "stats": {}}
    kinds = {"id": "bigint", "half": "decimal(10,2)", "name": "varchar(8)"}
    return {
        **known,
        "columns": [{"name": name, "type": kind} for name, kind in kinds.items()],
        "data": [[number, str(half), name] for number, half, name in ROWS],
        "stats": {"state": "FINISHED"},
    }


def test_a_query_to_presto_becomes_examples(run, records):
    pytest.importorskip("prestodb")
    with serve(answer_like_presto) as (port, asked):
        config = presto_config_pb2.PrestoConnConfig(host="127.0.0.1", port=port, user="me")
        step = PrestoExampleGen(config, query="SELECT * FROM trips")
        examples = run(step, PrestoExecutor)
    assert read([*records(examples, "train"), *records(examples, "eval")]) == ROWS
    assert asked[0][2] == "SELECT * FROM trips"


def test_a_client_that_is_not_installed_is_missed_when_the_step_is_declared(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingPart, match=r"needs google\.cloud\.bigquery.*stoker\[bigquery\]"):
        BigQueryExampleGen(query="SELECT 1")
    config = presto_config_pb2.PrestoConnConfig(host="h")
    with pytest.raises(MissingPart, match=r"needs prestodb.*pip install 'stoker\[presto\]'"):
        PrestoExampleGen(config, query="SELECT 1")


def test_who_asks_nobody_knows_is_told_how_to_say_it(run, monkeypatch, tmp_path):
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    with pytest.raises(
        BadData, match=r"BigQuery asks who you are.*gcloud auth application-default login"
    ):
        run(BigQueryExampleGen(query="SELECT 1"), BigQueryExecutor)


def test_a_query_or_a_query_for_each_split_is_needed():
    with pytest.raises(ValueError, match="needs either a `query` or an `input_config`"):
        BigQueryExampleGen()
