# SPDX-License-Identifier: Apache-2.0
import json

import pytest

from stoker.artifacts import Model, Schema
from stoker.cli.preview import preview

SIGNATURES = {
    "serving_default": {
        "inputs": {"examples": {"dtype": "string", "shape": [-1]}},
        "outputs": {"probabilities": {"dtype": "float32", "shape": [-1, 3]}},
    }
}


@pytest.mark.parametrize("recorded", [SIGNATURES, json.dumps(SIGNATURES)], ids=["dict", "text"])
def test_the_signatures_of_a_model_are_a_table(tmp_path, recorded):
    model = Model()
    model.uri = str(tmp_path)
    model.custom_properties["signatures"] = recorded
    (table,) = preview(model)
    assert table.rows == [
        ("serving_default", "examples: string [-1]", "probabilities: float32 [-1, 3]")
    ]


def test_files_that_are_gone_have_no_preview(tmp_path):
    schema = Schema()
    schema.uri = str(tmp_path / "gone")
    assert preview(schema) == []
