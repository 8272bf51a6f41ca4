# SPDX-License-Identifier: Apache-2.0
"""TFLite and TensorFlow.js models as an evaluation asks them: tf.Examples in, arrays out.

Their inputs are features of the examples, by name.
"""

import glob
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import types_pb2

from stoker.errors import BadData, MissingPart, ModelRejected, RewriteFailed
from stoker.models.inputs import Arrays, Misfit, make_inputs
from stoker.models.rewriting.conversion import NotRun, Runtime
from stoker.models.rewriting.tfjs_rewriter import find_runtime
from stoker.models.rewriting.tflite_rewriter import LiteRT
from stoker.models.saved_model import Signature, TensorInfo, list_files
from stoker.models.serving_model import check_rows

_TFLITE_ID = b"TFL3"
_MODEL_JSON = "model.json"


class FormatModel:
    """A model in one of these formats, loaded by what runs it."""

    def __init__(self, path: str, runtime: Runtime, inputs: Mapping[str, TensorInfo]) -> None:
        self._path = path
        self._runtime = runtime
        self._signature = Signature(inputs=inputs, outputs={}, parses=None)
        sizes = [info.shape[0] for info in inputs.values() if info.shape]
        self._takes_one = 1 in sizes
        """Whether it was converted for one example at a time."""

    def __call__(self, records: Sequence[bytes]) -> Arrays:
        """The outputs for some serialized tf.Examples, a row for each."""
        if self._takes_one and len(records) > 1:
            rows = [self([record]) for record in records]
            return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
        try:
            outputs = self._runtime.answer(make_inputs(self._signature, records))
        except Misfit as misfit:
            raise BadData(
                f"{self._path} cannot take the examples: {misfit}. Its inputs are features by "
                f"name: {', '.join(self._signature.inputs)}."
            ) from misfit
        except RewriteFailed as error:
            raise ModelRejected(f"{self._path}: {error}") from error
        check_rows(outputs, len(records), self._path)
        return outputs


def load_tflite(folder: str, signature_name: str) -> FormatModel:
    """The TFLite file in a folder, `tflite` or the only `*.tflite`, with one of its signatures."""
    path = _find_tflite(folder)
    with open(path, "rb") as file:
        if file.read(8)[4:] != _TFLITE_ID:
            raise ModelRejected(
                f"{path} is no TFLite file, which ModelSpec.model_type says that it is: it does "
                "not begin as one. Rewrite the model again."
            )
    try:
        runtime = LiteRT(path, signature_name or None)
    except RewriteFailed as error:
        raise ModelRejected(str(error)) from error
    inputs = {
        name: TensorInfo(dtype=_name_dtype(one), shape=_read_shape(one))
        for name, one in runtime.inputs.items()
    }
    return FormatModel(path, runtime, inputs)


def _find_tflite(folder: str) -> str:
    usual = os.path.join(folder, "tflite")
    found = [usual] if os.path.isfile(usual) else glob.glob(f"{glob.escape(folder)}/*.tflite")
    if len(found) != 1:
        raise ModelRejected(
            f"ModelSpec.model_type is 'tf_lite', and {folder} holds {len(found)} TFLite files: "
            f"{list_files(folder)}. Let a TFLiteRewriter write one there."
        )
    return found[0]


def _read_shape(detail: Mapping[str, Any]) -> list[int]:
    """The shape of a tensor, -1 for what is open."""
    sizes = detail.get("shape_signature", detail["shape"])
    return [int(size) for size in (sizes if len(sizes) else detail["shape"])]


def _name_dtype(detail: Mapping[str, Any]) -> str:
    """What a tensor is made of: of floats, if its integers stand for floats."""
    dtype, (scale, _) = np.dtype(detail["dtype"]), detail["quantization"]
    if dtype.kind in "OS":
        return "string"
    return "float32" if scale else dtype.name


def load_tfjs(folder: str) -> FormatModel:
    """The graph model of TensorFlow.js in a folder, to be run in Node."""
    path = os.path.join(folder, _MODEL_JSON)
    inputs = _read_tfjs_inputs(path, folder)
    runtime = find_runtime(folder)
    if isinstance(runtime, NotRun):
        raise MissingPart(f"A model of TensorFlow.js cannot be evaluated here: {runtime.why}")
    return FormatModel(path, runtime, inputs)


def _read_tfjs_inputs(path: str, folder: str) -> dict[str, TensorInfo]:
    if not os.path.isfile(path):
        raise ModelRejected(
            f"ModelSpec.model_type is 'tf_js', and {folder} has no {_MODEL_JSON}: "
            f"{list_files(folder)}. Let a TFJSRewriter write a model there."
        )
    try:
        with open(path, encoding="utf-8") as file:
            model = json.load(file)
        signature = (model.get("userDefinedMetadata") or {}).get("signature") or model["signature"]
        return {
            name.removesuffix(":0"): TensorInfo(
                dtype=tf.dtypes.as_dtype(types_pb2.DataType.Value(one["dtype"])).name,
                shape=[int(dim["size"]) for dim in one["tensorShape"].get("dim", [])],
            )
            for name, one in signature["inputs"].items()
        }
    except (AttributeError, KeyError, TypeError, UnicodeDecodeError, ValueError) as error:
        raise ModelRejected(
            f"{path} is no graph model of TensorFlow.js, which ModelSpec.model_type says that it "
            f"is: {type(error).__name__}: {error}. Rewrite the model again."
        ) from error
