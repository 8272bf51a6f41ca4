# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest
from tfx.proto import trainer_pb2
from tfx.utils import io_utils
from tfx.v1.utils import parse_pbtxt_file

from stoker.data.tfrecord import read_records

ARGS = trainer_pb2.TrainArgs(splits=["train"], num_steps=3)


def test_text_and_bytes_are_written_below_directories_that_are_made(tmp_path):
    io_utils.write_string_file(f"{tmp_path}/a/b", "text")
    io_utils.write_bytes_file(f"{tmp_path}/c/d", b"bytes")

    assert io_utils.read_string_file(f"{tmp_path}/a/b") == "text"
    assert io_utils.read_bytes_file(f"{tmp_path}/c/d") == b"bytes"


def test_a_message_is_read_back_from_its_text(tmp_path):
    io_utils.write_pbtxt_file(f"{tmp_path}/args", ARGS)

    assert parse_pbtxt_file(f"{tmp_path}/args", trainer_pb2.TrainArgs()) == ARGS


def test_text_that_is_no_message_is_named(tmp_path):
    io_utils.write_string_file(f"{tmp_path}/args", "nonsense: 1")

    with pytest.raises(ValueError, match="args does not hold a TrainArgs"):
        parse_pbtxt_file(f"{tmp_path}/args", trainer_pb2.TrainArgs())


def test_a_message_is_read_from_json(tmp_path):
    io_utils.write_string_file(f"{tmp_path}/args", '{"splits": ["train"], "num_steps": 3}')

    assert io_utils.parse_json_file(f"{tmp_path}/args", trainer_pb2.TrainArgs()) == ARGS


def test_messages_are_written_as_records(tmp_path):
    io_utils.write_tfrecord_file(f"{tmp_path}/records", ARGS, ARGS)

    assert list(read_records(f"{tmp_path}/records")) == [ARGS.SerializeToString()] * 2


def test_copying_a_directory_replaces_what_was_there(tmp_path):
    io_utils.write_string_file(f"{tmp_path}/new/x/file", "new")
    io_utils.write_string_file(f"{tmp_path}/old/stale", "old")

    io_utils.copy_dir(f"{tmp_path}/new", f"{tmp_path}/old")

    assert io_utils.read_string_file(f"{tmp_path}/old/x/file") == "new"
    assert not (tmp_path / "old/stale").exists()


def test_copying_a_file_makes_its_directory(tmp_path):
    io_utils.write_string_file(f"{tmp_path}/a", "text")

    io_utils.copy_file(f"{tmp_path}/a", f"{tmp_path}/b/c")

    assert io_utils.read_string_file(f"{tmp_path}/b/c") == "text"


def test_deleting_a_directory_that_is_not_there_does_nothing(tmp_path):
    io_utils.delete_dir(f"{tmp_path}/nothing")


def test_the_only_thing_in_a_directory_is_found(tmp_path):
    io_utils.write_string_file(f"{tmp_path}/model/saved_model.pb", "")

    assert io_utils.get_only_uri_in_dir(str(tmp_path)) == f"{tmp_path}/model"


def test_two_things_in_a_directory_are_refused(tmp_path):
    io_utils.write_string_file(f"{tmp_path}/a", "")
    io_utils.write_string_file(f"{tmp_path}/b", "")

    with pytest.raises(ValueError, match="should hold one"):
        io_utils.get_only_uri_in_dir(str(tmp_path))


def test_column_names_are_the_first_line_of_a_csv_file(tmp_path):
    io_utils.write_string_file(f"{tmp_path}/a.csv", 'x,"y, z"\n1,2\n')

    assert io_utils.load_csv_column_names(f"{tmp_path}/a.csv") == ["x", "y, z"]


def test_a_schema_is_read_from_its_text(tmp_path):
    io_utils.write_string_file(f"{tmp_path}/schema.pbtxt", 'feature { name: "x" }')

    assert io_utils.SchemaReader().read(f"{tmp_path}/schema.pbtxt").feature[0].name == "x"


def test_a_fingerprint_counts_files_and_bytes(tmp_path):
    io_utils.write_string_file(f"{tmp_path}/a", "12345")

    found = io_utils.generate_fingerprint("train", io_utils.all_files_pattern(str(tmp_path)))

    assert found.startswith("split:train,num_files:1,total_bytes:5,")


def test_a_local_file_is_local_and_one_elsewhere_is_copied():
    assert io_utils.ensure_local("a/b") == "a/b"
    io_utils.write_string_file("memory://bucket/b.txt", "there")
    here = io_utils.ensure_local("memory://bucket/b.txt")
    assert Path(here).name == "b.txt"
    assert Path(here).read_text() == "there"


def copied(tmp_path, **patterns):
    for name in ("model/saved_model.pb", "model/assets/vocabulary.txt", "log.txt"):
        io_utils.write_string_file(f"{tmp_path}/from/{name}", name)
    (tmp_path / "from" / "empty").mkdir(exist_ok=True)
    io_utils.copy_dir(f"{tmp_path}/from/", f"{tmp_path}/to", **patterns)
    below = (tmp_path / "to").rglob("*")
    return sorted(str(path.relative_to(tmp_path / "to")) for path in below)


def test_a_directory_is_copied_with_its_empty_ones(tmp_path):
    assert copied(tmp_path) == [
        *("empty", "log.txt", "model", "model/assets"),
        *("model/assets/vocabulary.txt", "model/saved_model.pb"),
    ]


def test_only_what_a_pattern_allows_is_copied(tmp_path):
    found = copied(tmp_path, allow_regex_patterns=[r"\.txt$"])
    assert found == ["log.txt", "model", "model/assets", "model/assets/vocabulary.txt"]


def test_what_a_pattern_denies_is_not_copied(tmp_path):
    found = copied(tmp_path, deny_regex_patterns=[r"/assets", "empty"])
    assert found == ["log.txt", "model", "model/saved_model.pb"]


def test_a_directory_that_is_not_there_is_not_copied_and_nothing_is_removed(tmp_path):
    io_utils.write_string_file(f"{tmp_path}/to/kept", "")
    with pytest.raises(FileNotFoundError, match="no directory"):
        io_utils.copy_dir(f"{tmp_path}/nothing", f"{tmp_path}/to")
    assert (tmp_path / "to" / "kept").exists()
