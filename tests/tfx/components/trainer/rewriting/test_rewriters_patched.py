# SPDX-License-Identifier: Apache-2.0
"""Tests written for TFX put stand-ins for parts of the rewriters; what is left has to work."""

from unittest import mock

import pytest

pytestmark = pytest.mark.tf

MODULES = "tfx.components.trainer.rewriting"
TFLITE = f"{MODULES}.tflite_rewriter"


class Converter:
    """Stands for TensorFlow's."""

    def __init__(self):
        self.optimizations = []
        self.target_spec = mock.Mock(supported_types=[])
        self.representative_dataset = None
        self.inference_type = None

    def convert(self):
        return "model"


def models(tmp_path, kind):
    from tfx.components.trainer.rewriting import rewriter

    source, target = tmp_path / "source", tmp_path / "target"
    for folder in (source, source / "assets", source / "assets.extra", target):
        folder.mkdir()
    (source / "saved_model.pbtxt").write_text("saved_model")
    (source / "assets" / "file").write_text("asset")
    (source / "assets.extra" / "file").write_text("extra")
    return (
        rewriter.ModelDescription(rewriter.ModelType.SAVED_MODEL, str(source)),
        rewriter.ModelDescription(kind(rewriter.ModelType), str(target)),
    )


@mock.patch(f"{TFLITE}._create_tflite_compatible_saved_model")
@mock.patch(f"{TFLITE}.TFLiteRewriter._create_tflite_converter")
def test_the_converter_gets_every_option_and_its_result_is_written(create, saved_model, tmp_path):
    from tfx.components.trainer.rewriting import tflite_rewriter

    create.return_value = Converter()
    rewriter = tflite_rewriter.TFLiteRewriter(name="mine", filename="fname", inference_type=9)

    rewriter.perform_rewrite(*models(tmp_path, lambda kinds: kinds.TFLITE_MODEL))

    create.assert_called_once_with(
        saved_model_path=mock.ANY,
        quantization_optimizations=[],
        quantization_supported_types=[],
        representative_dataset=None,
        signature_key=None,
        inference_type=9,
    )
    target = tmp_path / "target"
    assert sorted(file.name for file in target.iterdir()) == ["assets", "assets.extra", "fname"]
    assert (target / "fname").read_text() == "model"
    assert (target / "assets" / "file").read_text() == "asset"
    assert (target / "assets.extra" / "file").read_text() == "extra"


@mock.patch(f"{TFLITE}._create_tflite_compatible_saved_model")
@mock.patch(f"{TFLITE}._TFLiteConverter.from_saved_model")
def test_quantization_reaches_the_converter(from_saved_model, saved_model, tmp_path):
    import tensorflow as tf
    from tfx.components.trainer.rewriting import tflite_rewriter

    converter = from_saved_model.return_value = Converter()
    dataset = [[1], [2]]
    rewriter = tflite_rewriter.TFLiteRewriter(
        name="mine",
        quantization_optimizations=[tf.lite.Optimize.DEFAULT],
        quantization_supported_types=[tf.float16],
        signature_key="predict",
        representative_dataset=dataset,
        inference_type=3,
    )

    rewriter.perform_rewrite(*models(tmp_path, lambda kinds: kinds.TFLITE_MODEL))

    from_saved_model.assert_called_once_with(mock.ANY, signature_keys=["predict"])
    assert converter.optimizations == [tf.lite.Optimize.DEFAULT]
    assert converter.target_spec.supported_types == [tf.float16]
    assert list(converter.representative_dataset()) == dataset
    assert converter.inference_type == 3


@mock.patch(f"{MODULES}.tfjs_rewriter._convert_tfjs_model")
def test_the_converter_of_tfjs_gets_both_folders(convert, tmp_path):
    from tfx.components.trainer.rewriting import tfjs_rewriter

    source, target = models(tmp_path, lambda kinds: kinds.TFJS_MODEL)

    tfjs_rewriter.TFJSRewriter(name="mine").perform_rewrite(source, target)

    convert.assert_called_once_with(source.path, target.path)


@pytest.mark.parametrize("kind", ["TFLITE_REWRITER", "TFJS_REWRITER", "ONNX_REWRITER"])
def test_the_factory_makes_each_by_its_constant_and_in_lower_case(kind):
    from tfx.components.trainer.rewriting import rewriter_factory

    name = getattr(rewriter_factory, kind)

    assert rewriter_factory.create_rewriter(name, name="mine").name == "mine"
    assert rewriter_factory.create_rewriter(name.lower(), name="yours").name == "yours"


def test_the_type_of_a_rewritten_saved_model_is_saved_model_unless_it_is_said():
    from tfx.components.trainer.rewriting import converters
    from tfx.components.trainer.rewriting.rewriter import ModelType

    with mock.patch.object(converters, "_invoke_rewriter") as invoke:
        converters.rewrite_saved_model("/my/src", "/my/dst", "rewriter")

    saved = ModelType.SAVED_MODEL
    invoke.assert_called_once_with("/my/src", "/my/dst", "rewriter", saved, saved)
