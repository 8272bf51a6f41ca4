# SPDX-License-Identifier: Apache-2.0
"""What is nested 100,000 deep is refused in one sentence, wherever a pipeline takes such things."""

import pytest

from stoker.artifacts import Examples
from stoker.components.trainer.component import Trainer
from stoker.dsl import as_channel
from stoker.errors import BadData
from stoker.statistics.data_schema import read_schema
from stoker.user_code.fn_args import _read_hyperparameters

DEPTH = 100_000
TEXT = '{"a": ' * DEPTH + "1" + "}" * DEPTH


def nest():
    value = {}
    for _ in range(DEPTH):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("name", "make", "says"),
    [
        ("train_args", lambda: TEXT, "'train_args' is not a TrainArgs: maximum recursion depth"),
        ("train_args", nest, "nested so deep"),
        ("custom_config", nest, "nested so deep"),
    ],
    ids=["text", "message", "config"],
)
def test_a_parameter_is_refused(name, make, says):
    with pytest.raises(ValueError, match=says):
        Trainer(module_file="m.py", examples=as_channel([Examples()]), **{name: make()})


def test_a_schema_is_refused(tmp_path):
    path = tmp_path / "schema.pbtxt"
    path.write_text("feature { struct_domain { " * DEPTH + "} } " * DEPTH)
    with pytest.raises(BadData, match=r"schema\.pbtxt is not a schema: .* nested too deep"):
        read_schema(str(path))


def test_hyperparameters_are_refused(tmp_path):
    path = tmp_path / "hyperparameters.json"
    path.write_text(TEXT)
    with pytest.raises(ValueError, match=r"hyperparameters\.json are not JSON: maximum recursion"):
        _read_hyperparameters(str(path))
