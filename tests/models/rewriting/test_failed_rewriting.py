# SPDX-License-Identifier: Apache-2.0
"""What goes wrong is named, and leaves nothing behind; and options are more than words."""

import os

import numpy as np
import pytest
import tensorflow as tf
from rewritten_models import save, save_dense, write_examples

from stoker.errors import RewriteFailed
from stoker.models.rewriting.converters import rewrite_saved_model
from stoker.models.rewriting.onnx_rewriter import ONNXRewriter
from stoker.models.rewriting.rewriter import ModelType
from stoker.models.rewriting.targets import rewrite
from stoker.models.rewriting.tflite_rewriter import LiteRT, TFLiteRewriter

pytestmark = pytest.mark.tf

INTEGERS = {"inference_input_type": tf.int8, "inference_output_type": tf.int8}


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("dense"))
    rows = np.random.default_rng(1).normal(size=(50, 3)).tolist()
    return save_dense(folder), [write_examples(folder, [{"x": row} for row in rows])]


@pytest.fixture(scope="module")
def bessel(tmp_path_factory):
    """A model with an op that no format has."""
    folder = str(tmp_path_factory.mktemp("bessel"))
    return save(
        folder,
        lambda x: {"y": tf.math.bessel_i0(x)},
        tf.TensorSpec([None, 3], tf.float32, name="x"),
    )


@pytest.mark.parametrize("rewriter", [TFLiteRewriter, ONNXRewriter])
@pytest.mark.parametrize("filename", ["../esc", "/etc/x", "..", ""])
def test_a_file_name_cannot_lead_out_of_the_models_folder(rewriter, filename):
    with pytest.raises(ValueError, match=r"filename=….*no '/'"):
        rewriter("mine", filename=filename)


@pytest.mark.parametrize("target", ["tflite", "onnx"])
def test_an_op_that_a_format_lacks_is_named(bessel, tmp_path, target):
    with pytest.raises(RewriteFailed, match=r"has no BesselI0, which the signature 'serving_def"):
        rewrite(bessel, target, str(tmp_path / "out"))

    assert not (tmp_path / "out").exists()


def test_a_file_that_its_runtime_refuses_is_not_kept(bessel, tmp_path):
    rewriter = TFLiteRewriter("mine", allow_custom_ops=True)

    with pytest.raises(RewriteFailed, match=r"mine rejects .* ai-edge-litert .*BesselI0"):
        rewrite_saved_model(bessel, str(tmp_path), rewriter, ModelType.TFLITE_MODEL)

    assert list(tmp_path.iterdir()) == []


def test_a_difference_beyond_the_tolerance_is_not_kept(dense, tmp_path):
    path, examples = dense

    with pytest.raises(RewriteFailed, match=r"its output 'y' differs .* 1e-09 is allowed"):
        rewrite(path, "tflite_int8", str(tmp_path), examples=examples, tolerance=1e-9)

    assert list(tmp_path.iterdir()) == []


def test_integers_need_something_to_calibrate_on():
    with pytest.raises(ValueError, match="representative_dataset"):
        TFLiteRewriter("mine", quantization_enable_full_integer=True)
    with pytest.raises(RewriteFailed, match="tflite_int8 is calibrated on examples"):
        rewrite("anywhere", "tflite_int8", "elsewhere")


@pytest.mark.parametrize("model_type", [ModelType.SAVED_MODEL, ModelType.TFJS_MODEL])
def test_a_rewriter_writes_its_own_format_only(dense, tmp_path, model_type):
    with pytest.raises(ValueError, match="it writes TFLite, not"):
        rewrite_saved_model(dense[0], str(tmp_path), TFLiteRewriter("mine"), model_type)


def test_an_option_that_the_converter_lacks_is_named(dense, tmp_path):
    with pytest.raises(ValueError, match="TFLiteConverter has no option 'speed'"):
        rewrite_saved_model(
            dense[0], str(tmp_path), TFLiteRewriter("mine", speed=9), ModelType.TFLITE_MODEL
        )


@pytest.mark.parametrize("as_dicts", [True, False])
def test_a_dataset_of_ones_own_calibrates_integers_at_both_ends(dense, tmp_path, as_dicts):
    rows = np.random.default_rng(2).normal(size=(50, 1, 3)).astype(np.float32)
    rewriter = TFLiteRewriter(
        "mine",
        filename="small.tflite",
        quantization_optimizations=[tf.lite.Optimize.DEFAULT],
        quantization_enable_full_integer=True,
        representative_dataset=lambda: ({"x": row} if as_dicts else [row] for row in rows),
        **INTEGERS,
    )
    rewrite_saved_model(dense[0], str(tmp_path), rewriter, ModelType.TFLITE_MODEL)

    model = LiteRT(str(tmp_path / "small.tflite"), "serving_default")
    assert model.inputs["x"]["dtype"] is model.outputs["y"]["dtype"] is np.int8
    assert rewriter.report.precision == "int8"
    assert rewriter.report.compared_on.startswith("64 made-up inputs")


def test_assets_come_along_unless_they_are_not_wanted(dense, tmp_path):
    source = tmp_path / "source"
    save_dense(str(source))
    for name in ("assets", "assets.extra"):
        folder = source / "saved" / name
        folder.mkdir(exist_ok=True)
        (folder / "words").write_text("red green")

    for copied in (True, False):
        target = str(tmp_path / str(copied))
        rewriter = TFLiteRewriter("mine", copy_assets=copied, copy_assets_extra=copied)
        rewrite_saved_model(str(source / "saved"), target, rewriter, ModelType.ANY_MODEL)
        expected = ["assets", "assets.extra"] if copied else []
        assert sorted(os.listdir(target)) == [*expected, "rewriting.json", "tflite"]
