# SPDX-License-Identifier: Apache-2.0
"""The steps of a pipeline."""

from stoker.stand_ins.tfx.missing import COMPONENTS, missing
from stoker.components.bulk_inferrer import BulkInferrer
from stoker.components.evaluator import Evaluator
from stoker.components.example_gen import CsvExampleGen, FileBasedExampleGen, ImportExampleGen
from stoker.components.example_validator import ExampleValidator
from stoker.components.importer import ImporterNode
from stoker.components.infra_validator import InfraValidator
from stoker.components.pusher import Pusher
from stoker.components.resolver import ResolverNode
from stoker.components.schema_gen import ImportSchemaGen, SchemaGen
from stoker.components.statistics_gen import StatisticsGen
from stoker.components.trainer.component import Trainer
from stoker.components.transform.component import Transform
from stoker.components.tuner.component import Tuner, TunerFnResult
from stoker.user_code.fn_args import DataAccessor, FnArgs

__getattr__ = missing(__name__, COMPONENTS)
