# SPDX-License-Identifier: Apache-2.0
import functools

import pytest
from packaging.version import Version

V1_NAMES = [
    "__version__",
    "components.BulkInferrer",
    "components.CsvExampleGen",
    "components.DataAccessor",
    "components.FnArgs",
    "components.ImportExampleGen",
    "components.ImportSchemaGen",
    "components.ExampleValidator",
    "components.InfraValidator",
    "components.Pusher",
    "components.SchemaGen",
    "components.StatisticsGen",
    "components.Trainer",
    "components.Transform",
    "components.Tuner",
    "components.TunerFnResult",
    "dsl.Artifact",
    "dsl.Channel",
    "dsl.Cond",
    "dsl.Importer",
    "dsl.Pipeline",
    "dsl.Resolver",
    "dsl.RuntimeParameter",
    "dsl.components.BeamComponentParameter",
    "dsl.components.InputArtifact",
    "dsl.components.OutputArtifact",
    "dsl.components.OutputDict",
    "dsl.components.Parameter",
    "dsl.components.component",
    "dsl.experimental.LatestArtifactStrategy",
    "dsl.experimental.LatestBlessedModelStrategy",
    "dsl.experimental.SpanRangeStrategy",
    "dsl.experimental.RuntimeParameter",
    "dsl.io.fileio.open",
    "dsl.placeholders.logical_and",
    "dsl.placeholders.logical_not",
    "dsl.placeholders.logical_or",
    "orchestration.LocalDagRunner",
    "orchestration.metadata.sqlite_metadata_connection_config",
    "proto.DataSpec",
    "proto.EvalArgs",
    "proto.FeatureSlicingSpec",
    "proto.Input",
    "proto.Input.Split",
    "proto.ModelSpec",
    "proto.Output",
    "proto.OutputExampleSpec",
    "proto.PushDestination",
    "proto.PushDestination.Filesystem",
    "proto.RangeConfig",
    "proto.RequestSpec",
    "proto.RollingRange",
    "proto.ServingSpec",
    "proto.SplitConfig",
    "proto.SplitConfig.Split",
    "proto.SplitsConfig",
    "proto.StaticRange",
    "proto.TrainArgs",
    "proto.TuneArgs",
    "proto.ValidationSpec",
    "types.Artifact",
    "types.BaseChannel",
    "types.BaseNode",
    "types.standard_artifacts.ExampleStatistics",
    "types.standard_artifacts.Examples",
    "types.standard_artifacts.HyperParameters",
    "types.standard_artifacts.Model",
    "types.standard_artifacts.ModelBlessing",
    "types.standard_artifacts.ModelRun",
    "types.standard_artifacts.PushedModel",
    "types.standard_artifacts.Schema",
    "types.standard_artifacts.TransformGraph",
    "utils.parse_pbtxt_file",
]

IMPORTS = [
    "from tfx import v1 as tfx",
    "from tfx import __version__",
    "from tfx import types",
    "from tfx.v1 import proto",
    "from tfx.v1 import orchestration",
    "from tfx.v1.dsl.io import fileio",
    "from tfx.components import CsvExampleGen, ImportExampleGen",
    "from tfx.components import ImporterNode, ResolverNode",
    "from tfx.components import Pusher",
    "from tfx.components import SchemaGen, StatisticsGen, ImportSchemaGen",
    "from tfx.components import Trainer, Transform, Tuner, TunerFnResult",
    "from tfx.components.base import executor_spec",
    "from tfx.components.base.base_component import BaseComponent",
    "from tfx.components.base.base_component import ChannelParameter, ExecutionParameter",
    "from tfx.components.base.base_executor import BaseExecutor",
    "from tfx.components.common_nodes.importer_node import ImporterNode",
    "from tfx.components.common_nodes.resolver_node import ResolverNode",
    "from tfx.components.example_gen.csv_example_gen.component import CsvExampleGen",
    "from tfx.components.example_gen.csv_example_gen.executor import Executor",
    "from tfx.components.example_gen.import_example_gen.component import ImportExampleGen",
    "from tfx.components.example_gen.component import FileBasedExampleGen",
    "from tfx.components.example_gen.custom_executors import avro_executor, parquet_executor",
    "from tfx.components.example_gen import base_example_gen_executor, driver, utils, write_split",
    "from tfx.components.example_gen.base_example_gen_executor import BaseExampleGenExecutor",
    "from tfx.components.example_gen.base_example_gen_executor import INPUT_KEY, _WriteSplit",
    "from tfx.components.example_gen.big_query_example_gen import executor",
    "from tfx.components.example_gen.component import QueryBasedExampleGen",
    "from tfx.components.example_gen.component import _QueryBasedExampleGen",
    "from tfx.components.example_gen.csv_example_gen.executor import _CsvToExample",
    "from tfx.components.example_gen.utils import dict_to_example, make_default_output_config",
    "from tfx.dsl.component.experimental.annotations import BeamComponentParameter",
    "from tfx.extensions.google_cloud_big_query.utils import ReadFromBigQuery, row_to_example",
    "from tfx.types.standard_component_specs import QueryBasedExampleGenSpec",
    "from tfx.components.pusher.component import Pusher",
    "from tfx.components.pusher.executor import Executor",
    "from tfx.components.schema_gen.component import SchemaGen",
    "from tfx.components.schema_gen.import_schema_gen.component import ImportSchemaGen",
    "from tfx.components.statistics_gen.component import StatisticsGen",
    "from tfx.components.trainer import constants",
    "from tfx.components.trainer import executor, fn_args_utils",
    "from tfx.components.bulk_inferrer.component import BulkInferrer",
    "from tfx.components import BigQueryExampleGen",
    "from tfx.components.evaluator import constants; constants.BLESSED_FILE_NAME",
    "from tfx.components.evaluator.component import Evaluator",
    "from tfx.components.evaluator.executor import Executor",
    "from tfx.components.example_validator.component import ExampleValidator",
    "from tfx.components.example_validator.executor import Executor",
    "from tfx.components.infra_validator.component import InfraValidator",
    "from tfx.components.trainer.component import Trainer",
    "from tfx.components.trainer.executor import Executor, GenericExecutor, TrainerFnArgs",
    "from tfx.components.trainer.fn_args_utils import DataAccessor, FnArgs, get_common_fn_args",
    "from tfx.components.trainer.rewriting import converters, rewriter, rewriter_factory",
    pytest.param(
        "from tfx.components.transform import executor, stats_options_util",
        marks=pytest.mark.tf,
    ),
    "from tfx.components.transform.component import Transform",
    "from tfx.components.tuner import component, executor",
    "from tfx.components.tuner.component import Tuner, TunerFnResult",
    "from tfx.components.tuner.executor import Executor",
    "from tfx.proto.orchestration import pipeline_pb2",
    "from tfx.types.artifact_utils import is_artifact_version_older_than",
    "from tfx.types.experimental.simple_artifacts import Model",
    "from tfx.types.standard_artifacts import _TfxArtifact",
    "from tfx.types.standard_artifacts import SPAN_PROPERTY, VERSION_PROPERTY",
    "from tfx.types.standard_artifacts import SPLIT_NAMES_PROPERTY",
    "from tfx.utils.types import TfxArtifact, get_single_instance, get_single_uri",
    "from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact",
    "from tfx.dsl.component.experimental.annotations import OutputDict, Parameter",
    "from tfx.dsl.component.experimental.decorators import component",
    "from tfx.dsl.components.base import base_component, base_executor, base_node, executor_spec",
    "from tfx.dsl.components.base.base_beam_component import BaseBeamComponent",
    "from tfx.dsl.components.base.base_beam_executor import BaseBeamExecutor",
    "from tfx.dsl.components.common import importer, resolver",
    "from tfx.dsl.components.common.importer import Importer",
    "from tfx.dsl.components.common.resolver import Resolver",
    "from tfx.dsl.experimental import latest_artifacts_resolver",
    "from tfx.dsl.experimental.conditionals import conditional",
    "from tfx.dsl.experimental.conditionals.conditional import Cond",
    "from tfx.dsl.experimental import latest_blessed_model_resolver",
    "from tfx.dsl.input_resolution.strategies import latest_artifact_strategy",
    "from tfx.dsl.io import fileio",
    "from tfx.dsl.placeholder import placeholder",
    "from tfx.dsl.placeholder.placeholder import logical_and, logical_not, logical_or",
    "from tfx.orchestration import data_types, metadata, pipeline",
    "from tfx.orchestration.beam.beam_dag_runner import BeamDagRunner",
    "from tfx.orchestration.data_types import RuntimeParameter",
    "from tfx.orchestration.experimental.interactive.interactive_context import InteractiveContext",
    "from tfx.orchestration.experimental.interactive.notebook_extensions import skip",
    "from tfx.orchestration.local.local_dag_runner import LocalDagRunner",
    "from tfx.orchestration.metadata import sqlite_metadata_connection_config",
    "from tfx.orchestration.pipeline import Pipeline",
    "from tfx.proto import example_gen_pb2, pusher_pb2, range_config_pb2, trainer_pb2",
    "from tfx.proto import bulk_inferrer_pb2, evaluator_pb2, infra_validator_pb2",
    "from tfx.proto import transform_pb2, tuner_pb2",
    "from tfx.proto.trainer_pb2 import EvalArgs, TrainArgs",
    "from tfx.types import Artifact, Channel, ComponentSpec",
    "from tfx.types import artifact_utils, channel_utils",
    "from tfx.types import standard_artifacts, standard_component_specs",
    "from tfx.types.artifact import Artifact, Property, PropertyType",
    "from tfx.types.channel import Channel",
    "from tfx.types.component_spec import ChannelParameter, ComponentSpec, ExecutionParameter",
    "from tfx.types.experimental.simple_artifacts import Dataset, File, Metrics, Statistics",
    "from tfx.types.standard_artifacts import Model, ModelBlessing",
    "from tfx.types.standard_component_specs import EXAMPLES_KEY, TrainerSpec, TransformSpec",
    "from tfx.types.value_artifact import ValueArtifact",
    "from tfx.utils import io_utils, json_utils, name_utils, path_utils, proto_utils",
    "from tfx.utils.dsl_utils import csv_input, external_input, parquet_input, tfrecord_input",
]


@pytest.mark.parametrize("name", V1_NAMES)
def test_the_name_is_in_v1(name):
    from tfx import v1

    assert functools.reduce(getattr, name.split("."), v1)


@pytest.mark.parametrize("statement", IMPORTS)
def test_the_import_works(statement):
    exec(statement, {})


def test_the_version_passes_for_a_tfx_that_code_of_today_asks_for():
    import tfx

    assert Version(tfx.__version__) >= Version("1.16")


def test_the_runner_for_beam_is_the_local_one():
    from tfx.orchestration.beam.beam_dag_runner import BeamDagRunner
    from tfx.v1.orchestration import LocalDagRunner

    assert isinstance(BeamDagRunner(beam_orchestrator_args=["--x"]), LocalDagRunner)


def test_the_resolver_of_old_pipelines_is_the_latest_artifact_strategy():
    from tfx.dsl.experimental.latest_artifacts_resolver import LatestArtifactsResolver
    from tfx.v1.dsl.experimental import LatestArtifactStrategy

    assert LatestArtifactsResolver is LatestArtifactStrategy


def test_an_executor_takes_a_context_as_old_code_makes_it(tmp_path):
    from tfx.components.trainer.executor import Executor

    context = Executor.Context(tmp_dir=str(tmp_path), unique_id="7")

    assert context.get_tmp_path() == f"{tmp_path}/7/"
