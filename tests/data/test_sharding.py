# SPDX-License-Identifier: Apache-2.0
"""How files are cut into shards: all of them, in order, by their sizes alone."""

import pytest

from stoker.data.sharding import plan_shards

MEGABYTE = 1 << 20


@pytest.fixture
def make_files(tmp_path):
    def make(*megabytes):
        paths = [tmp_path / f"{number:05}" for number in range(len(megabytes))]
        for path, size in zip(paths, megabytes, strict=True):
            with path.open("wb") as file:
                file.truncate(int(size * MEGABYTE))
        return list(map(str, paths))

    return make


def test_little_data_is_one_shard(make_files):
    (shard,) = plan_shards(make_files(1, 1, 1), cut=True)
    assert len(shard.files) == 3
    assert shard.num_parts == 1


def test_neighbours_share_a_shard_and_every_file_is_in_one(make_files):
    files = make_files(*[0.25] * 400)
    shards = plan_shards(files)
    assert [path for shard in shards for path in shard.files] == files
    assert len(shards) == 8


def test_shards_of_much_data_do_not_grow(make_files):
    files = make_files(*[10] * 100)
    assert {len(shard.files) for shard in plan_shards(files)} == {1}
    assert {len(shard.files) for shard in plan_shards(files, most=32 * MEGABYTE)} == {3, 1}


def test_a_large_file_is_cut_into_parts_where_that_is_possible(make_files):
    files = make_files(1, 100, 1)
    assert [len(shard.files) for shard in plan_shards(files)] == [1, 1, 1]
    first, *parts, last = plan_shards(files, cut=True)
    assert [(shard.part, shard.num_parts) for shard in parts] == [(one, 8) for one in range(8)]
    assert (first.files, last.files) == ((files[0],), (files[2],))


def test_what_is_no_file_is_a_shard_as_it_is():
    (shard,) = plan_shards(["SELECT 1"])
    assert shard.files == ("SELECT 1",)
