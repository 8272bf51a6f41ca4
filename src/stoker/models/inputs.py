# SPDX-License-Identifier: Apache-2.0
"""tf.Examples as what a signature takes: serialized, or their features by name as plain tensors."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import BadData

if TYPE_CHECKING:
    from stoker.models.saved_model import ParsedFeature, Signature, TensorInfo

Arrays = dict[str, np.ndarray]
"""Arrays by the names of inputs or outputs."""

_DTYPES = {"bytes_list": "string", "float_list": "float32", "int64_list": "int64"}
_LISTS = {dtype: kind for kind, dtype in _DTYPES.items()}
LAYER_SUFFIX = "_input"
"""What Keras 2 puts after the name of a layer, for that of its input."""


class Misfit(BadData):
    """The examples at hand are not what a signature takes; the message says why.

    `is_parsed` is set where the signature parses what no example has.
    """

    def __init__(self, message: str, *, is_parsed: bool = False) -> None:
        super().__init__(message)
        self.is_parsed = is_parsed


def make_inputs(signature: "Signature", records: Sequence[bytes], *, exact: bool = False) -> Arrays:
    """What a signature is called with for some serialized tf.Examples, or Misfit.

    With `exact`, numbers are refused that another type would change.
    """
    if not signature.takes_examples:
        return _make_columns(signature.inputs, records, exact)
    ((name, info),) = signature.inputs.items()
    array = np.array(records, object)
    if info.shape != []:
        return {name: array}
    if len(records) != 1:
        raise Misfit(f"it takes one example at a time, and there are {len(records)}")
    return {name: array[0]}


def _make_columns(
    inputs: Mapping[str, "TensorInfo"], records: Sequence[bytes], exact: bool
) -> Arrays:
    from stoker.data.decode import decode  # its decoder takes a while to import

    try:
        (batch,) = decode(records, batch_rows=len(records))
    except BadData as error:
        raise Misfit(str(error)) from error
    return {
        name: _reshape(_cast(_read_rows(batch, name), name, info.dtype, exact), name, info.shape)
        for name, info in inputs.items()
    }


def _read_rows(batch: Any, name: str) -> np.ndarray:
    """The values of a feature, as many in each row.

    The input of a Keras layer `x` is called `x_input`, and is fed the feature `x`, as by TFMA.
    """
    features = batch.schema.names
    found = name if name in features else name.removesuffix(LAYER_SUFFIX)
    lists = batch.column(found) if found in features else None
    if lists is None or not lists.type.num_fields:  # a list without a type has no values at all
        raise Misfit(f"the examples have no feature {name!r}")
    widths = np.unique(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False))
    if not widths.any():
        raise Misfit(f"the examples have no feature {name!r}")
    if len(widths) > 1:
        raise Misfit(f"the feature {name!r} differs in length from example to example")
    values: np.ndarray = lists.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(batch), -1)


def _cast(array: np.ndarray, name: str, dtype: str, exact: bool) -> np.ndarray:
    is_text = array.dtype == object
    if is_text != (dtype == "string"):
        found = "string" if is_text else array.dtype
        raise Misfit(f"{name!r} takes {dtype}, and the feature is {found}")
    if is_text:
        return array
    try:
        with np.errstate(all="ignore"):
            cast = array.astype(dtype)
    except TypeError as error:
        raise Misfit(f"{name!r} takes {dtype}, which no feature is") from error
    if exact and not np.array_equal(cast.astype(array.dtype), array, equal_nan=True):
        raise Misfit(f"{name!r} takes {dtype}, which cannot hold what the feature has")
    return cast


def _reshape(array: np.ndarray, name: str, shape: list[int] | None) -> np.ndarray:
    if shape is None:
        return array
    wanted = (len(array), *shape[1:])
    if not shape or wanted.count(-1) > 1:
        raise Misfit(f"{name!r} has the shape {shape}, which is no batch of examples")
    try:
        return array.reshape(wanted)
    except ValueError as error:
        raise Misfit(
            f"{name!r} has the shape {shape}, and the feature {array.shape[1]} values"
        ) from error


def find_fitting(
    signature: "Signature", examples: Sequence[Example], *, exact: bool = False
) -> list[Example]:
    """The examples that a signature takes; Misfit if there are none.

    Those with NaN or infinity are left out, which no model has to make sense of.
    """
    problems = [_find_problem(signature, example, exact) for example in examples]
    if all(problems):
        raise Misfit(
            problems[0] or "there are no examples",
            is_parsed=bool(problems) and signature.takes_examples,
        )
    fitting = [one for one, problem in zip(examples, problems, strict=True) if not problem]
    finite = [one for one in fitting if _is_finite(one, signature.feature_names)]
    if not finite:
        raise Misfit("every example has a value that is not finite")
    return finite


def takes_some(signature: "Signature", records: Sequence[bytes]) -> bool:
    """Whether a signature takes one of the examples, and finds something in it."""
    names = set(signature.feature_names)
    examples = map(Example.FromString, records)
    return any(
        not names.isdisjoint(one.features.feature) and _find_problem(signature, one, False) is None
        for one in examples
    )


def has_feature(records: Sequence[bytes], name: str) -> bool:
    """Whether an example has the feature that an input of this name is fed."""
    names = {name, name.removesuffix(LAYER_SUFFIX)}
    examples = map(Example.FromString, records)
    return any(not names.isdisjoint(one.features.feature) for one in examples)


def _find_problem(signature: "Signature", example: Example, exact: bool) -> str | None:
    """Why a signature does not take an example; None if it does."""
    if signature.takes_examples:
        return _find_problem_of_parser(example, signature.parses or {})
    try:
        make_inputs(signature, [example.SerializeToString()], exact=exact)
    except Misfit as misfit:
        return str(misfit)
    return None


def _find_problem_of_parser(example: Example, parses: Mapping[str, "ParsedFeature"]) -> str | None:
    for name, feature in parses.items():
        found = example.features.feature.get(name)
        kind = found and found.WhichOneof("kind")
        if not kind:
            if feature.required:
                return f"the examples have no feature {name!r}, which it requires"
        elif _DTYPES[kind] != feature.dtype:
            return f"the feature {name!r} is {_DTYPES[kind]}, and it parses {feature.dtype}"
        elif feature.size not in (None, size := len(list_values(example, name))):
            return f"the feature {name!r} has {size} values, and it parses {feature.size}"
    return None


def _is_finite(example: Example, names: Iterable[str]) -> bool:
    values = (value for name in names for value in list_values(example, name))
    return all(isinstance(value, bytes) or math.isfinite(value) for value in values)


def list_values(example: Example, name: str) -> list[Any]:
    """The values of a feature; none if it is missing."""
    feature = example.features.feature.get(name)
    kind = feature and feature.WhichOneof("kind")
    return list(getattr(feature, kind).value) if kind else []


def make_up_example(
    signature: "Signature", choose: Callable[[str, str, int | None], Sequence[Any]]
) -> Example:
    """An example with what a signature parses; `choose` takes a name, a type and how many.

    It is None where a signature takes any number.
    """
    example = Example()
    for name, feature in (signature.parses or {}).items():
        values = getattr(example.features.feature[name], _LISTS[feature.dtype]).value
        values.extend(choose(name, feature.dtype, feature.size))
    return example
