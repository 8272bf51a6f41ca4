# SPDX-License-Identifier: Apache-2.0
"""Small tools that executors of users' own call; the names are TFX's."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stoker.any_python.modules import load_dotted, load_module_file
from stoker.artifacts import Artifact
from stoker.dsl.proto.example_gen_pb2 import PayloadFormat

_BLESSED = "blessed"
_PAYLOAD_FORMAT = "payload_format"
_FILE_FORMAT = "file_format"
_WRITTEN_FORMAT = "tfrecords_gzip"


def is_model_blessed(model_blessing: Artifact) -> bool:
    """Whether an Evaluator blessed the model."""
    return model_blessing.get_int_custom_property(_BLESSED) == 1


def is_infra_validated(infra_blessing: Artifact) -> bool:
    """Whether an InfraValidator could serve the model."""
    return infra_blessing.get_int_custom_property(_BLESSED) == 1


def get_payload_format(examples: Artifact) -> int:
    """What the records are: tf.Examples, if nothing is said."""
    name = examples.get_string_custom_property(_PAYLOAD_FORMAT)
    return PayloadFormat.Value(name or "FORMAT_TF_EXAMPLE")


def get_payload_format_string(examples: Artifact) -> str:
    """The name of what the records are."""
    return PayloadFormat.Name(get_payload_format(examples))


def set_payload_format(examples: Artifact, payload_format: int) -> None:
    """Say what the records are."""
    name = PayloadFormat.Name(payload_format)
    examples.set_string_custom_property(_PAYLOAD_FORMAT, name)


def get_file_format(examples: Artifact) -> str:
    """What the files are."""
    return examples.get_string_custom_property(_FILE_FORMAT) or _WRITTEN_FORMAT


def set_file_format(examples: Artifact, file_format: str) -> None:
    """Say what the files are."""
    examples.set_string_custom_property(_FILE_FORMAT, file_format)


def GetValues(inputs: Mapping[str, Sequence[Any]], label: str) -> Sequence[Any]:
    """The values under a key, always as a list."""
    values = inputs.get(label)
    if not values:
        return []
    return values if isinstance(values, list) else [values]


def GetSoleValue(inputs: Mapping[str, Sequence[Any]], label: str, strict: bool = True) -> Any:
    """The one value under a key; None if there is none and `strict` does not ask for it."""
    values = GetValues(inputs, label)
    if len(values) > 1 or (strict and not values):
        raise ValueError(f"There must be one value of {label!r}, got {len(values)}: {values!r}.")
    return values[0] if values else None


def FunctionHasArg(fn: Callable[..., Any], arg_name: str) -> bool:
    """Whether a function takes an argument of a name."""
    return arg_name in inspect.signature(fn).parameters


def get_fn(exec_properties: Mapping[str, Any], fn_name: str) -> Callable[..., Any]:
    """A function of the user's, from the module file of a step."""
    found = try_get_fn(exec_properties, fn_name)
    if found is None:
        raise ValueError(
            f"There is no function {fn_name} in {exec_properties.get('module_file')!r}, and no "
            f"parameter {fn_name} names one. Define it there."
        )
    return found


def try_get_fn(exec_properties: Mapping[str, Any], fn_name: str) -> Callable[..., Any] | None:
    """A function of the user's, from the module file of a step, or None."""
    if module_file := exec_properties.get("module_file"):
        return getattr(load_module_file(module_file), fn_name, None)
    path = exec_properties.get(fn_name)
    return load_dotted(path) if path else None
