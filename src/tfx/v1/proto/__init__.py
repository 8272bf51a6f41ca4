# SPDX-License-Identifier: Apache-2.0
"""The messages that configure steps."""

from stoker.compat.missing import MESSAGES, missing
from stoker.proto.bulk_inferrer_pb2 import (
    ClassifyOutput,
    DataSpec,
    ModelSpec,
    OutputColumnsSpec,
    OutputExampleSpec,
    PredictOutput,
    PredictOutputCol,
    RegressOutput,
)
from stoker.proto.evaluator_pb2 import FeatureSlicingSpec, SingleSlicingSpec
from stoker.proto.example_gen_pb2 import CustomConfig, Input, Output, PayloadFormat, SplitConfig
from stoker.proto.infra_validator_pb2 import (
    KubernetesConfig,
    LocalDockerConfig,
    RequestSpec,
    ServingSpec,
    TensorFlowServing,
    TensorFlowServingRequestSpec,
    ValidationSpec,
)
from stoker.proto.pusher_pb2 import PushDestination, Versioning
from stoker.proto.range_config_pb2 import RangeConfig, RollingRange, StaticRange
from stoker.proto.trainer_pb2 import EvalArgs, TrainArgs
from stoker.proto.transform_pb2 import SplitsConfig
from stoker.proto.tuner_pb2 import TuneArgs

__getattr__ = missing(__name__, MESSAGES)
