# SPDX-License-Identifier: Apache-2.0
"""TFT's analysis graph, executed here: one pass over the data per phase, then plain functions.

Walking the graph computes nothing. It gives every node a value that is computed when it is asked
for, and every node that reads data joins the pass of its phase. Asking for the last node, a
SavedModel without analyzers in it, then runs what it needs, phase by phase:

    CreateSavedModel ◀─ CreateTensorBinding ◀─ merge … ◀─ accumulate ◀─ ApplySavedModel ◀─┐
                             of the phase before: CreateSavedModel ◀─ CreateTensorBinding ┘
"""

import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow_transform import analyzer_nodes, graph_tools, impl_helper, nodes, tf_utils
from tensorflow_transform.saved import saved_transform_io

from stoker.dsl.pool import Pool
from stoker.transform import vocabulary
from stoker.transform.accumulate import (
    Accumulation,
    Combined,
    CombinedPerKey,
    Vocabulary,
    combine_per_key,
    group_by_key,
    merge_accumulators,
)
from stoker.transform.analyzer_cache import decode, read_cached_records
from stoker.transform.internals import (
    DatasetCache,
    DatasetKey,
    Ordering,
    TensorBinding,
    beam_nodes,
    bind_tensors_of_tensorflow_1,
    joined_boundaries,
    tensors_by_name,
)
from stoker.transform.passes import Dataset, Pass, gather
from stoker.transform.tracing import Traced

Elements = list[Any]
"""What Beam would have in a collection."""
Value = Callable[[], Elements]


class _Rows(NamedTuple):
    """The outputs of a phase's graph, of one dataset or of all; or some of those, in order."""

    one_pass: Pass
    gathered: Callable[[], list[Elements]]
    dataset: DatasetKey
    keys: tuple[str, ...] = ()


class Analysis(nodes.Visitor):  # type: ignore[misc]
    """Gives the nodes of an analysis graph their values."""

    def __init__(
        self,
        traced: Traced,
        datasets: Sequence[Dataset],
        pool: Pool,
        caches: Mapping[DatasetKey, DatasetCache],
    ) -> None:
        self.decoded: dict[DatasetKey, dict[bytes, list[bytes]]] = {}
        """The records that came from the cache."""
        self._caches = caches
        self._traced = traced
        self._datasets = datasets
        self._pool = pool
        self._phases: dict[int, _Rows] = {}
        self._fingerprint = (
            None
            if traced.compat_v1
            else graph_tools.get_analyzers_fingerprint(traced.graph, traced.inputs)
        )
        self._functions: Mapping[type, Callable[..., Elements]] = {
            **_FUNCTIONS,
            beam_nodes.CreateSavedModel: self._saved_model,
            analyzer_nodes.DecodeCache: self._from_cache,
            analyzer_nodes.ExtractVocabularyReservedTokens: lambda operation: [
                tf_utils.fetch_vocabulary_reserved_tokens(traced.graph, operation.name)
            ],
            analyzer_nodes.VocabularyOrderAndWrite: lambda operation, entries, reserved=(): [
                vocabulary.write(
                    operation, vocabulary.order(operation, entries, *reserved), traced.tmp_dir
                )
            ],
        }

    def visit(self, operation: nodes.OperationDef, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The values of a node's outputs."""
        match operation:
            case beam_nodes.ExtractInputForSavedModel():
                return (operation.dataset_key,)
            case beam_nodes.ApplySavedModel():
                return (self._rows(operation, *inputs),)
            case beam_nodes.ExtractFromDict() if isinstance(inputs[0], _Rows):
                return (inputs[0]._replace(keys=operation.keys),)
            case analyzer_nodes.PackedCombineAccumulate():
                return (self._accumulate_packed(operation, *inputs),)
        if accumulation := _ACCUMULATIONS.get(type(operation)):
            (rows,) = inputs
            return (self._join_pass(rows, accumulation(operation, rows.keys)),)
        function = self._functions[type(operation)]
        result = cache(lambda: function(operation, *(value() for value in inputs)))
        if operation.num_outputs == 1:
            return (result,)
        return tuple(_nth(result, index) for index in range(operation.num_outputs))

    def validate_value(self, value: Any) -> None:
        """A value is a function, or stands for rows or for a dataset."""
        assert callable(value) or isinstance(value, _Rows | DatasetKey), value

    def _rows(
        self, operation: beam_nodes.ApplySavedModel, saved_model: Value, dataset: DatasetKey
    ) -> _Rows:
        """The rows of a dataset in a phase. All datasets share the pass of the phase."""
        if operation.phase not in self._phases:
            one_pass = Pass(saved_model=saved_model)
            gathered = cache(
                lambda: gather(one_pass, self._datasets, self._traced.schema, self._pool)
            )
            self._phases[operation.phase] = _Rows(one_pass, gathered, dataset)
        return self._phases[operation.phase]._replace(dataset=dataset)

    def _accumulate_packed(
        self, operation: analyzer_nodes.PackedCombineAccumulate, rows: _Rows
    ) -> Value:
        values = {
            packed.label: self._join_pass(rows, Combined(packed.keys, packed.combiner))
            for packed in operation.combiners
        }
        return lambda: [{label: value()[0] for label, value in values.items()}]

    def _join_pass(self, rows: _Rows, accumulation: Accumulation) -> Value:
        """Let a pass gather one thing more."""
        index = len(rows.one_pass.wanted)
        rows.one_pass.wanted.append((rows.dataset, accumulation))
        return lambda: rows.gathered()[index]

    def _from_cache(self, operation: analyzer_nodes.DecodeCache) -> Elements:
        key, entry = operation.dataset_key, operation.cache_key
        records = read_cached_records(self._caches[key], entry)
        self.decoded.setdefault(key, {})[entry] = records
        return [decode(operation.coder, record) for record in records]

    def _saved_model(self, operation: beam_nodes.CreateSavedModel, *bindings: Elements) -> Elements:
        """The function as a SavedModel, with the values of the analyzers that are known by now."""
        known = [binding for (binding,) in bindings]
        if self._traced.compat_v1:
            return [self._saved_model_of_tensorflow_1(operation, known)]
        path = self._new_dir()
        outputs = operation.output_signature
        final = any(not isinstance(tensor, tf.Tensor) for tensor in outputs.values())
        impl_helper.trace_and_write_v2_saved_model(
            path,
            self._traced.preprocessing_fn,
            self._traced.specs,
            self._traced.tmp_dir,
            self._fingerprint,
            tensors_by_name(*known),
            {} if final else {name: tensor.name for name, tensor in outputs.items()},
            None,
        )
        return [path]

    def _saved_model_of_tensorflow_1(
        self, operation: beam_nodes.CreateSavedModel, bindings: list[TensorBinding]
    ) -> str:
        path, graph = self._new_dir(), self._traced.graph
        with graph.as_default(), tf.compat.v1.Session(graph=graph) as session:
            initializers = tf.compat.v1.get_collection_ref(
                tf.compat.v1.GraphKeys.TABLE_INITIALIZERS
            )
            all_initializers = list(initializers)
            initializers[:] = operation.table_initializers
            session.run(tf.compat.v1.global_variables_initializer())
            saved_transform_io.write_saved_transform_from_session(
                session, self._traced.inputs, operation.output_signature, path
            )
            initializers[:] = all_initializers
        if not bindings:
            return path
        return bind_tensors_of_tensorflow_1(path, self._traced.tmp_dir, *bindings)

    def _new_dir(self) -> str:
        return os.path.join(self._traced.tmp_dir, uuid.uuid4().hex)


def beam_only(traced: Traced) -> list[str]:
    """The nodes that only Beam can run: users' own PTransforms."""
    found = _Labels()
    traverser = nodes.Traverser(found)
    for analyzer in traced.analyzers:
        traverser.visit_value_node(analyzer)
    return found.labels


class _Labels(nodes.Visitor):  # type: ignore[misc]
    """Collects the labels of the nodes that cannot run here."""

    def __init__(self) -> None:
        self.labels: list[str] = []

    def visit(self, operation: nodes.OperationDef, _: tuple[Any, ...]) -> tuple[Any, ...]:
        """Look at one node; its value is of no interest."""
        if not _is_local(operation):
            self.labels.append(operation.label)
        return (None,) * int(operation.num_outputs)

    def validate_value(self, value: Any) -> None:
        """Any value will do."""


def _is_local(operation: nodes.OperationDef) -> bool:
    if isinstance(operation, analyzer_nodes.VocabularyAccumulate):
        return bool(operation.vocab_ordering_type != Ordering.WEIGHTED_LABELS)
    return isinstance(operation, (*_OTHERS, *_ACCUMULATIONS, *_FUNCTIONS))


def _nth(result: Value, index: int) -> Value:
    """One output of a node that has several."""
    return lambda: result()[index]


def _extract(operation: beam_nodes.ExtractFromDict, elements: Elements) -> Elements:
    return [element[operation.keys] for element in elements]


def _merge_packed(
    operation: analyzer_nodes.PackedCombineMerge, pairs: list[tuple[str, Any]]
) -> Elements:
    accumulators = group_by_key(pairs)
    return [
        {
            packed.label: packed.combiner.extract_output(
                merge_accumulators(packed.combiner, accumulators[packed.keys[0]])
            )
            for packed in operation.combiners
        }
    ]


def _merge_combined(
    operation: analyzer_nodes.CacheableCombineMerge, accumulators: Elements
) -> Elements:
    return [operation.combiner.extract_output(merge_accumulators(operation.combiner, accumulators))]


def _merge_per_key(
    operation: analyzer_nodes.CacheableCombinePerKeyMerge, pairs: list[tuple[bytes, Any]]
) -> Elements:
    of_key = combine_per_key(operation.combiner, pairs)
    return [
        (key, operation.combiner.extract_output(accumulator)) for key, accumulator in of_key.items()
    ]


def _format_keys(
    operation: analyzer_nodes.CacheableCombinePerKeyFormatKeys, pairs: list[tuple[bytes, Any]]
) -> Elements:
    """The keys in order, then for each output of the combiner its values in the same order."""
    ordered = sorted(pairs, key=lambda pair: pair[0])
    infos = operation.combiner.output_tensor_infos()
    columns = [[outputs[index] for _, outputs in ordered] for index in range(len(infos))]
    return [
        [np.array([key for key, _ in ordered], object)],
        *(
            [np.array(column, info.dtype.as_numpy_dtype)]
            for column, info in zip(columns, infos, strict=True)
        ),
    ]


def _format_large(
    _: analyzer_nodes.CacheableCombinePerKeyFormatLarge, pairs: list[tuple[bytes, Any]]
) -> Elements:
    return [(",".join(map(tf.compat.as_str_any, values)), key) for key, values in pairs]


def _outputs(operation: analyzer_nodes.ExtractCombineMergeOutputs, elements: Elements) -> Elements:
    """The outputs of a combiner, each a value of its own."""
    (outputs,) = elements
    if len(outputs) != operation.num_outputs:
        raise ValueError(
            f"The analyzer {operation.label} should have {operation.num_outputs} outputs, and its "
            f"combiner made {len(outputs)}."
        )
    return list(outputs) if operation.num_outputs == 1 else [[output] for output in outputs]


_ACCUMULATIONS: Mapping[type, Callable[[Any, tuple[str, ...]], Accumulation]] = {
    analyzer_nodes.CacheableCombineAccumulate: lambda operation, keys: Combined(
        keys, operation.combiner
    ),
    analyzer_nodes.CacheableCombinePerKeyAccumulate: lambda operation, keys: CombinedPerKey(
        keys, operation.combiner
    ),
    analyzer_nodes.VocabularyAccumulate: lambda operation, keys: Vocabulary(
        keys, operation.vocab_ordering_type
    ),
}
"""The nodes that read data."""

_FUNCTIONS: Mapping[type, Callable[..., Elements]] = {
    beam_nodes.CreateTensorBinding: lambda operation, values: [
        TensorBinding(
            values[0], operation.tensor_name, operation.dtype_enum, operation.is_asset_filepath
        )
    ],
    beam_nodes.ExtractFromDict: _extract,
    beam_nodes.Flatten: lambda _, *many: [element for elements in many for element in elements],
    analyzer_nodes.AddKey: lambda operation, elements: [
        (operation.key, element) for element in elements
    ],
    analyzer_nodes.FlattenLists: lambda _, lists: [
        element for elements in lists for element in elements
    ],
    analyzer_nodes.EncodeCache: lambda operation, elements: [
        operation.coder.encode_cache(element) for element in elements
    ],
    analyzer_nodes.PackedCombineMerge: _merge_packed,
    analyzer_nodes.CacheableCombineMerge: _merge_combined,
    analyzer_nodes.ExtractCombineMergeOutputs: _outputs,
    analyzer_nodes.ExtractPackedCombineMergeOutputs: _outputs,
    analyzer_nodes.CacheableCombinePerKeyMerge: _merge_per_key,
    analyzer_nodes.CacheableCombinePerKeyFormatKeys: _format_keys,
    analyzer_nodes.CacheableCombinePerKeyFormatLarge: _format_large,
    analyzer_nodes.ScaleAndFlattenPerKeyBucketBouandaries: lambda _, boundaries: [
        [part] for part in joined_boundaries(boundaries[0])
    ],
    analyzer_nodes.VocabularyMerge: vocabulary.merge,
    analyzer_nodes.VocabularyPrune: vocabulary.prune,
    analyzer_nodes.VocabularyCount: lambda _, entries: [vocabulary.size(entries)],
}
"""The nodes that work on what others made: (operation, *inputs) to elements, or to elements for
each of several outputs."""

_OTHERS = (
    analyzer_nodes.TensorSource,
    analyzer_nodes.ExtractVocabularyReservedTokens,
    analyzer_nodes.VocabularyOrderAndWrite,
)
"""The nodes that an analyzer makes and that need an Analysis to run."""
