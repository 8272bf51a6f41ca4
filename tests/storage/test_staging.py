# SPDX-License-Identifier: Apache-2.0
"""The staging cache: each object is downloaded once, verified, and never changed."""

import hashlib
import os
from pathlib import Path

import fsspec
import pytest

from stoker.storage.places import PlaceError, list_objects
from stoker.storage.staging import StagingCache, Wanted, digest_objects, find_url


@pytest.fixture
def bucket():
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STOKER_CACHE_DIR", str(tmp_path / "cache"))
    return open_one(tmp_path)


def open_one(tmp_path, **limits):
    return StagingCache(folder=str(tmp_path / "cache"), **limits)


def put(bucket, name, data=b"data") -> Wanted:
    bucket.pipe_file(f"/b/{name}", data)
    sha256 = hashlib.sha256(data).hexdigest()
    return Wanted(url=f"memory://b/{name}", size=len(data), sha256=sha256)


def stage(cache, *wanted, digest="0" * 64):
    return Path(cache.stage("memory://b", wanted, digest=digest))


def test_what_is_staged_lies_below_its_url_and_tells_it(cache, bucket):
    folder = stage(cache, put(bucket, "x/one", b"1"), put(bucket, "two", b"22"))

    assert (folder / "x" / "one").read_bytes() == b"1"
    assert (folder / "two").read_bytes() == b"22"
    assert find_url(str(folder / "x" / "one")) == "memory://b/x/one"
    assert find_url("/elsewhere") == "/elsewhere"


def test_the_same_content_is_downloaded_once_whatever_its_name(cache, bucket, tmp_path):
    one, other = put(bucket, "one", b"same"), put(bucket, "other", b"same")
    stage(cache, one)
    bucket.store.clear()

    assert (stage(open_one(tmp_path), other, digest="1" * 64) / "other").read_bytes() == b"same"


def test_an_object_that_was_changed_is_told_and_not_kept(cache, bucket):
    wanted = put(bucket, "one", b"right")
    put(bucket, "one", b"wrong")

    with pytest.raises(PlaceError, match=r"memory://b/one is not the one that was published"):
        stage(cache, wanted)
    put(bucket, "one", b"right")
    assert (stage(cache, wanted) / "one").read_bytes() == b"right"


def test_an_object_that_is_gone_is_told(cache, bucket):
    wanted = put(bucket, "one")
    bucket.store.clear()
    with pytest.raises(PlaceError, match="memory://b/one is gone"):
        stage(cache, wanted)


def test_a_file_that_somebody_wrote_to_is_fetched_again(cache, bucket, tmp_path):
    wanted = put(bucket, "one", b"right")
    path = stage(cache, wanted) / "one"
    os.chmod(path, 0o644)
    path.write_bytes(b"wrong")

    assert (stage(open_one(tmp_path), wanted) / "one").read_bytes() == b"right"


def test_an_object_without_a_manifest_is_known_by_its_version(cache, bucket, tmp_path):
    put(bucket, "one", b"first")
    (before,) = list_objects("memory://b/one")
    assert (stage(cache, Wanted.of(before)) / "one").read_bytes() == b"first"

    put(bucket, "one", b"later")
    (now,) = list_objects("memory://b/one")
    assert digest_objects([now], "memory://b") != digest_objects([before], "memory://b")
    assert (stage(cache, Wanted.of(now), digest="1" * 64) / "one").read_bytes() == b"later"
    with pytest.raises(PlaceError, match="not the one that was there before"):
        StagingCache(folder=str(tmp_path / "new")).stage(
            "memory://b", [Wanted.of(before)], digest="0" * 64
        )


def test_the_least_recently_used_makes_room_and_what_is_in_use_does_not(cache, bucket, tmp_path):
    first, second, third = (put(bucket, name, name.encode() * 100) for name in "abc")
    used = open_one(tmp_path, max_bytes=250)
    in_use = stage(used, first, digest="1" * 64) / "a"
    other = open_one(tmp_path, max_bytes=250)
    stage(other, second, digest="2" * 64)
    other.close()

    newest = open_one(tmp_path, max_bytes=250)
    assert (stage(newest, third, digest="3" * 64) / "c").exists()
    assert in_use.read_bytes() == b"a" * 100
    assert not (tmp_path / "cache" / "trees" / ("2" * 16)).exists()
    kept = {path.name for path in (tmp_path / "cache" / "files").glob("??/*")}
    assert kept == {first.sha256, third.sha256}

    with pytest.raises(PlaceError, match=r"cache .* is full: 100 bytes .*200 of the 250 .* in use"):
        stage(newest, second, digest="2" * 64)
    used.close()
    assert (stage(newest, second, digest="2" * 64) / "b").exists()


def test_what_a_download_that_died_has_left_is_removed(cache, bucket, tmp_path):
    part = tmp_path / "cache" / "files" / ".part-dead"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"half")

    stage(cache, put(bucket, "one"))

    assert not part.exists()


def test_a_url_that_leads_out_of_the_cache_is_refused(cache, bucket):
    wanted = Wanted(url="memory://b/../../x", size=1, sha256="0" * 64)
    with pytest.raises(PlaceError, match="leads out of its bucket"):
        stage(cache, wanted)
