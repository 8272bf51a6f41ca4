# SPDX-License-Identifier: Apache-2.0
"""Pipelines with data, root and served models in a bucket: as in folders, or a clear error.

The server is moto's, behind a proxy of this test's own that counts requests and makes faults.
"""

import os
import shutil

import pytest
from bucket_pipeline import create_pipeline
from bucket_server import Proxy, every, serve

from stoker.artifacts import State
from stoker.errors import StokerError
from stoker.metadata.config import sqlite_metadata_connection_config
from stoker.metadata.store import Store
from stoker.runner import LocalDagRunner

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm")]

DATA = b"x,y\n" + b"".join(b"%d,w%d\n" % (i, i % 3) for i in range(200))
SCHEMA = b'feature { name: "x" type: INT }\nfeature { name: "y" type: BYTES }\n'


@pytest.fixture(scope="module")
def server():
    with serve() as server, Proxy(server.port) as proxy:
        yield proxy


@pytest.fixture
def proxy(server, monkeypatch, tmp_path):
    import s3fs

    for name, value in server.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("STOKER_CACHE_DIR", str(tmp_path / "cache"))
    s3fs.S3FileSystem.clear_instance_cache()
    server.faults.clear()
    yield server
    server.faults.clear()
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def files(proxy):
    import s3fs

    return s3fs.S3FileSystem(use_listings_cache=False)


@pytest.fixture
def bucket(files, tmp_path):
    """A bucket of this test's own, with data and a schema."""
    name = f"b-{abs(hash(tmp_path)) % 10**12}"
    files.mkdir(name)
    files.pipe_file(f"{name}/data/a.csv", DATA)
    files.pipe_file(f"{name}/schema/schema.pbtxt", SCHEMA)
    return f"s3://{name}"


@pytest.fixture
def run(bucket, tmp_path):
    def run_once(force=(), **places):
        pipeline = create_pipeline(bucket, str(tmp_path / "m.db"), **places)
        LocalDagRunner().run(pipeline, force=force)
        return look(tmp_path)

    return run_once


def open_store(tmp_path):
    return Store(sqlite_metadata_connection_config(tmp_path / "m.db"))


def look(tmp_path):
    """The state of each step of the last run, and the digests of what it gave."""
    with open_store(tmp_path) as store:
        (newest,) = store.runs(newest=1)
        found = store.executions(run_id=newest.run_id)
        outputs = store.outputs_of_run(newest.run_id)
        return {
            one.node_id: (
                one.state.name,
                {
                    key: [artifact.custom_properties["content_digest"] for artifact in many]
                    for key, many in outputs.get(one.id, {}).items()
                },
            )
            for one in found
        }


def list_live(tmp_path):
    with open_store(tmp_path) as store:
        return store.artifacts(states=(State.LIVE,))


def states(found):
    return {name: state for name, (state, _) in found.items()}


def digests(found):
    return {name: outputs for name, (_, outputs) in found.items() if name != "schema"}


def clear_instances():
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()


def test_a_run_in_a_bucket_is_as_one_in_a_folder_and_its_second_downloads_nothing(
    run, proxy, files, bucket, tmp_path
):
    here = digests(run(root=str(tmp_path / "root")))
    os.rename(tmp_path / "m.db", tmp_path / "local.db")
    there = run()
    assert digests(there) == here
    with open_store(tmp_path) as store:
        for artifact in store.artifacts():
            assert artifact.uri.startswith(f"{bucket}/")
            assert str(tmp_path) not in str(artifact.custom_properties)
        for execution in store.executions():
            parameters = {k: v for k, v in execution.properties.items() if k == "input_base"}
            assert str(tmp_path) not in str(parameters)
    pushed = files.ls(f"{bucket}/served", detail=False)
    assert len(pushed) == 2  # of both runs
    assert {name.rpartition("/")[2] for name in files.find(pushed[0])} >= {"big.bin", "push.json"}

    shutil.rmtree(tmp_path / "cache" / "files")
    proxy.reset()
    again = run()

    assert set(states(again).values()) == {"CACHED", "COMPLETE"}
    assert [name for name, state in states(again).items() if state == "COMPLETE"] == ["schema"]
    assert digests(again) == here
    assert proxy.requests["PUT"] == 0
    assert not [path for kind, path in proxy.log if kind == "GET"]
    print(f"second run: {dict(proxy.requests)}, {proxy.num_bytes_down:,} bytes down")


@pytest.mark.envs
def test_what_is_gone_from_the_cache_is_staged_again_and_only_that(
    run, proxy, files, bucket, tmp_path
):
    run()
    shutil.rmtree(tmp_path / "cache" / "files")
    shutil.rmtree(tmp_path / "cache" / "trees")
    files.pipe_file(f"{bucket}/schema/schema.pbtxt", SCHEMA + b"# edited\n")
    proxy.reset()

    again = states(run())

    assert again["StatisticsGen"] == again["Shout"] == again["Pusher"] == "CACHED"
    assert again["ExampleValidator"] == "COMPLETE"
    read = [path for kind, path in proxy.log if kind == "GET"]
    assert all("/StatisticsGen/" in path or "/schema" in path for path in read), read


def test_a_step_is_given_what_it_reads_and_columns_alone_give_the_same_statistics(
    run, proxy, files, bucket, tmp_path
):
    before = run()
    examples = files.find(f"{bucket}/root/CsvExampleGen/examples", detail=True)
    shutil.rmtree(tmp_path / "cache")
    proxy.reset()

    after = run(force=["StatisticsGen"])

    assert digests(after) == digests(before)
    read = [path[1:] for kind, path in proxy.log if kind == "GET" and "/CsvExampleGen/" in path]
    objects = [path for path in read if path in examples]
    assert sorted(objects) == [path for path in examples if "/columns/" in path]
    columns, every = (sum(examples[path]["size"] for path in many) for many in (objects, examples))
    print(f"StatisticsGen is given {columns:,} of {every:,} bytes of examples")


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param([(5, "503", "")], id="503", marks=pytest.mark.envs),
        pytest.param([(5, "drop", "")], id="dropped", marks=pytest.mark.envs),
        pytest.param([(3, "half", "GET")], id="half", marks=pytest.mark.envs),
        pytest.param([(13, "503", ""), (11, "drop", ""), (5, "half", "GET")], id="all"),
    ],
)
def test_a_server_that_fails_now_and_then_is_asked_again(run, proxy, tmp_path, fault):
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    proxy.faults[:] = [every(*one) for one in fault]

    assert set(states(run()).values()) == {"COMPLETE"}

    proxy.faults.clear()
    assert states(run())["Pusher"] == "CACHED"


def test_who_may_not_write_is_told_before_any_step_runs(run, proxy, files, bucket, tmp_path):
    proxy.faults.append(every(1, "403", "PUT"))
    with pytest.raises(StokerError, match=r"CsvExampleGen: .*not allowed.*rights"):
        run()
    assert not list_live(tmp_path)
    assert files.ls(bucket, detail=False) == [f"{bucket[5:]}/data", f"{bucket[5:]}/schema"]

    proxy.faults.clear()
    assert set(states(run()).values()) == {"COMPLETE"}


@pytest.mark.envs
def test_a_right_that_is_lost_while_publishing_leaves_nothing_published(
    run, proxy, files, bucket, tmp_path
):
    def refuse(_, method, path):
        return "403" if method == "PUT" and "/Shout/text/" in path else ""

    proxy.faults.append(refuse)
    with pytest.raises(StokerError, match=r"Shout: .*cannot be written: .*not allowed"):
        run()
    assert not [one for one in list_live(tmp_path) if "/Shout/" in one.uri]
    assert not files.find(f"{bucket}/root/.stoker/manifests/Shout")

    proxy.faults.clear()
    assert states(run()) | {"schema": ""} == {
        **dict.fromkeys(("CsvExampleGen", "StatisticsGen", "ExampleValidator"), "CACHED"),
        **dict.fromkeys(("Shout", "Measure", "Pusher"), "COMPLETE"),
        "schema": "",
    }


def test_a_bucket_that_is_not_there_is_told(run, files, bucket):
    with pytest.raises(StokerError, match=r"s3://not-there/.*no such bucket.*Make it, or name"):
        run(root="s3://not-there/root")


def test_missing_credentials_are_told(run, bucket, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    clear_instances()
    with pytest.raises(StokerError, match=r"no credentials"):
        run()


def test_wrong_credentials_are_told(run, bucket, proxy):
    proxy.faults.append(every(1, "403"))
    with pytest.raises(StokerError, match=r"not allowed.*Check the credentials"):
        run()


@pytest.mark.envs
def test_an_object_that_was_changed_behind_our_back_is_made_anew(run, files, bucket, capfd):
    before = run()
    (name,) = files.glob(f"{bucket[5:]}/root/Shout/text/*/deep/names.txt")
    files.pipe_file(name, b"somebody was here")

    after = run()

    assert states(after)["Shout"] == "COMPLETE"
    assert "names.txt: resized" in capfd.readouterr().err
    assert digests(after) == digests(before)


@pytest.mark.envs
def test_an_input_that_is_changed_between_look_and_download_is_refused(
    run, proxy, files, bucket, tmp_path
):
    run()
    shutil.rmtree(tmp_path / "cache")
    (name,) = files.glob(f"{bucket[5:]}/root/StatisticsGen/statistics/*/Split-eval/*")
    files.pipe_file(f"{bucket}/schema/schema.pbtxt", SCHEMA + b"# edited\n")

    def change(_, kind, path):
        if kind == "GET" and path.endswith(f"/{name.rpartition('/')[2]}") and "Split-eval" in path:
            proxy.faults.clear()
            files.pipe_file(name, b"x" * files.info(name)["size"])
        return ""

    proxy.faults.append(change)
    with pytest.raises(StokerError, match=r"ExampleValidator: .*not the one that"):
        run()
    assert states(run())["StatisticsGen"] == "COMPLETE"


@pytest.mark.envs
def test_a_full_staging_cache_is_told_and_nothing_is_published(run, tmp_path, monkeypatch):
    from stoker.storage import staging

    staging.open_cache.cache_clear()
    monkeypatch.setenv("STOKER_CACHE_BYTES", "100")
    with pytest.raises(StokerError, match=r"staging cache .* is full: .*STOKER_CACHE_BYTES=…"):
        run()
    assert not [one for one in list_live(tmp_path) if "CsvExampleGen" in one.uri]
    monkeypatch.delenv("STOKER_CACHE_BYTES")
    staging.open_cache.cache_clear()
    assert set(states(run()).values()) == {"COMPLETE"}
