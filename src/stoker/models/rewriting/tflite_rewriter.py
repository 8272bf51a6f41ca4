# SPDX-License-Identifier: Apache-2.0
"""SavedModel to TFLite: TensorFlow's own converter, and LiteRT to run what comes out."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, NoReturn

import numpy as np
import tensorflow as tf
from tensorflow.lite.python.convert_phase import ConverterError

from stoker.any_python.layout import check_file_name
from stoker.errors import RewriteFailed
from stoker.models.inputs import Arrays
from stoker.models.rewriting.conversion import (
    Conversion,
    Runtime,
    UnsupportedOps,
    prepare,
    silence,
)
from stoker.models.rewriting.format_rewriter import FormatRewriter
from stoker.models.rewriting.plain import PlainModel
from stoker.models.rewriting.rewriter import ModelDescription, ModelType
from stoker.models.saved_model import SERVING_DEFAULT
from stoker.models.serving_model import CALL_ERRORS, first_line
from stoker.storage.files import make_scratch_dir

METADATA = "stoker"
"""The name of the metadata entry that says what a file takes and gives, as JSON."""

# TFX's tests replace this name, and those of some functions below.
_TFLiteConverter = tf.lite.TFLiteConverter

_ASSETS = "assets"
_ASSETS_EXTRA = "assets.extra"
_NUM_CALIBRATED_ON = 200
_UNSUPPORTED = re.compile(r"^(?:TF Select|Custom) ops: (.+)$", re.MULTILINE)


class TFLiteRewriter(FormatRewriter):
    """Writes a SavedModel as one TFLite file.

    Without `quantization_optimizations` weights stay float32; with them they get eight bits, or
    float16 if `quantization_supported_types` names it; `quantization_enable_full_integer` gives
    everything in between eight bits too. `representative_dataset` yields inputs to calibrate that
    on, dicts by name or sequences in the order of names, one example each. Other keyword arguments
    are options of TFLiteConverter, such as `inference_input_type=tf.int8`.

    `examples` are files to compare on (and to calibrate on, where no dataset is given); `tolerance`
    is how much the result may differ. Both have defaults.
    """

    FORMAT = "TFLite"
    MODEL_TYPE = ModelType.TFLITE_MODEL

    def __init__(
        self,
        name: str,
        filename: str = "tflite",
        copy_assets: bool = True,
        copy_assets_extra: bool = True,
        quantization_optimizations: Sequence[Any] | None = None,
        quantization_supported_types: Sequence[Any] | None = None,
        quantization_enable_full_integer: bool = False,
        signature_key: str | None = None,
        representative_dataset: Iterable[Any] | Callable[[], Iterator[Any]] | None = None,
        *,
        examples: Sequence[str] | None = None,
        tolerance: float | None = None,
        **kwargs: Any,
    ) -> None:
        if quantization_enable_full_integer and representative_dataset is None and examples is None:
            raise ValueError(
                "quantization_enable_full_integer needs a representative_dataset to calibrate on: "
                "a function that yields inputs of the model, {name: array of one example}."
            )
        super().__init__(name, signature_key, examples=examples, tolerance=tolerance)
        self._filename = check_file_name(os.fsdecode(filename), "TFLiteRewriter(filename=…)")
        self._copied = [_ASSETS] * copy_assets + [_ASSETS_EXTRA] * copy_assets_extra
        self._optimizations = list(quantization_optimizations or [])
        self._supported_types = list(quantization_supported_types or [])
        self._full_integer = quantization_enable_full_integer
        self._signature_key = signature_key
        self._representative_dataset = representative_dataset
        self._kwargs = kwargs

    @property
    def precision(self) -> str:
        """What the options amount to: float32, dynamic, float16 or int8."""
        if self._full_integer:
            return "int8"
        if not self._optimizations:
            return "float32"
        if tf.float16 in self._supported_types:
            return "float16"
        return "int8" if self._representative_dataset is not None else "dynamic"

    @property
    def converter(self) -> str:
        """TensorFlow, whose part the converter is."""
        return f"tensorflow {tf.__version__}"

    def _rewrite(self, original_model: ModelDescription, rewritten_model: ModelDescription) -> None:
        super()._rewrite(original_model, rewritten_model)
        source, target = os.fsdecode(original_model.path), os.fsdecode(rewritten_model.path)
        for name in self._copied:
            if os.path.isdir(os.path.join(source, name)):
                shutil.copytree(
                    os.path.join(source, name), os.path.join(target, name), dirs_exist_ok=True
                )

    def _attempt(self, source: str, target: str, avoid: frozenset[str]) -> Conversion:
        # One scale has to fit all that is added up: measures in different units would drown each
        # other in eight bits.
        how = self._arguments(avoid=avoid, for_integers=self.precision == "int8")
        with make_scratch_dir(target, prefix="tmp-rewrite-") as folder:
            conversion = _create_tflite_compatible_saved_model(source, folder, **how)
            content = self._convert(folder, conversion)
        with open(os.path.join(target, self._filename), "wb") as file:
            file.write(content)
        return conversion

    def _convert(self, folder: str, conversion: Conversion) -> bytes:
        converter = self._create_tflite_converter(
            saved_model_path=folder,
            quantization_optimizations=self._optimizations,
            quantization_supported_types=self._supported_types,
            representative_dataset=self._calibration(conversion),
            signature_key=self._signature_key,
            **self._kwargs,
        )
        try:
            with silence():
                content = converter.convert()
        except (ConverterError, RuntimeError, *CALL_ERRORS) as error:
            _raise_for(error, conversion)
        return (
            content.encode()
            if isinstance(content, str)
            else _add_metadata(content, conversion.plain)
        )

    def _calibration(self, conversion: Conversion) -> Callable[[], Iterator[Any]] | None:
        """What yields inputs to calibrate on, if something in between is to be quantized."""
        given = self._representative_dataset
        if given is None and not self._full_integer:
            return None
        if given is None:
            return lambda: _single_rows(conversion)
        if isinstance(conversion, Conversion):
            names = [one.name for one in conversion.plain.inputs]
            return lambda: (_by_name(one, names) for one in (given() if callable(given) else given))
        return given if callable(given) else lambda: iter(given)

    def _create_tflite_converter(
        self,
        saved_model_path: str,
        quantization_optimizations: Sequence[Any],
        quantization_supported_types: Sequence[Any],
        representative_dataset: Any = None,
        signature_key: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """TensorFlow's converter with these options."""
        keys = {"signature_keys": [signature_key]} if signature_key else {}
        converter = _TFLiteConverter.from_saved_model(saved_model_path, **keys)
        converter.optimizations = quantization_optimizations
        converter.target_spec.supported_types = quantization_supported_types
        converter.representative_dataset = representative_dataset
        if self._full_integer:
            converter.optimizations = quantization_optimizations or [tf.lite.Optimize.DEFAULT]
            converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        for name, value in kwargs.items():
            if not hasattr(converter, name):
                raise ValueError(f"TFLiteConverter has no option {name!r}. Leave it out.")
            setattr(converter, name, value)
        return converter

    def _find_runtime(self, folder: str, conversion: Conversion) -> "LiteRT":
        return LiteRT(os.path.join(folder, self._filename), conversion.plain.signature.key)


def _create_tflite_compatible_saved_model(src: str, dst: str, **how: Any) -> Conversion:
    """Write the signature on plain tensors, and nothing else, as a SavedModel."""
    conversion = prepare(src, **how)
    conversion.plain.save(dst)
    return conversion


def _raise_for(error: Exception, conversion: Conversion) -> NoReturn:
    """Say which ops TFLite does not have, or else what the converter said first."""
    text = str(error)
    ops = {name.strip() for found in _UNSUPPORTED.findall(text) for name in found.split(",")}
    if ops and isinstance(conversion, Conversion):
        raise UnsupportedOps("TFLite", ops, conversion) from error
    raise RewriteFailed(
        f"TFLiteConverter says: {first_line(error)} Convert a model without what it names."
    ) from error


def _single_rows(conversion: Conversion) -> Iterator[Mapping[str, Any]]:
    """Examples one by one, as TFLite calibrates."""
    size = min(len(conversion.sample), _NUM_CALIBRATED_ON)
    every = conversion.rows(0, size)
    for row in range(size):
        yield {name: array[row : row + 1] for name, array in every.items()}


def _by_name(values: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """One example by the names of the inputs, however the user's dataset yields it."""
    if isinstance(values, Mapping):
        return values
    return dict(zip(names, values, strict=True))


class LiteRT(Runtime):
    """A TFLite file, loaded; without a `key`, its default signature is run, or its only one."""

    def __init__(self, path: str, key: str | None = None) -> None:
        from ai_edge_litert.interpreter import Interpreter

        self.name = f"ai-edge-litert {version('ai-edge-litert')}"
        try:
            self._interpreter = Interpreter(model_path=path)
            self._run = _make_runner(self._interpreter, key)
        except (RuntimeError, ValueError) as error:
            raise RewriteFailed(f"{self.name} does not load {path}: {error}") from error
        self.inputs = self._run.get_input_details()
        self.outputs = self._run.get_output_details()

    def answer(self, arrays: Arrays) -> Arrays:
        """What the model answers, with floats for integers that stand for floats."""
        fed = {name: _quantize(arrays[name], detail) for name, detail in self.inputs.items()}
        try:
            found = self._run(**fed)
        except (RuntimeError, ValueError) as error:
            raise RewriteFailed(f"{self.name} cannot run the model: {error}") from error
        return {name: _dequantize(found[name], detail) for name, detail in self.outputs.items()}


def _make_runner(interpreter: Any, key: str | None) -> Any:
    """What calls a signature of a file; files of older converters have none."""
    known = list(interpreter.get_signature_list())
    if not known:
        return _Unsigned(interpreter)
    default = SERVING_DEFAULT if SERVING_DEFAULT in known else known[0]
    return interpreter.get_signature_runner(key or default)


class _Unsigned:
    """A file without signatures, called by the names of its tensors."""

    def __init__(self, interpreter: Any) -> None:
        self._interpreter = interpreter

    def get_input_details(self) -> dict[str, Any]:
        return {_strip(one["name"]): one for one in self._interpreter.get_input_details()}

    def get_output_details(self) -> dict[str, Any]:
        return {_strip(one["name"]): one for one in self._interpreter.get_output_details()}

    def __call__(self, **arrays: Any) -> Arrays:
        details = self.get_input_details()
        for name, array in arrays.items():
            self._interpreter.resize_tensor_input(details[name]["index"], array.shape)
        self._interpreter.allocate_tensors()
        for name, array in arrays.items():
            self._interpreter.set_tensor(details[name]["index"], array)
        self._interpreter.invoke()
        return {
            name: self._interpreter.get_tensor(one["index"])
            for name, one in self.get_output_details().items()
        }


def _strip(tensor: str) -> str:
    """The name of an input or output without what the converter puts around it."""
    return tensor.removeprefix(f"{SERVING_DEFAULT}_").partition(":")[0]


def _quantize(array: Any, detail: dict[str, Any]) -> Any:
    scale, zero = detail["quantization"]
    if array.dtype.kind != "f" or not scale:
        return array.astype(detail["dtype"])
    limits = np.iinfo(detail["dtype"])
    return np.clip(np.round(array / scale + zero), limits.min, limits.max).astype(detail["dtype"])


def _dequantize(array: Any, detail: dict[str, Any]) -> Any:
    scale, zero = detail["quantization"]
    return (array.astype(np.float32) - zero) * np.float32(scale) if scale else array


def _add_metadata(content: bytes, plain: PlainModel) -> bytes:
    """The file with an entry that says what it takes, and a description for other tools."""
    from tensorflow.lite.python import schema_py_generated as schema
    from tensorflow.lite.tools import flatbuffer_utils

    model = flatbuffer_utils.convert_bytearray_to_object(bytearray(content))
    said = {
        "signature": plain.signature.key,
        "inputs": {one.name: one.to_dict() for one in plain.inputs},
        "outputs": plain.outputs,
    }
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(json.dumps(said).encode(), np.uint8)
    model.buffers.append(buffer)
    entry = schema.MetadataT()
    entry.name = METADATA
    entry.buffer = len(model.buffers) - 1
    model.metadata = [*(model.metadata or []), entry]
    model.description = _describe(plain)
    return bytes(flatbuffer_utils.convert_object_to_bytearray(model))


def _describe(plain: PlainModel) -> str:
    takes = "; ".join(f"{one.name}: {one.meaning}" for one in plain.inputs)
    return f"{plain.signature.key} takes {takes}"
