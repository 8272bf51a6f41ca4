# SPDX-License-Identifier: Apache-2.0
"""Which files of examples a step is given, where they are in a bucket."""

import pytest

from stoker import InputArtifact, component
from stoker.artifacts import Examples, Model, Schema
from stoker.components.bulk_inferrer import BulkInferrer
from stoker.components.evaluator import Evaluator
from stoker.components.infra_validator import InfraValidator
from stoker.components.statistics_gen import StatisticsGen
from stoker.components.transform.component import Transform
from stoker.dsl import Channel
from stoker.dsl.proto import bulk_inferrer_pb2, infra_validator_pb2, transform_pb2
from stoker.runner.away import find_needed
from stoker.storage.digests import FileEntry
from stoker.storage.needed import Needed


def entries(*paths):
    return [FileEntry(path=path, size=1, sha256="", ctime_ns=0) for path in paths]


FILES = entries("Split-train/a.gz", "Split-train/b.gz", "Split-eval/a.gz", "notes.txt")
COLUMNS = entries(
    *("columns/Split-train/a.arrow", "columns/Split-train/b.arrow", "columns/Split-eval/a.arrow")
)


def choose(needed, caches=COLUMNS):
    return [entry.path for entry in needed.choose(FILES, caches)]


def test_all_is_given_unless_less_is_known_to_be_enough():
    assert choose(Needed()) == [entry.path for entry in (*FILES, *COLUMNS)]


def test_of_one_split_records_and_columns_are_given():
    assert choose(Needed(splits=["eval"])) == [
        *("Split-eval/a.gz", "notes.txt", "columns/Split-eval/a.arrow")
    ]


def test_records_alone():
    assert choose(Needed(splits=["eval"], form="records")) == ["Split-eval/a.gz", "notes.txt"]


def test_columns_alone():
    needed = Needed(splits=["train"], form="columns")
    assert choose(needed) == [
        *("notes.txt", "columns/Split-train/a.arrow", "columns/Split-train/b.arrow")
    ]


def test_a_split_that_lacks_any_columns_is_given_as_records():
    found = choose(Needed(form="columns"), COLUMNS[1:])
    assert found == [
        *("Split-train/a.gz", "Split-train/b.gz", "notes.txt"),
        *("columns/Split-train/b.arrow", "columns/Split-eval/a.arrow"),
    ]


def test_columns_alone_are_in_a_tree_of_their_own():
    assert Needed().name_tree("abc") == Needed(form="records").name_tree("abc") == "abc"
    assert Needed(form="columns").name_tree("abc") != "abc"


@component
def Look(examples: InputArtifact[Examples]):
    pass


EXAMPLES, MODEL = Channel(type=Examples), Channel(type=Model)


@pytest.mark.parametrize(
    ("node", "needed"),
    [
        (Look(examples=EXAMPLES), Needed()),
        (StatisticsGen(EXAMPLES), Needed(splits=["train", "eval"], form="columns")),
        (
            StatisticsGen(EXAMPLES, exclude_splits=["train"]),
            Needed(splits=["eval"], form="columns"),
        ),
        (Evaluator(EXAMPLES, MODEL), Needed(splits=["eval"])),
        (BulkInferrer(EXAMPLES, MODEL), Needed(splits=["train", "eval"], form="records")),
        (
            BulkInferrer(
                EXAMPLES, MODEL, data_spec=bulk_inferrer_pb2.DataSpec(example_splits=["eval"])
            ),
            Needed(splits=["eval"], form="records"),
        ),
        (InfraValidator(MODEL, examples=EXAMPLES), Needed(splits=[], form="records")),
        (
            InfraValidator(
                MODEL, examples=EXAMPLES, request_spec=infra_validator_pb2.RequestSpec()
            ),
            Needed(splits=["train"], form="records"),
        ),
        (
            Transform(
                EXAMPLES,
                Channel(type=Schema),
                preprocessing_fn="a.b",
                splits_config=transform_pb2.SplitsConfig(analyze=["train"], transform=["eval"]),
            ),
            Needed(splits=["train", "eval"]),
        ),
    ],
    ids=lambda one: one.id if hasattr(one, "id") else "",
)
def test_each_step_says_what_it_reads_and_users_code_gets_all(node, needed):
    examples = Examples()
    examples.splits = ["train", "eval"]
    assert find_needed(node, examples, node.exec_properties) == needed
    assert find_needed(node, Model(), node.exec_properties) == Needed()
