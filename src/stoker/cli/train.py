# SPDX-License-Identifier: Apache-2.0
"""`stoker train`: the Trainer alone, with the steps that its data needs, from one command."""

import contextlib
import fnmatch
import glob
import hashlib
import json
import os
import sys
from typing import Any

import click

from stoker.any_python.layout import serving_model_dir
from stoker.artifacts import Examples, HyperParameters, PropertyValue, encode_split_names
from stoker.cli.options import fresh_option, json_option, names_and_values
from stoker.cli.printing import print_answer
from stoker.components.example_gen.component import FORMATS, CsvExampleGen
from stoker.components.importer import Importer
from stoker.components.schema_gen import ImportSchemaGen, SchemaGen
from stoker.components.statistics_gen import StatisticsGen
from stoker.components.trainer.component import Trainer
from stoker.dsl.component import Node
from stoker.dsl.pipeline import Pipeline
from stoker.dsl.proto.example_gen_pb2 import Input
from stoker.dsl.proto.trainer_pb2 import EvalArgs, TrainArgs
from stoker.runner import LocalDagRunner
from stoker.storage.files import write_whole
from stoker.task import Workers
from stoker.views.table import readable_path

_SPLITS = ("train", "eval")
_SPLIT_FOLDER = "Split-"


@click.command()
@click.argument("module", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--data",
    required=True,
    type=click.Path(exists=True),
    help="A CSV, TFRecord, Parquet, Avro or JSON lines file, a folder of such files, or one with "
    "Split-train/ and Split-eval/.",
)
@click.option(
    "--steps", required=True, type=click.IntRange(min=1), help="Number of training steps: batches."
)
@click.option(
    "--eval-steps",
    default=100,
    show_default=True,
    type=click.IntRange(min=0),
    help="Number of batches to evaluate on; 0 for all, if the module's data ends.",
)
@click.option(
    "--hparam",
    "hyperparameters",
    multiple=True,
    metavar="NAME=VALUE",
    callback=names_and_values,
    help="A hyperparameter, for fn_args.hyperparameters; may be given several times.",
)
@click.option("--root", metavar="DIR", help="Where outputs go.  [default: out/NAME]")
@click.option(
    "--keras",
    type=click.Choice(["2", "3"]),
    help="The version of Keras.  [default: what the module uses]",
)
@click.option(
    "--python",
    metavar="PATH|NAME",
    help="Another Python to run the module in, or an environment of stoker env.",
)
@click.option(
    "--schema",
    type=click.Path(exists=True, dir_okay=False),
    help="A schema.pbtxt, instead of one inferred from the data.",
)
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="How many processes train the model together.",
)
@click.option("--name", help="The pipeline's name.  [default: the module's]")
@fresh_option
@json_option
def train(
    module: str,
    data: str,
    steps: int,
    eval_steps: int,
    hyperparameters: dict[str, str],
    root: str | None,
    keras: str | None,
    python: str | None,
    schema: str | None,
    workers: int,
    name: str | None,
    fresh: bool,
    as_json: bool,
) -> int:
    """Train a model with the run_fn of a MODULE file, without writing a pipeline."""
    name = name or os.path.splitext(os.path.basename(module))[0]
    pipeline = training_pipeline(
        name,
        os.path.abspath(root or os.path.join("out", name)),
        module_file=os.path.abspath(module),
        data=os.path.abspath(data),
        train_args=TrainArgs(num_steps=steps),
        eval_args=EvalArgs(num_steps=eval_steps),
        hyperparameters={key: _parse_hyperparameter(text) for key, text in hyperparameters.items()},
        keras=int(keras) if keras else None,
        python=python,
        schema_file=schema and os.path.abspath(schema),
        workers=Workers(workers) if workers > 1 else None,
    )
    # What the user's code prints is not part of the JSON.
    with contextlib.redirect_stdout(sys.stderr if as_json else sys.stdout):
        run = LocalDagRunner().run(pipeline, fresh=fresh)
    (model,) = run.outputs["Trainer"]["model"]
    place = serving_model_dir(model.uri)
    record = {"run": run.id, "artifact": model.id, "model": place}
    print_answer(record, f"The model is in {readable_path(place)}", as_json=as_json)
    return 0


def training_pipeline(
    name: str,
    root: str,
    *,
    data: str,
    schema_file: str | None,
    hyperparameters: dict[str, Any],
    **training: Any,
) -> Pipeline:
    """The steps from data to a model; `training` is what the Trainer is given besides."""
    reading = read_data(data)
    (examples,) = reading.outputs.values()
    counting = StatisticsGen(examples=examples)
    describing = (
        ImportSchemaGen(schema_file=schema_file)
        if schema_file
        else SchemaGen(statistics=counting.outputs["statistics"])
    )
    steps: list[Node] = [reading, counting, describing]
    tuned = None
    if hyperparameters:
        folder = _write_hyperparameters(hyperparameters, root)
        importing = Importer(source_uri=folder, artifact_type=HyperParameters)
        importing.with_id("hyperparameters")
        steps.append(importing)
        tuned = importing.outputs["result"]
    trainer = Trainer(
        examples=examples,
        statistics=counting.outputs["statistics"],
        schema=describing.outputs["schema"],
        hyperparameters=tuned,
        **training,
    )
    return Pipeline(name, root, components=[*steps, trainer], enable_cache=True)


def read_data(data: str) -> Node:
    """The step that gives the Trainer its examples, by what there is at `data`."""
    by_pattern = {pattern: step for step in FORMATS for pattern in step.PATTERNS}
    if os.path.isfile(data):
        folder, name = os.path.split(data)
        plain = name.removesuffix(".gz")
        matching = (step for pattern, step in by_pattern.items() if fnmatch.fnmatch(plain, pattern))
        return next(matching, CsvExampleGen)(folder, _only(glob.escape(name)))
    splits = [
        os.path.basename(folder).removeprefix(_SPLIT_FOLDER)
        for folder in sorted(glob.glob(os.path.join(glob.escape(data), f"{_SPLIT_FOLDER}*")))
    ]
    if splits:
        return _import_splits(data, splits)
    for pattern, step in by_pattern.items():
        if glob.glob(os.path.join(glob.escape(data), pattern)):
            return step(data, _only(pattern))
    raise click.UsageError(
        f"--data {data} holds no files called {', '.join(by_pattern)}, and no Split-train/ and "
        "Split-eval/. Name another folder, or a file."
    )


def _only(pattern: str) -> Input:
    return Input(splits=[Input.Split(name="single_split", pattern=pattern)])


def _import_splits(data: str, splits: list[str]) -> Importer:
    """Examples that are split already, used as they are."""
    if missing := [name for name in _SPLITS if name not in splits]:
        raise click.UsageError(
            f"--data {data} has no {_SPLIT_FOLDER}{missing[0]}/; training needs "
            f"{' and '.join(_SPLIT_FOLDER + name + '/' for name in _SPLITS)}."
        )
    named: dict[str, PropertyValue] = {"split_names": encode_split_names(splits)}
    return Importer(source_uri=data, artifact_type=Examples, properties=named).with_id("examples")


def _parse_hyperparameter(text: str) -> Any:
    """A hyperparameter's value: a number, true, a list as JSON has them, or else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _write_hyperparameters(hyperparameters: dict[str, Any], root: str) -> str:
    """The folder that holds the hyperparameters, one per content: an imported one never changes."""
    text = json.dumps(hyperparameters, sort_keys=True, indent=1)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    folder = os.path.join(root, "hyperparameters", digest)
    path = os.path.join(folder, "best_hyperparameters.txt")
    if not os.path.exists(path):
        with write_whole(path) as file:
            file.write(text.encode())
    return folder
