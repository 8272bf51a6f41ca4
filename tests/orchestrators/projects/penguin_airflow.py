"""The penguin pipeline as a DAG of Airflow."""

import datetime
import os

from tfx import v1 as tfx
from tfx.orchestration.airflow.airflow_dag_runner import AirflowDagRunner, AirflowPipelineConfig

_pipeline_name = "penguin_airflow"
_penguin_root = os.path.join(os.environ["HOME"], "penguin")
_data_root = os.path.join(_penguin_root, "data")
_module_file = os.path.join(_penguin_root, "module.py")
_tfx_root = os.path.join(os.environ["HOME"], "tfx")
_pipeline_root = os.path.join(_tfx_root, "pipelines", _pipeline_name)
_metadata_path = os.path.join(_tfx_root, "metadata", _pipeline_name, "metadata.db")

_airflow_config = {
    "schedule_interval": None,
    "start_date": datetime.datetime(2019, 1, 1),
    "default_args": {"retries": 1, "retry_delay": datetime.timedelta(seconds=0)},
}


def _create_pipeline(pipeline_name, pipeline_root, data_root, module_file, metadata_path):
    example_gen = tfx.components.CsvExampleGen(input_base=data_root)
    statistics_gen = tfx.components.StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = tfx.components.SchemaGen(statistics=statistics_gen.outputs["statistics"])
    trainer = tfx.components.Trainer(
        module_file=module_file,
        examples=example_gen.outputs["examples"],
        schema=schema_gen.outputs["schema"],
        train_args=tfx.proto.TrainArgs(num_steps=30),
        eval_args=tfx.proto.EvalArgs(num_steps=5),
    )
    return tfx.dsl.Pipeline(
        pipeline_name=pipeline_name,
        pipeline_root=pipeline_root,
        components=[example_gen, statistics_gen, schema_gen, trainer],
        metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config(
            metadata_path
        ),
        enable_cache=True,
    )


DAG = AirflowDagRunner(AirflowPipelineConfig(_airflow_config)).run(
    _create_pipeline(
        pipeline_name=_pipeline_name,
        pipeline_root=_pipeline_root,
        data_root=_data_root,
        module_file=_module_file,
        metadata_path=_metadata_path,
    )
)
