# SPDX-License-Identifier: Apache-2.0
"""The steps of a pipeline: each a table and an executor. What computes is in the packages below.

To add a component:
1. x.py here: its table, its constructor, with every argument in the docstring, and its executor
2. this file: in STEPS, and above it for editors; `stoker`, `tfx.components` and `tfx.v1.components`
   have it by that
3. stoker/artifacts.py: the class of its artifacts, if they are of a new type
4. stoker/views: how they are shown, if not as a list of files
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stoker.components.bulk_inferrer import BulkInferrer as BulkInferrer
    from stoker.components.evaluator import Evaluator as Evaluator
    from stoker.components.example_gen.component import AvroExampleGen as AvroExampleGen
    from stoker.components.example_gen.component import CsvExampleGen as CsvExampleGen
    from stoker.components.example_gen.component import FileBasedExampleGen as FileBasedExampleGen
    from stoker.components.example_gen.component import ImportExampleGen as ImportExampleGen
    from stoker.components.example_gen.component import JsonExampleGen as JsonExampleGen
    from stoker.components.example_gen.component import ParquetExampleGen as ParquetExampleGen
    from stoker.components.example_gen.component import QueryBasedExampleGen as QueryBasedExampleGen
    from stoker.components.example_gen.queries import BigQueryExampleGen as BigQueryExampleGen
    from stoker.components.example_gen.queries import PrestoExampleGen as PrestoExampleGen
    from stoker.components.example_validator import ExampleValidator as ExampleValidator
    from stoker.components.importer import Importer as Importer
    from stoker.components.infra_validator import InfraValidator as InfraValidator
    from stoker.components.model_validator import ModelValidator as ModelValidator
    from stoker.components.pusher import Pusher as Pusher
    from stoker.components.resolver import Resolver as Resolver
    from stoker.components.rewriter import Rewriter as Rewriter
    from stoker.components.schema_gen import ImportSchemaGen as ImportSchemaGen
    from stoker.components.schema_gen import SchemaGen as SchemaGen
    from stoker.components.statistics_gen import StatisticsGen as StatisticsGen
    from stoker.components.trainer.component import Trainer as Trainer
    from stoker.components.transform.component import Transform as Transform
    from stoker.components.tuner.component import Tuner as Tuner

STEPS = {
    "AvroExampleGen": "example_gen.component",
    "BigQueryExampleGen": "example_gen.queries",
    "BulkInferrer": "bulk_inferrer",
    "CsvExampleGen": "example_gen.component",
    "Evaluator": "evaluator",
    "ExampleValidator": "example_validator",
    "FileBasedExampleGen": "example_gen.component",
    "ImportExampleGen": "example_gen.component",
    "ImportSchemaGen": "schema_gen",
    "Importer": "importer",
    "InfraValidator": "infra_validator",
    "JsonExampleGen": "example_gen.component",
    "ModelValidator": "model_validator",
    "ParquetExampleGen": "example_gen.component",
    "PrestoExampleGen": "example_gen.queries",
    "Pusher": "pusher",
    "QueryBasedExampleGen": "example_gen.component",
    "Resolver": "resolver",
    "Rewriter": "rewriter",
    "SchemaGen": "schema_gen",
    "StatisticsGen": "statistics_gen",
    "Trainer": "trainer.component",
    "Transform": "transform.component",
    "Tuner": "tuner.component",
}
"""The module of each step, which is loaded when the step is first asked for: a worker that imports
one executor imports no other step. All are promised names of `stoker`."""

if not TYPE_CHECKING:  # of a computed list they would take that nothing is exported
    __all__ = list(STEPS)


def __getattr__(name: str) -> Any:
    if module := STEPS.get(name):
        return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
