# SPDX-License-Identifier: Apache-2.0
"""The tables of the standard steps, and the keys in them."""

from stoker.stand_ins.tfx.component_keys import *
from stoker.stand_ins.tfx.missing import find_part
from stoker.components.bulk_inferrer import BulkInferrerSpec
from stoker.components.evaluator import EvaluatorSpec
from stoker.components.example_gen.component import (
    FileBasedExampleGenSpec,
    QueryBasedExampleGenSpec,
)
from stoker.components.example_validator import ExampleValidatorSpec
from stoker.components.infra_validator import InfraValidatorSpec
from stoker.components.pusher import PusherSpec
from stoker.components.schema_gen import ImportSchemaGenSpec, SchemaGenSpec
from stoker.components.statistics_gen import StatisticsGenSpec
from stoker.components.trainer.component import TrainerSpec
from stoker.components.transform.component import TransformSpec
from stoker.components.tuner.component import TunerSpec

__getattr__ = find_part(__name__)
