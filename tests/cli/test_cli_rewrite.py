# SPDX-License-Identifier: Apache-2.0
import pytest

from stoker import CsvExampleGen
from stoker.artifacts import Model, Schema
from stoker.components.rewriter import Rewriter, raw_examples
from stoker.components.trainer.component import Trainer
from stoker.components.transform.component import Transform
from stoker.dsl import Channel
from stoker.models.rewriting.report import Report
from stoker.views.model_tables import formats_tables

REPORT = Report(
    format="TFJS",
    precision="float32",
    signature="serving_default",
    inputs={},
    outputs=["y"],
    left_out=[],
    cut=True,
    converter="tensorflowjs",
    tolerance=0.0001,
    compared_on="500 eval examples",
    original_bytes=171_810,
    rewritten_bytes=6_348,
    original_ms=0.5,
)


def test_precisions_are_for_tflite_only(stoker, here):
    result = stoker("rewrite", here, "--to", "onnx", "--quantize", "int8")

    assert result.code == 2
    assert "--quantize is for TFLite" in result.err


def test_only_models_are_rewritten(stoker, root, note):
    result = stoker("rewrite", note.id, "--to", "tflite")

    assert result.code == 2
    assert "not a Model" in result.err


def test_what_is_not_there_is_said_to_be_missing(stoker, here):
    result = stoker("rewrite", "nowhere", "--to", "tflite")

    assert result.code == 2
    assert "There is no metadata.db" in result.err


def test_the_table_says_what_was_not_run():
    model = Model()
    model.set_json_value_custom_property("rewriting", {"tfjs": REPORT.to_dict()})

    (table,) = formats_tables([model])

    expected = ("tfjs", "6.3 kB", "171.8 kB", "not run", "0.0001", "not run", "0.50 ms", "")
    assert table.rows == [expected]
    assert formats_tables([Model()]) == []


def examples_and_trainer(**arguments):
    examples = CsvExampleGen(input_base="data").outputs["examples"]
    transform = Transform(examples=examples, schema=Channel(Schema), module_file="preprocessing.py")
    trainer = Trainer(
        examples=transform.outputs["transformed_examples"],
        transform_graph=transform.outputs["transform_graph"],
        module_file="module.py",
        **arguments,
    )
    return examples, trainer


def test_formats_are_outputs_and_raw_examples_are_found():
    examples, trainer = examples_and_trainer()

    rewriter = Rewriter(model=trainer.outputs["model"], to=["tflite", "tflite_int8"])

    assert list(rewriter.outputs) == ["tflite", "tflite_int8"]
    assert rewriter.inputs["examples"] is examples
    assert raw_examples(Channel(Model)) is None


def test_a_trainer_that_rewrites_reads_the_raw_examples_too():
    examples, trainer = examples_and_trainer(rewrite=["onnx"])

    assert trainer.inputs["raw_examples"] is examples
    assert "raw_examples" not in examples_and_trainer()[1].inputs
    with pytest.raises(ValueError, match="no format 'coreml'"):
        examples_and_trainer(rewrite=["coreml"])
