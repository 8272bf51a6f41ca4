# SPDX-License-Identifier: Apache-2.0
"""StatisticsGen: counts what is in each split of examples."""

import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from stoker import dsl
from stoker.any_python.layout import only_file
from stoker.any_python.progress import advance_after, follow
from stoker.artifacts import Examples, ExampleStatistics, Schema
from stoker.stand_ins.tfdv.stats_options import StatsOptions
from stoker.storage.needed import Needed

if TYPE_CHECKING:
    from stoker.data.sharding import Shard
    from stoker.statistics.compute import Counts


class StatisticsGenSpec(dsl.ComponentSpec):
    """The table of StatisticsGen."""

    PARAMETERS: ClassVar = {
        "stats_options_json": dsl.ExecutionParameter(type=str, optional=True),
        "exclude_splits": dsl.ExecutionParameter(type=str, optional=True),
    }
    INPUTS: ClassVar = {
        "examples": dsl.ChannelParameter(type=Examples),
        "schema": dsl.ChannelParameter(type=Schema, optional=True),
    }
    OUTPUTS: ClassVar = {"statistics": dsl.ChannelParameter(type=ExampleStatistics)}
    OLDER_NAMES: ClassVar = {"input_data": "examples", "output": "statistics"}


class StatisticsGen(dsl.BaseComponent):
    """Counts, histograms and top values of every feature."""

    SPEC_CLASS: ClassVar = StatisticsGenSpec
    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec("stoker.components.statistics_gen:Executor")
    TYPE_NAME: ClassVar = "tfx.components.statistics_gen.component.StatisticsGen"
    BASE_TYPE: ClassVar = "PROCESS"
    WORKS_ON_SHARDS: ClassVar = True
    PRELOAD: ClassVar = ("stoker.data.columns", "stoker.stand_ins.tfdv.generate")

    @dsl.take_older_names
    def __init__(
        self,
        examples: dsl.Channel,
        schema: dsl.Channel | None = None,
        stats_options: Any = None,
        exclude_splits: list[str] | None = None,
        *,
        instance_name: str | None = None,
    ) -> None:
        """Declare the step.

        Args:
            examples: The examples to count.
            schema: Their schema: numbers that it calls categories are counted as words.
            stats_options: `tfdv.StatsOptions`, or a dict with some of its fields.
            exclude_splits: The splits to leave out; none by default.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        if stats_options is not None:
            stats_options = StatsOptions.of(stats_options)
            stats_options.check()
        spec = StatisticsGenSpec.from_arguments(
            locals(),
            stats_options_json=stats_options and stats_options.to_json(),
            exclude_splits=json.dumps(exclude_splits or []),
        )
        super().__init__(spec, instance_name=instance_name)

    def find_needed(self, parameters: dict[str, Any], splits: Sequence[str]) -> Needed:
        """The columns of the splits that are counted."""
        return Needed(splits=_leave_out(splits, parameters), form="columns")


def _leave_out(splits: Sequence[str], parameters: Mapping[str, Any]) -> list[str]:
    excluded = json.loads(parameters.get("exclude_splits") or "[]") or []
    return [split for split in splits if split not in excluded]


class Executor(dsl.BaseExecutor):
    """Writes `Split-<name>/FeatureStats.pb` for every split that is not excluded."""

    def Do(  # noqa: D102
        self, input_dict: dsl.Artifacts, output_dict: dsl.Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        from stoker.data.columns import find_num_rows, find_shards
        from stoker.data.sharding import plan_shards
        from stoker.statistics.compute import STATISTICS_FILE, write_statistics
        from stoker.statistics.data_schema import read_schema

        options = StatsOptions.from_json(exec_properties.get("stats_options_json") or "{}")
        for schema in input_dict.get("schema") or ():
            options.schema = read_schema(only_file(schema.uri))
        (examples,), (statistics,) = input_dict["examples"], output_dict["statistics"]
        assert isinstance(examples, Examples)
        assert isinstance(statistics, ExampleStatistics)
        statistics.splits = _leave_out(examples.splits, exec_properties)
        statistics.span = examples.span
        files = {split: find_shards(examples.path(split=split)) for split in statistics.splits}
        shards = {split: plan_shards(many) for split, many in files.items()}
        with self._context.open_pool(max(map(len, shards.values()), default=0)) as pool:
            for split, many in shards.items():
                with follow(f"counting {split}", total=find_num_rows(files[split])):
                    count = partial(_count_shard, options.to_json())
                    counted = _merge(pool.map(count, enumerate(many)))
                path = os.path.join(statistics.path(split=split), STATISTICS_FILE)
                write_statistics(counted.describe(), path)


def _count_shard(options_json: str, numbered: "tuple[int, Shard]") -> "Counts":
    """Count the examples of a shard, one file after the other, so that only one is in memory."""
    from stoker.data.columns import read_batches
    from stoker.stand_ins.tfdv.generate import count_shard

    number, shard = numbered
    batches = itertools.chain.from_iterable(read_batches([path]) for path in shard.files)
    return count_shard(advance_after(batches), StatsOptions.from_json(options_json), number)


def _merge(counted: "Iterator[Counts]") -> "Counts":
    total = next(counted)
    for counts in counted:
        total.merge(counts)
    return total
