# SPDX-License-Identifier: Apache-2.0
"""Steps take what their arguments and outputs were called in TFX 0.13 to 0.30."""

import pytest
from tfx.components import (
    BulkInferrer,
    CsvExampleGen,
    Evaluator,
    ExampleValidator,
    ImportExampleGen,
    ModelValidator,
    Pusher,
    SchemaGen,
    StatisticsGen,
    Trainer,
    Transform,
)
from tfx.components.trainer.executor import GenericExecutor
from tfx.proto import evaluator_pb2, pusher_pb2, trainer_pb2
from tfx.types import Channel
from tfx.types.standard_artifacts import Examples, ExampleStatistics
from tfx.utils.dsl_utils import csv_input, external_input

DESTINATION = pusher_pb2.PushDestination(
    filesystem=pusher_pb2.PushDestination.Filesystem(base_directory="served")
)


@pytest.fixture
def steps():
    """The taxi pipeline as TFX 0.14 wrote it."""
    example_gen = CsvExampleGen(input_base=csv_input("data"))
    statistics_gen = StatisticsGen(input_data=example_gen.outputs.examples)
    infer_schema = SchemaGen(stats=statistics_gen.outputs.output)
    validate_stats = ExampleValidator(
        stats=statistics_gen.outputs.output, schema=infer_schema.outputs.output
    )
    transform = Transform(
        input_data=example_gen.outputs.examples,
        schema=infer_schema.outputs.output,
        module_file="taxi_utils.py",
    )
    trainer = Trainer(
        module_file="taxi_utils.py",
        transformed_examples=transform.outputs.transformed_examples,
        schema=infer_schema.outputs.output,
        transform_output=transform.outputs.transform_output,
        train_args=trainer_pb2.TrainArgs(num_steps=10),
        eval_args=trainer_pb2.EvalArgs(num_steps=5),
    )
    model_analyzer = Evaluator(
        examples=example_gen.outputs.examples,
        model_exports=trainer.outputs.output,
        feature_slicing_spec=evaluator_pb2.FeatureSlicingSpec(
            specs=[evaluator_pb2.SingleSlicingSpec(column_for_slicing=["hour"])]
        ),
    )
    model_validator = ModelValidator(
        examples=example_gen.outputs.examples, model=trainer.outputs.output
    )
    pusher = Pusher(
        model_export=trainer.outputs.output,
        model_blessing=model_validator.outputs.blessing,
        push_destination=DESTINATION,
    )
    return [
        *(example_gen, statistics_gen, infer_schema, validate_stats, transform, trainer),
        *(model_analyzer, model_validator, pusher),
    ]


def test_a_pipeline_of_0_14_is_connected_as_one_of_today(steps):
    upstream = {step.id: {one.id for one in step.upstream_nodes} for step in steps}

    assert upstream == {
        "CsvExampleGen": set(),
        "StatisticsGen": {"CsvExampleGen"},
        "SchemaGen": {"StatisticsGen"},
        "ExampleValidator": {"StatisticsGen", "SchemaGen"},
        "Transform": {"CsvExampleGen", "SchemaGen"},
        "Trainer": {"Transform", "SchemaGen"},
        "Evaluator": {"CsvExampleGen", "Trainer"},
        "ModelValidator": {"CsvExampleGen", "Trainer"},
        "Pusher": {"Trainer", "ModelValidator"},
    }
    assert steps[0].exec_properties["input_base"] == "data"


def test_outputs_have_their_older_keys_too(steps):
    keys = [
        ("CsvExampleGen", "output", "examples"),
        ("StatisticsGen", "output", "statistics"),
        ("ExampleValidator", "output", "anomalies"),
        ("Transform", "transform_output", "transform_graph"),
        ("Trainer", "output", "model"),
        ("Evaluator", "output", "evaluation"),
        ("Pusher", "model_push", "pushed_model"),
    ]
    by_id = {step.id: step for step in steps}

    for step, older, today in keys:
        assert by_id[step].outputs[older] is by_id[step].outputs[today]
        assert older not in list(by_id[step].outputs)


@pytest.mark.parametrize(
    "example_gen",
    [
        lambda: CsvExampleGen(external_input("data")),
        lambda: CsvExampleGen(input=external_input("data")),
        lambda: ImportExampleGen(input=external_input("data")),
        lambda: CsvExampleGen(input_base=external_input("data")),
    ],
)
def test_external_input_goes_where_each_edition_took_it(example_gen):
    assert example_gen().exec_properties["input_base"] == "data"


def infers_shapes(schema_gen):
    return schema_gen.exec_properties["infer_feature_shape"]


def test_shapes_are_inferred_by_default_as_they_were_at_the_time():
    def schema_gen(example_gen, **given):
        statistics = StatisticsGen(example_gen.outputs["examples"]).outputs["statistics"]
        return SchemaGen(statistics=statistics, **given)

    today = CsvExampleGen(input_base="data")
    then = CsvExampleGen(input=external_input("data"))
    imported = ImportExampleGen(input=external_input("data"))

    assert infers_shapes(schema_gen(today)) is True
    assert infers_shapes(schema_gen(then)) is False
    assert infers_shapes(schema_gen(imported)) is False
    assert infers_shapes(schema_gen(then, infer_feature_shape=True)) is True
    assert infers_shapes(SchemaGen(stats=Channel(type=ExampleStatistics))) is False


@pytest.mark.parametrize("older", ["name", "unique_name", "instance_name"])
def test_a_step_is_named_by_the_argument_of_each_edition(older):
    step = BulkInferrer(examples=Channel(type=Examples), **{older: "nightly"})
    assert step.id == "BulkInferrer.nightly"


def test_an_executor_may_be_given_as_its_class():
    trainer = Trainer(
        examples=Channel(type=Examples), module_file="m.py", executor_class=GenericExecutor
    )
    assert trainer.executor_spec.executor_class is GenericExecutor


def test_a_channel_that_was_made_before_stands_for_an_output():
    examples, statistics = Channel(type=Examples), Channel(type=ExampleStatistics)
    statistics_gen = StatisticsGen(examples=examples, output=statistics)

    assert statistics_gen.outputs["statistics"] is statistics
    assert SchemaGen(statistics=statistics).upstream_nodes == [statistics_gen]


def test_one_of_an_argument_and_its_older_name_is_enough():
    channel = Channel(type=ExampleStatistics)
    with pytest.raises(TypeError, match="SchemaGen takes statistics or stats, which is its older"):
        SchemaGen(statistics=channel, stats=channel)


def test_a_name_that_no_edition_had_is_refused_with_those_that_there_are():
    with pytest.raises(TypeError, match=r"no argument .statz.\. It takes statistics"):
        SchemaGen(statistics=Channel(type=ExampleStatistics), statz=1)


def test_what_another_step_makes_is_no_output_of_this_one(steps):
    trainer = next(step for step in steps if step.id == "Trainer")
    with pytest.raises(TypeError, match="'model' is an output of Trainer, got one of Trainer"):
        Trainer(examples=Channel(type=Examples), module_file="m.py", model=trainer.outputs["model"])
