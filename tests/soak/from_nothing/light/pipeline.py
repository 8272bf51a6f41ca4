# SPDX-License-Identifier: Apache-2.0
"""Steps of every kind that a user can write, without TensorFlow."""

import json
import os

import program_flags
from absl import app

import stoker
from stoker import artifacts

HERE = os.path.dirname(os.path.abspath(__file__))


class Options:
    """State of this file, changed below in the ways that people have."""

    number = 0


CONFIG = {"item": 0}
REGISTRY = []

CONFIG["item"] = ITEM = 0
CONFIG.update(updated=0)  # UPDATED = 0
REGISTRY.append(0)  # APPENDED = 0
Options.number = ATTRIBUTE = 0
setattr(Options, "other", 0)  # noqa: B010  SETATTR = 0
globals()["STATE"] = 0  # GLOBALS = 0


def help_out(number):
    """Called by a step."""
    return number + 0  # HELPER = 0


@stoker.component
def summarize(
    examples: stoker.InputArtifact[artifacts.Examples],
    summary: stoker.OutputArtifact[artifacts.HyperParameters],
    factor: stoker.Parameter[int],
) -> None:
    """Writes down every number that it is given."""
    numbers = {
        "factor": factor,
        "config": CONFIG,
        "registry": REGISTRY,
        "options": [Options.number, Options.other],  # type: ignore[attr-defined]
        "state": STATE,  # type: ignore[name-defined]  # noqa: F821
        "helper": help_out(1),
        "variable": os.environ.get("ORACLE_COMPONENT"),
        "splits": sorted(os.listdir(examples.uri)),
    }
    with open(os.path.join(summary.uri, "numbers.json"), "w") as file:
        json.dump(numbers, file, indent=1, sort_keys=True)


class CustomTrainer(stoker.BaseExecutor):
    """An executor of the user's own, in the pipeline file."""

    def Do(self, input_dict, output_dict, exec_properties):
        """Writes down the number that is in its body."""
        (model,) = output_dict["model"]
        os.makedirs(os.path.join(model.uri, "Format-Serving"))
        with open(os.path.join(model.uri, "Format-Serving", "weights.json"), "w") as file:
            json.dump({"body": 0}, file)  # EXECUTOR = 0


def create_pipeline():
    example_gen = stoker.CsvExampleGen(input_base=os.environ["ORACLE_DATA"])
    examples = example_gen.outputs["examples"]
    statistics_gen = stoker.StatisticsGen(examples=examples)
    summarizing = summarize(examples=examples, factor=program_flags.FACTOR.value)
    module_file = os.path.join(HERE, "module.py")
    trainer = stoker.Trainer(
        examples=examples,
        module_file=module_file,
        custom_config={"parameter": program_flags.PARAMETER.value},
        check=False,
    )
    custom_trainer = stoker.Trainer(
        examples=examples,
        module_file=module_file,
        custom_executor_spec=stoker.ExecutorClassSpec(CustomTrainer),
        check=False,
    ).with_id("CustomTrainer")
    served = stoker.PushDestination.Filesystem(base_directory=program_flags.SERVED.value)
    pusher = stoker.Pusher(
        model=trainer.outputs["model"],
        push_destination=stoker.PushDestination(filesystem=served),
    )
    steps = [example_gen, statistics_gen, summarizing, trainer, custom_trainer, pusher]
    return stoker.Pipeline("light", program_flags.ROOT.value, components=steps, enable_cache=True)


def main(_):
    stoker.LocalDagRunner().run(create_pipeline())


if __name__ == "__main__":
    app.run(main)
