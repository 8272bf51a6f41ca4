# SPDX-License-Identifier: Apache-2.0
"""What a model and its rewritten form are both called with: eval examples, or made-up ones."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from google.protobuf.message import DecodeError

from stoker.data.input_files import matching_files
from stoker.data.tfrecord import read_records
from stoker.dsl.proto.example_pb2 import Example
from stoker.errors import BadData, RewriteFailed
from stoker.models.inputs import Arrays, Misfit, find_fitting, make_inputs, make_up_example
from stoker.models.made_up import close_shape, draw_values
from stoker.models.rewriting.signature import FlatSignature
from stoker.models.saved_model import Signature
from stoker.models.serving_model import CALL_ERRORS, first_line

_NUM_EXAMPLES = 500
_NUM_MADE_UP = 64
_OPEN_SIZE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Inputs of a signature, one row for each example."""

    arrays: Arrays
    source: str

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values()), ()))


def draw(function: FlatSignature, files: Sequence[str]) -> Sample:
    """The first examples of these files as inputs; RewriteFailed if the signature takes others."""
    every = itertools.chain.from_iterable(map(read_records, matching_files(files)))
    records = list(itertools.islice(every, _NUM_EXAMPLES))
    if not records:
        raise RewriteFailed(
            f"There are no examples in {', '.join(files)} to compare models on. Name others."
        )
    signature = function.signature
    try:
        if not signature.takes_examples:
            records = _keep_fitting(signature, records)
        arrays = make_inputs(signature, records)
    except Misfit as misfit:
        raise RewriteFailed(
            f"The signature {function.key!r} of {function.path} takes "
            f"{', '.join(signature.inputs)}, and no example in {', '.join(files)} has features of "
            f"these names, types and sizes: {misfit}. Name the inputs as the features are named."
        ) from misfit
    arrays = _keep_answered(function, arrays, files)
    return Sample(arrays=arrays, source=f"{len(next(iter(arrays.values())))} eval examples")


def draw_if_fitting(function: FlatSignature, files: Sequence[str]) -> Sample:
    """Examples of these files if there are such that fit; else made-up inputs, which say why."""
    if not files:
        return _make_up(function.signature, "no examples were given")
    try:
        return draw(function, files)
    except (BadData, RewriteFailed) as error:
        return _make_up(function.signature, str(error))


def _keep_fitting(signature: Signature, records: Sequence[bytes]) -> list[bytes]:
    try:
        examples = [Example.FromString(record) for record in records]
    except DecodeError as error:
        raise BadData(
            f"A record to compare models on is not a tf.Example: {error}. Name other examples."
        ) from error
    return [example.SerializeToString() for example in find_fitting(signature, examples)]


def _keep_answered(function: FlatSignature, arrays: Arrays, files: Sequence[str]) -> Arrays:
    """The rows that the signature answers; usually all."""
    try:
        function(arrays)
        return arrays
    except CALL_ERRORS as error:
        size = len(next(iter(arrays.values())))
        good = [row for row in range(size) if _works(function, arrays, row)]
        if not good:
            raise RewriteFailed(
                f"The signature {function.key!r} of {function.path} takes none of the examples "
                f"in {', '.join(files)}: {first_line(error)} Give it those that it is served "
                "with, which are the raw ones where the model holds a transform graph."
            ) from error
        return {name: array[good] for name, array in arrays.items()}


def _works(function: FlatSignature, arrays: Arrays, row: int) -> bool:
    try:
        function({name: array[row : row + 1] for name, array in arrays.items()})
    except CALL_ERRORS:
        return False
    return True


def _make_up(signature: Signature, why: str) -> Sample:
    """Random inputs, and empty words."""
    random = np.random.default_rng(1)
    if signature.takes_examples:
        examples = [
            make_up_example(
                signature, lambda _, dtype, num: draw_values(random, dtype, [num or 1]).tolist()
            )
            for _ in range(_NUM_MADE_UP)
        ]
        arrays = make_inputs(signature, [one.SerializeToString() for one in examples])
    else:
        arrays = {
            name: draw_values(
                random,
                info.dtype,
                close_shape(info.shape, num_rows=_NUM_MADE_UP, size=_OPEN_SIZE),
            )
            for name, info in signature.inputs.items()
        }
    return Sample(arrays=arrays, source=f"{_NUM_MADE_UP} made-up inputs, because {why}")
