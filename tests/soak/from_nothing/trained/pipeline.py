# SPDX-License-Identifier: Apache-2.0
"""From rows to a pushed model."""

import os

import program_flags
from absl import app

import stoker

HERE = os.path.dirname(os.path.abspath(__file__))


def create_pipeline():
    example_gen = stoker.CsvExampleGen(input_base=os.environ["ORACLE_DATA"])
    examples = example_gen.outputs["examples"]
    statistics_gen = stoker.StatisticsGen(examples=examples)
    schema_gen = stoker.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    transform = stoker.Transform(
        examples=examples,
        schema=schema_gen.outputs["schema"],
        module_file=os.path.join(HERE, "preprocessing.py"),
    )
    trainer = stoker.Trainer(
        examples=transform.outputs["transformed_examples"],
        transform_graph=transform.outputs["transform_graph"],
        module_file=os.path.join(HERE, "module.py"),
        custom_config={"parameter": program_flags.PARAMETER.value},
    )
    served = stoker.PushDestination.Filesystem(base_directory=program_flags.SERVED.value)
    pusher = stoker.Pusher(
        model=trainer.outputs["model"],
        push_destination=stoker.PushDestination(filesystem=served),
    )
    steps = [example_gen, statistics_gen, schema_gen, transform, trainer, pusher]
    return stoker.Pipeline("trained", program_flags.ROOT.value, components=steps, enable_cache=True)


def main(_):
    stoker.LocalDagRunner().run(create_pipeline())


if __name__ == "__main__":
    app.run(main)
