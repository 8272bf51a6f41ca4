# SPDX-License-Identifier: Apache-2.0
"""A pipeline around users' modules: the penguins in, one Trainer per module, the run out."""

import os

from tfx import v1 as tfx
from tfx.dsl.component.experimental.annotations import InputArtifact, OutputDict
from tfx.dsl.component.experimental.decorators import component
from tfx.types.standard_artifacts import Examples, Model


def train(root, data, modules, serve=(), steps=60, launcher=None, **arguments):
    """Train each module, given as text or as arguments of its Trainer, by the name of its step."""
    example_gen = tfx.components.CsvExampleGen(input_base=data)
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    trainers = {
        name: tfx.components.Trainer(
            **{
                "examples": example_gen.outputs["examples"],
                "schema": schema_gen.outputs["schema"],
                "train_args": tfx.proto.TrainArgs(num_steps=steps),
                "eval_args": tfx.proto.EvalArgs(num_steps=2),
                **arguments,
                **(given if isinstance(given, dict) else {"module_file": write(root, name, given)}),
            }
        ).with_id(name)
        for name, given in modules.items()
    }
    servers = [
        ask(
            model=trainers[name].outputs["model"], examples=example_gen.outputs["examples"]
        ).with_id(f"ask_{name}")
        for name in serve
    ]
    pipeline = tfx.dsl.Pipeline(
        pipeline_name="models",
        pipeline_root=str(root / "root"),
        components=[example_gen, statistics_gen, schema_gen, *trainers.values(), *servers],
    )
    return tfx.orchestration.LocalDagRunner(launcher).run(pipeline)


def write(folder, name, text):
    """A module file with this text."""
    file = folder / f"{name}.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return str(file)


def served(run, name="Trainer"):
    """The folder of the model that a Trainer published."""
    return os.path.join(run.outputs[name]["model"][0].uri, "Format-Serving")


@component
def ask(model: InputArtifact[Model], examples: InputArtifact[Examples]) -> OutputDict(
    answers=int, lowest=float, highest=float
):
    """Load the model as a server would, and ask its signature about every eval example."""
    import tensorflow as tf

    loaded = tf.saved_model.load(os.path.join(model.uri, "Format-Serving"))
    files = tf.io.gfile.glob(os.path.join(examples.path(split="eval"), "*"))
    records = list(tf.data.TFRecordDataset(files, compression_type="GZIP").as_numpy_iterator())
    (answers,) = loaded.signatures["serving_default"](tf.constant(records)).values()
    return {
        "answers": int(answers.shape[0]),
        "lowest": float(tf.reduce_min(answers)),
        "highest": float(tf.reduce_max(answers)),
    }
