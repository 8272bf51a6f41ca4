# SPDX-License-Identifier: Apache-2.0
"""A pipeline of two steps that only writes metadata; run as a script it runs many times."""

import sys
from collections.abc import Mapping

from stoker.artifacts import Artifact, ArtifactMap, Examples, Model, ModelRun
from stoker.metadata.config import find_store_variable
from stoker.metadata.store import Store

GENERATOR = "tfx.components.example_gen.csv_example_gen.component.CsvExampleGen"
TRAINER = "tfx.components.trainer.component.Trainer"


def begin(
    store: Store,
    node_id: str = "Trainer",
    *,
    run_id: str = "run-1",
    pipeline_name: str = "penguin",
    inputs: ArtifactMap | None = None,
    outputs: Mapping[str, type[Artifact]] | None = None,
    **more: object,
) -> tuple[int, dict[str, list[Artifact]]]:
    """Begin one execution, and return its id and its pending outputs."""
    promised: dict[str, list[Artifact]] = {}

    def promise(execution_id: int) -> ArtifactMap:
        for key, cls in (outputs or {}).items():
            artifact = cls()
            artifact.uri = f"/pipeline/{node_id}/{key}/{execution_id}"
            promised[key] = [artifact]
        return promised

    arguments = {"type_name": TRAINER, "base_type": "TRAIN", "properties": {}, **more}
    execution_id = store.begin_execution(
        pipeline_name=pipeline_name,
        run_id=run_id,
        node_id=node_id,
        inputs=inputs or {},
        outputs=promise,
        **arguments,  # type: ignore[arg-type]
    )
    return execution_id, promised


def make_examples(store: Store, **more: object) -> Examples:
    """Run CsvExampleGen."""
    execution_id, outputs = begin(
        store,
        "CsvExampleGen",
        outputs={"examples": Examples},
        type_name=GENERATOR,
        base_type="PROCESS",
        **more,  # type: ignore[arg-type]
    )
    [examples] = outputs["examples"]
    assert isinstance(examples, Examples)
    examples.splits = ["train", "eval"]
    examples.span = 7
    store.publish(execution_id, outputs)
    return examples


def train(store: Store, examples: Artifact, **more: object) -> tuple[int, Artifact]:
    """Run the Trainer on `examples`."""
    execution_id, outputs = begin(
        store,
        inputs={"examples": [examples]},
        outputs={"model": Model, "model_run": ModelRun},
        **more,  # type: ignore[arg-type]
    )
    [model] = outputs["model"]
    model.name = "the model"
    model.custom_properties = {"accuracy": 0.97, "layers": [8, 8], "best": True, "steps": 100}
    store.publish(execution_id, outputs)
    return execution_id, model


def run(store: Store, run_id: str) -> None:
    """Run both steps."""
    store.begin_run("penguin", run_id, properties={"lock": f"/locks/{run_id}"})
    train(store, make_examples(store, run_id=run_id), run_id=run_id)


def main(name: str, count: int) -> None:
    """Open the store that the environment names and run `count` times."""
    config = find_store_variable()
    assert config
    with Store(config) as store:
        for number in range(count):
            run(store, f"{name}-{number}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
