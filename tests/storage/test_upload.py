# SPDX-License-Identifier: Apache-2.0
"""Outputs in a bucket: the manifest comes last, and a listing tells whether all is as it was."""

import os

import fsspec
import pytest

from stoker.storage.checkpoint_mirror import (
    CheckpointMirror,
    discard_checkpoints,
    go_on_from_newest,
    name_machine,
    pull_checkpoints,
)
from stoker.storage.digests import seal
from stoker.storage.needed import Needed
from stoker.storage.places import PlaceError, list_objects
from stoker.storage.root import Root
from stoker.storage.served_bucket import digest_version, list_versions, push_to_bucket
from stoker.storage.staging import StagingCache
from stoker.storage.upload import (
    find_problems_there,
    stage_output,
    upload_output,
    write_manifest,
)

URI = "memory://b/root/Trainer/model/3"


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    monkeypatch.setenv("STOKER_CACHE_DIR", str(tmp_path / "cache"))
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()


@pytest.fixture
def output(tmp_path, write):
    write("root/Trainer/model/3/deep/one", "1")
    write("root/Trainer/model/3/two", "22")
    (tmp_path / "root/Trainer/model/3/empty").mkdir()
    return str(tmp_path / "root/Trainer/model/3")


def publish(output, uri=URI):
    manifest = seal(output)
    published = upload_output(output, uri, manifest)
    write_manifest(published, uri)
    return manifest.digest


def test_what_was_published_is_staged_as_it_was(bucket, output, tmp_path):
    digest = publish(output)
    cache = StagingCache(folder=str(tmp_path / "cache"))
    path = stage_output(cache, URI, digest)
    assert seal(path).digest == digest
    assert os.path.isdir(f"{path}/empty")
    assert find_problems_there(URI, digest) == []


def test_a_split_can_be_staged_alone(bucket, output, tmp_path, write):
    write("root/Trainer/model/3/Split-train/x", "many rows")
    write("root/Trainer/model/3/Split-eval/x", "few")
    digest = publish(output)
    cache = StagingCache(folder=str(tmp_path / "cache"))
    path = stage_output(cache, URI, digest, Needed(splits=["eval"]))
    assert sorted(os.listdir(path)) == ["Split-eval", "deep", "empty", "two"]
    assert cache.num_downloaded == len("few") + 3


def test_files_without_a_manifest_are_no_artifact(bucket, output, tmp_path):
    manifest = seal(output)
    upload_output(output, URI, manifest)
    assert find_problems_there(URI, manifest.digest)[0][1] == "the manifest is missing"
    with pytest.raises(PlaceError, match=r"manifest .* is missing or damaged"):
        stage_output(StagingCache(folder=str(tmp_path / "c")), URI, manifest.digest)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda files: files.pipe_file("/b/root/Trainer/model/3/two", b"xx"), "changed"),
        (lambda files: files.pipe_file("/b/root/Trainer/model/3/two", b"x"), "resized: 1 bytes"),
        (lambda files: files.rm_file("/b/root/Trainer/model/3/two"), "missing"),
        (lambda files: files.pipe_file("/b/root/Trainer/model/3/new", b"x"), "added"),
    ],
)
def test_a_listing_tells_every_change(bucket, output, change, problem):
    digest = publish(output)
    change(bucket)
    ((url, found),) = find_problems_there(URI, digest)
    assert url.startswith(URI)
    assert found.startswith(problem)


def test_a_folder_that_somebody_else_writes_to_is_not_published(bucket, output):
    bucket.pipe_file("/b/root/Trainer/model/3/other", b"x")
    with pytest.raises(PlaceError, match=r"model/3/other is not ours"):
        publish(output)


def test_the_places_of_a_root_in_a_bucket_and_here_are_told_from_each_other(bucket):
    root = Root.at("memory://b/root/")
    path = root.output_uri("Trainer", "model", 3, is_value=False)
    assert root.find_place(path) == URI
    assert root.find_path(URI) == path
    assert root.has_output(URI)
    assert Root.at("here").find_place("/x") == "/x"


def push(output, tmp_path, files=("saved_model.pb", "variables/data")):
    for name in files:
        path = tmp_path / "model" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    model = str(tmp_path / "model")
    (tmp_path / "pushes").mkdir(exist_ok=True)
    return push_to_bucket(
        model,
        seal(model),
        "memory://b/served",
        choose=lambda taken: max(map(int, taken), default=0) + 1,
        pending_file=str(tmp_path / "pushes" / "pending"),
    )


def test_saved_model_pb_comes_last_and_a_push_that_died_is_taken_away(
    bucket, output, tmp_path, monkeypatch
):
    from stoker.storage import served_bucket

    uploaded = []
    monkeypatch.setattr(served_bucket, "upload", lambda path, url: uploaded.append(url))
    with pytest.raises(PlaceError, match="is not what was uploaded"):
        push(output, tmp_path)
    assert uploaded == ["memory://b/served/1/variables/data"]
    assert [one.url for one in list_objects("memory://b/served")] == [
        "memory://b/served/1/assets.extra/push.json"
    ]
    monkeypatch.undo()

    pushed = push(output, tmp_path)
    names = sorted(one.url.partition("/served/")[2] for one in list_objects("memory://b/served"))
    assert names == [f"{pushed.version}/{one}" for one in PUSHED]
    assert pushed.digest == digest_version(f"memory://b/served/{pushed.version}")
    bucket.pipe_file(f"/b/served/{pushed.version}/assets.extra/warmup", b"by hand")
    assert pushed.digest == digest_version(f"memory://b/served/{pushed.version}")
    assert push(output, tmp_path).version == pushed.version + 1
    assert {str(pushed.version), str(pushed.version + 1)} <= {*list_versions("memory://b/served")}


PUSHED = ["assets.extra/push.json", "saved_model.pb", "variables/data"]


def test_checkpoints_are_copied_replaced_and_taken_by_another_machine(bucket, tmp_path, write):
    url, here, there = "memory://b/root/.stoker/checkpoints/T/1", tmp_path / "a", tmp_path / "b"
    write("a/fit-1/00000001.npz", "first")
    write("a/seed", "7")
    write("a/seed.lock")
    write("a/fit-1/.writing-x/00000002.npz", "half")
    mirror = CheckpointMirror(str(here), url)
    mirror.copy_once()
    write("a/fit-1/00000003.npz", "third")
    (here / "fit-1" / "00000001.npz").unlink()
    mirror.close()

    assert pull_checkpoints(url, str(there)) == 2
    assert pull_checkpoints(url, str(there)) == 0
    assert list_files(there) == ["fit-1/00000003.npz", "seed"]
    discard_checkpoints(url)
    assert not list_objects(url)


def list_files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_two_machines_at_the_same_work_do_not_touch_each_others_checkpoints(
    bucket, tmp_path, write
):
    url = "memory://b/root/.stoker/checkpoints/T/1"
    first, second = (name_machine(Root(str(tmp_path / one), url)) for one in ("m-1", "m-2"))
    assert first == name_machine(Root(str(tmp_path / "m-1"), url)) != second
    write("a/fit/00000001.npz", "of the first")
    write("a/seed", "7")
    mirror = CheckpointMirror(str(tmp_path / "a"), f"{url}/{first}")
    mirror.copy_once()

    assert go_on_from_newest(url, second, str(tmp_path / "b")) == 2
    write("b/fit/00000002.npz", "of the second")
    other = CheckpointMirror(str(tmp_path / "b"), f"{url}/{second}")
    other.copy_once()
    write("a/fit/00000002.npz", "of the first too")
    mirror.copy_once()
    assert bucket.cat_file(f"/b/root/.stoker/checkpoints/T/1/{first}/fit/00000002.npz") == (
        b"of the first too"
    )
    assert bucket.cat_file(f"/b/root/.stoker/checkpoints/T/1/{second}/fit/00000002.npz") == (
        b"of the second"
    )

    other.close()
    discard_checkpoints(url)  # the second has ended
    write("a/fit/00000003.npz", "later")
    mirror.close()
    write("c/fit/00000000.npz", "of long ago")
    assert go_on_from_newest(url, "third", str(tmp_path / "c")) == 4
    assert list_files(tmp_path / "c") == list_files(tmp_path / "a")
    assert (tmp_path / "c" / "seed").read_text() == "7"
