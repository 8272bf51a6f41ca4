# SPDX-License-Identifier: Apache-2.0
"""The guide's `trainer_fn`, completed, through LocalDagRunner and a real worker; then again."""

import json
import subprocess
from pathlib import Path

import estimator_blocks as blocks
import pytest
import seed_blocks as seeds
import tensorflow_model_analysis as tfma
import tfma_env
from tfx.components import (
    CsvExampleGen,
    Evaluator,
    ResolverNode,
    SchemaGen,
    StatisticsGen,
    Transform,
)
from tfx.dsl.experimental import latest_artifacts_resolver
from tfx.orchestration import pipeline
from tfx.orchestration.local.local_dag_runner import LocalDagRunner
from tfx.proto import trainer_pb2
from tfx.types import Channel
from tfx.types.standard_artifacts import Model

from stoker.errors import StepFailed, StokerError
from stoker.metadata import sqlite_metadata_connection_config
from stoker.metadata.store import Store

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("warm")]

STEPS = 100
EVAL_STEPS = 140  # batches of 40 from data that repeats: every one of the 140 examples 40 times


# As taxi pipelines judge an Estimator: by the metrics that it brings, not worse than before.
EVAL_CONFIG = tfma.EvalConfig(
    model_specs=[tfma.ModelSpec(signature_name="eval")],
    slicing_specs=[tfma.SlicingSpec(), tfma.SlicingSpec(feature_keys=["island"])],
    metrics_specs=[
        tfma.MetricsSpec(
            metrics=[tfma.MetricConfig(class_name="SparseCategoricalAccuracy")],
            thresholds={
                "accuracy": tfma.MetricThreshold(
                    value_threshold=tfma.GenericValueThreshold(lower_bound={"value": 0.3}),
                    change_threshold=tfma.GenericChangeThreshold(
                        direction=tfma.MetricDirection.HIGHER_IS_BETTER,
                        absolute={"value": -0.05},
                    ),
                )
            },
        )
    ],
)


class Guide:
    """The guide's pipeline in one folder: each run begins with the model of the one before."""

    def __init__(self, folder: Path, data: str) -> None:
        self.folder = folder
        self._data = data
        (folder / "preprocessing.py").write_text(blocks.PREPROCESSING)

    def run(self, module: str = blocks.MODULE):
        (self.folder / "module.py").write_text(module)
        example_gen = CsvExampleGen(input_base=self._data)
        statistics_gen = StatisticsGen(examples=example_gen.outputs["examples"])
        infer_schema = SchemaGen(statistics=statistics_gen.outputs["statistics"])
        transform = Transform(
            examples=example_gen.outputs["examples"],
            schema=infer_schema.outputs["schema"],
            module_file=str(self.folder / "preprocessing.py"),
        )
        latest_model_resolver = ResolverNode(
            instance_name="latest_model_resolver",
            resolver_class=latest_artifacts_resolver.LatestArtifactsResolver,
            latest_model=Channel(type=Model),
        )
        names = {**locals(), "trainer_pb2": trainer_pb2}
        names["module_file"] = str(self.folder / "module.py")
        block = seeds.TRAINER_WITH_BASE_MODELS.replace("10000", str(STEPS))
        exec(block.replace("5000", str(EVAL_STEPS)), names)
        evaluator = Evaluator(
            examples=example_gen.outputs["examples"],
            model=names["trainer"].outputs["model"],
            baseline_model=latest_model_resolver.outputs["latest_model"],
            eval_config=EVAL_CONFIG,
        )
        steps = [example_gen, statistics_gen, infer_schema, transform, latest_model_resolver]
        made = pipeline.Pipeline(
            pipeline_name="guide",
            pipeline_root=str(self.folder / "root"),
            components=[*steps, names["trainer"], evaluator],
            enable_cache=True,
        )
        return LocalDagRunner().run(made)

    def published(self) -> list[str]:
        """The models that were ever published here."""
        config = sqlite_metadata_connection_config(self.folder / "root" / "metadata.db")
        with Store(config) as store:
            return [model.uri for model in store.artifacts(type_name="Model")]


@pytest.fixture(scope="module")
def guide(tmp_path_factory, penguins):
    return Guide(tmp_path_factory.mktemp("guide"), penguins)


@pytest.fixture(scope="module")
def runs(guide):
    return [guide.run(), guide.run()]


def model_of(run) -> Path:
    return Path(run.outputs["Trainer"]["model"][0].uri)


def metrics_of(run, split: str) -> list[dict[str, float]]:
    file = Path(run.outputs["Trainer"]["model_run"][0].uri, "metrics.jsonl")
    records = map(json.loads, file.read_text().splitlines())
    return [record["metrics"] for record in records if record["split"] == split]


def test_both_models_are_exported_without_timestamps_and_checked(runs):
    model = runs[0].outputs["Trainer"]["model"][0]
    saved = sorted(file.relative_to(model.uri) for file in Path(model.uri).rglob("saved_model.pb"))
    assert [str(file.parent) for file in saved] == ["Format-Serving", "Format-TFMA"]
    note = model.get_string_custom_property("model_check")
    assert note.startswith("serving_default works on 8 made-up raw examples (")
    assert note.endswith(" Format-TFMA loads.")
    signatures = model.get_json_value_custom_property("signatures")
    inputs = signatures["Format-TFMA/eval"]["inputs"]
    assert {"inputs/examples", "features/island", "labels", "input_refs", "tfma/version"} <= set(
        inputs
    )


def test_checkpoints_events_and_exports_stay_in_the_model_run(runs):
    run_dir = Path(runs[0].outputs["Trainer"]["model_run"][0].uri)
    assert (run_dir / "Format-Serving" / "checkpoint").exists()
    assert list(run_dir.glob("Format-Serving/events.out.tfevents.*"))
    assert len(list(run_dir.glob("Format-Serving/export/chicago-taxi/*/saved_model.pb"))) == 1
    assert len(list(run_dir.glob("Format-TFMA/*/saved_model.pb"))) == 1


def test_the_second_run_begins_where_the_first_ended(runs):
    (cold, *_, end), (warm, *_) = (metrics_of(run, "train") for run in runs)
    assert cold["loss"] > 1
    assert warm["loss"] < (cold["loss"] + end["loss"]) / 2
    evaluated = [metrics_of(run, "validation")[-1]["average_loss"] for run in runs]
    assert evaluated[1] < evaluated[0]


def test_a_base_model_of_another_shape_is_refused_and_nothing_is_published(guide, runs):
    published = guide.published()
    assert published == [str(model_of(run)) for run in runs]
    with pytest.raises(StepFailed) as failed:
        guide.run(blocks.MODULE.replace("first_dnn_layer_size = 100", "first_dnn_layer_size = 50"))
    assert "warm_start_from is a model of another shape" in str(failed.value)
    assert "dnn/hiddenlayer_0/bias" in str(failed.value)
    assert failed.value.traceback == ""
    assert guide.published() == published


def test_an_evaluator_judges_an_estimator_by_its_own_metrics(runs):
    for run in runs:
        assert run.outputs["Evaluator"]["blessing"][0].get_int_custom_property("blessed") == 1
        found = dict(tfma.load_eval_result(evaluation_of(run)).slicing_metrics)
        assert len(found) == 4  # all, and three islands
        for metrics in found.values():
            by_keras = metrics[""][""]["sparse_categorical_accuracy"]["doubleValue"]
            assert metrics[""][""]["accuracy"]["doubleValue"] == pytest.approx(by_keras)


def evaluation_of(run) -> str:
    return run.outputs["Evaluator"]["evaluation"][0].uri


EVALUATE = """
import json, sys
import tensorflow_model_analysis as tfma

model_dir, examples, output = sys.argv[1:]
slices = [tfma.SlicingSpec(), tfma.SlicingSpec(feature_keys=['island'])]
model_specs = [tfma.ModelSpec(signature_name='eval')]
config = tfma.EvalConfig(model_specs=model_specs, slicing_specs=slices)
model = tfma.default_eval_shared_model(model_dir, eval_config=config, tags=['eval'])
result = tfma.run_model_analysis(model, config, data_location=examples, output_path=output)
print(json.dumps({
    str(key): {name: value['doubleValue'] for name, value in metrics[''][''].items()}
    for key, metrics in result.slicing_metrics}))
"""


@pytest.mark.slow
@pytest.mark.envs
def test_tfma_the_estimator_and_the_evaluator_measure_the_same(runs, tmp_path):
    try:
        python = tfma_env.python()
    except StokerError as error:
        pytest.skip(str(error))
    examples = runs[1].outputs["CsvExampleGen"]["examples"][0].path(split="eval")
    arguments = [str(model_of(runs[1]) / "Format-TFMA"), f"{examples}/*", str(tmp_path)]
    done = subprocess.run(
        [python, "-c", EVALUATE, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    ours = tfma.load_eval_result(evaluation_of(runs[1]), model_name="candidate").slicing_metrics
    for key, metrics in ours:
        theirs = found.pop(str(key))
        same = {name: metrics[""][""][name]["doubleValue"] for name in theirs}
        assert theirs == pytest.approx(same, 1e-6)
        if key == ():
            assert theirs.pop("post_export_metrics/example_count") == EVAL_STEPS
            own = metrics_of(runs[1], "validation")[-1]
            assert theirs == pytest.approx({name: own[name] for name in theirs}, 1e-5)
    assert not found
