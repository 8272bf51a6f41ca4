# SPDX-License-Identifier: Apache-2.0
"""The messages that configure steps."""

from stoker.stand_ins.tfx.missing import find_part
from stoker.dsl.proto.bulk_inferrer_pb2 import (
    ClassifyOutput,
    DataSpec,
    ModelSpec,
    OutputColumnsSpec,
    OutputExampleSpec,
    PredictOutput,
    PredictOutputCol,
    RegressOutput,
)
from stoker.dsl.proto.evaluator_pb2 import FeatureSlicingSpec, SingleSlicingSpec
from stoker.dsl.proto.example_gen_pb2 import CustomConfig, Input, Output, PayloadFormat, SplitConfig
from stoker.dsl.proto.infra_validator_pb2 import (
    EnvVar,
    EnvVarSource,
    KubernetesConfig,
    LocalDockerConfig,
    PodOverrides,
    RequestSpec,
    SecretKeySelector,
    ServingSpec,
    TensorFlowServing,
    TensorFlowServingRequestSpec,
    ValidationSpec,
)
from stoker.dsl.proto.pusher_pb2 import PushDestination, Versioning
from stoker.dsl.proto.range_config_pb2 import RangeConfig, RollingRange, StaticRange
from stoker.dsl.proto.trainer_pb2 import EvalArgs, TrainArgs
from stoker.dsl.proto.transform_pb2 import SplitsConfig
from stoker.dsl.proto.tuner_pb2 import TuneArgs
from tfx.proto import (
    bulk_inferrer_pb2,
    evaluator_pb2,
    example_gen_pb2,
    infra_validator_pb2,
    pusher_pb2,
    range_config_pb2,
    trainer_pb2,
    transform_pb2,
    tuner_pb2,
)
from tfx.v1.proto import orchestration

Filesystem = PushDestination.Filesystem
__getattr__ = find_part(__name__)
