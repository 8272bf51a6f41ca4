# SPDX-License-Identifier: Apache-2.0
"""What our own executors read, as PTransforms: for users' executors that begin with one of them."""

from collections.abc import Iterator, Mapping
from typing import Any

import apache_beam as beam

from stoker.components.example_gen.executor import ColumnsExecutor, Source
from stoker.dsl.proto.example_gen_pb2 import FORMAT_TF_EXAMPLE


class ReadColumns(beam.PTransform):  # type: ignore[misc]
    """The tf.Examples that an executor of ours reads, or its records, if they are something else.

    It keeps only what can be sent to another process of Beam's.
    """

    def __init__(
        self,
        executor_class: type[ColumnsExecutor],
        exec_properties: Mapping[str, Any],
        split_pattern: str,
    ) -> None:
        super().__init__()
        self._executor_class = executor_class
        self._source = Source(
            places=executor_class().find_places(exec_properties, split_pattern),
            parameters=dict(exec_properties),
        )

    def expand(self, pipeline: Any) -> Any:
        """Read."""
        return (
            pipeline
            | "Source" >> beam.Create([self._source])
            | "Read" >> beam.FlatMap(_read, self._executor_class)
        )


def _read(source: Source, executor_class: Any) -> Iterator[Any]:  # Beam knows no `type[…]`
    records = executor_class().read(source)
    if source.payload_format != FORMAT_TF_EXAMPLE:
        yield from records
        return
    from tensorflow.core.example.example_pb2 import Example

    yield from map(Example.FromString, records)
