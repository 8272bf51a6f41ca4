# SPDX-License-Identifier: Apache-2.0
"""Transform as a pipeline sees it: its table, and the rules on its arguments."""

from collections.abc import Sequence
from typing import Any, ClassVar

from stoker import dsl
from stoker.artifacts import (
    ExampleAnomalies,
    Examples,
    ExampleStatistics,
    Schema,
    TransformCache,
    TransformGraph,
)
from stoker.dsl.proto.transform_pb2 import SplitsConfig
from stoker.storage.needed import Needed

_STATISTICS = (
    "pre_transform_schema",
    "pre_transform_stats",
    "post_transform_schema",
    "post_transform_stats",
    "post_transform_anomalies",
)


class TransformSpec(dsl.ComponentSpec):
    """The table of Transform."""

    INPUTS: ClassVar = {
        "examples": dsl.ChannelParameter(type=Examples),
        "schema": dsl.ChannelParameter(type=Schema),
        "analyzer_cache": dsl.ChannelParameter(type=TransformCache, optional=True),
    }
    OUTPUTS: ClassVar = {
        "transform_graph": dsl.ChannelParameter(type=TransformGraph),
        "transformed_examples": dsl.ChannelParameter(type=Examples, optional=True),
        "updated_analyzer_cache": dsl.ChannelParameter(type=TransformCache, optional=True),
        "pre_transform_schema": dsl.ChannelParameter(type=Schema, optional=True),
        "pre_transform_stats": dsl.ChannelParameter(type=ExampleStatistics, optional=True),
        "post_transform_schema": dsl.ChannelParameter(type=Schema, optional=True),
        "post_transform_stats": dsl.ChannelParameter(type=ExampleStatistics, optional=True),
        "post_transform_anomalies": dsl.ChannelParameter(type=ExampleAnomalies, optional=True),
    }
    OLDER_NAMES: ClassVar = {"input_data": "examples", "transform_output": "transform_graph"}
    PARAMETERS: ClassVar = {
        "module_file": dsl.ExecutionParameter(type=str, optional=True, names_file=True),
        "preprocessing_fn": dsl.ExecutionParameter(type=str, optional=True),
        "stats_options_updater_fn": dsl.ExecutionParameter(type=str, optional=True),
        "force_tf_compat_v1": dsl.ExecutionParameter(type=int, optional=True),
        "custom_config": dsl.ExecutionParameter(type=str, optional=True),
        "splits_config": dsl.ExecutionParameter(type=SplitsConfig, optional=True),
        "disable_statistics": dsl.ExecutionParameter(type=int, optional=True),
        # Which outputs there are: an execution that lacks one of them is not the same.
        "outputs": dsl.ExecutionParameter(type=str, optional=True),
    }


class Transform(dsl.UserCodeComponent):
    """Learns a transformation from the examples, and applies it to them.

    The code is a `preprocessing_fn(inputs)`, or `preprocessing_fn(inputs, custom_config)`, in
    `module_file`, or the function that `preprocessing_fn` names ("package.module.function").
    tensorflow-transform makes a graph of it, which goes to the Trainer and into the served model.

    Examples of several spans are transformed into one output. What was learned from each span goes
    to the output `updated_analyzer_cache`. Statistics are of at most 100,000 examples.

    A `--runner` in the pipeline's beam_pipeline_args that is not a direct one runs it on that
    runner; `--direct_num_workers` is the number of processes on this machine.
    """

    SPEC_CLASS: ClassVar = TransformSpec
    FUNCTIONS: ClassVar = ("preprocessing_fn",)
    PRELOAD: ClassVar = (
        "stoker.transform.local_engine",
        "stoker.transform.examples_statistics",
    )
    USES_TENSORFLOW: ClassVar = True
    WORKS_ON_SHARDS: ClassVar = True
    USES_BEAM: ClassVar = True
    PACKAGES: ClassVar = ("tensorflow_transform",)
    EXECUTOR_SPEC: ClassVar = dsl.ExecutorClassSpec("stoker.components.transform.executor:Executor")
    TYPE_NAME: ClassVar = "tfx.components.transform.component.Transform"
    BASE_TYPE: ClassVar = "TRANSFORM"

    @dsl.take_older_names
    def __init__(
        self,
        examples: dsl.Channel | None = None,
        schema: dsl.Channel | None = None,
        module_file: str | dsl.RuntimeParameter | None = None,
        preprocessing_fn: str | dsl.RuntimeParameter | None = None,
        splits_config: SplitsConfig | dict[str, Any] | None = None,
        analyzer_cache: dsl.Channel | None = None,
        materialize: bool = True,
        disable_analyzer_cache: bool = False,
        force_tf_compat_v1: bool = False,
        custom_config: dict[str, Any] | dsl.RuntimeParameter | None = None,
        disable_statistics: bool = False,
        stats_options_updater_fn: str | None = None,
        *,
        instance_name: str | None = None,
    ) -> None:
        """Declare the step.

        Args:
            examples: The examples to learn from and to transform.
            schema: Their schema.
            module_file: The path of the file that defines `preprocessing_fn`. Give exactly one of
                `module_file` and `preprocessing_fn`.
            preprocessing_fn: The dotted path of the function, if it is in an installed package.
            splits_config: The splits to analyze, "train" by default, and those to transform, all
                by default.
            analyzer_cache: `updated_analyzer_cache` of an earlier run, as a Resolver finds it: only
                spans that are not in it are analyzed.
            materialize: Whether to write `transformed_examples`. False if the Trainer reads the
                raw examples and transforms them itself.
            disable_analyzer_cache: Leave out the output `updated_analyzer_cache`.
            force_tf_compat_v1: Write a graph that TensorFlow 1.15 can load.
            custom_config: Anything that JSON can say, for a `preprocessing_fn` that takes it.
            disable_statistics: Leave out the schemas, statistics and anomalies of the examples
                before and after.
            stats_options_updater_fn: The dotted path of a function that changes how statistics are
                computed; one in `module_file` is found by itself.
            instance_name: An older way to name the step; `with_id` is today's.
        """
        dsl.check_one_of("Transform", module_file=module_file, preprocessing_fn=preprocessing_fn)
        if analyzer_cache and disable_analyzer_cache:
            raise ValueError("Transform takes analyzer_cache or disable_analyzer_cache, not both.")
        _check_splits(splits_config)
        left_out = [
            *([] if materialize else ["transformed_examples"]),
            *(["updated_analyzer_cache"] if disable_analyzer_cache else []),
            *(_STATISTICS if disable_statistics else []),
        ]
        spec = TransformSpec.from_arguments(
            locals(),
            force_tf_compat_v1=int(force_tf_compat_v1),
            custom_config=dsl.config_as_json("Transform", custom_config),
            disable_statistics=int(disable_statistics),
            outputs=" ".join(key for key in TransformSpec.OUTPUTS if key not in left_out),
        )
        for key in left_out:
            del spec.outputs[key]
        super().__init__(spec, instance_name=instance_name)

    def find_needed(self, parameters: dict[str, Any], splits: Sequence[str]) -> Needed:
        """The splits that are analyzed or transformed, in whichever form fits the schema."""
        if not (told := parameters.get("splits_config")):
            return Needed(splits=splits)
        config = dsl.parse_message(told, SplitsConfig())
        return Needed(splits=[*config.analyze, *config.transform])


def _check_splits(config: SplitsConfig | dict[str, Any] | None) -> None:
    if config is None:
        return
    analyzed = config.get("analyze") if isinstance(config, dict) else config.analyze
    if not analyzed:
        raise ValueError(
            "Transform(splits_config=…) names nothing to analyze. Name the split to learn from, "
            "such as SplitsConfig(analyze=['train'], transform=['train', 'eval'])."
        )
