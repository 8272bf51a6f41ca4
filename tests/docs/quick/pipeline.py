"""A pipeline that takes a second: what it trains with is no TensorFlow."""

from tfx import v1 as tfx

example_gen = tfx.components.CsvExampleGen(input_base="data")
statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
trainer = tfx.components.Trainer(
    module_file="module.py",
    examples=example_gen.outputs["examples"],
    schema=schema_gen.outputs["schema"],
    train_args=tfx.proto.TrainArgs(num_steps=10),
    eval_args=tfx.proto.EvalArgs(num_steps=1),
)
pipeline = tfx.dsl.Pipeline(
    pipeline_name="quick",
    pipeline_root="out",
    components=[example_gen, statistics_gen, schema_gen, trainer],
    enable_cache=True,
)
if __name__ == "__main__":
    tfx.orchestration.LocalDagRunner().run(pipeline)
