"""Writes the job for Kubeflow Pipelines 2 or Vertex AI: python kubeflow_v2_runner.py"""

import os

from absl import logging
from pipeline import configs, pipeline
from tfx import v1 as tfx

_OUTPUT_DIR = os.path.join(".", "bucket")
_PIPELINE_ROOT = os.path.join(_OUTPUT_DIR, "tfx_pipeline_output", configs.PIPELINE_NAME)
_SERVING_MODEL_DIR = os.path.join(_PIPELINE_ROOT, "serving_model")
_DATA_PATH = "data"
PIPELINE_IMAGE = "example/project:latest"


def run():
    runner_config = tfx.orchestration.experimental.KubeflowV2DagRunnerConfig(
        default_image=PIPELINE_IMAGE
    )
    dsl_pipeline = pipeline.create_pipeline(
        pipeline_name=configs.PIPELINE_NAME,
        pipeline_root=_PIPELINE_ROOT,
        data_path=_DATA_PATH,
        preprocessing_fn=configs.PREPROCESSING_FN,
        run_fn=configs.RUN_FN,
        train_args=tfx.proto.TrainArgs(num_steps=configs.TRAIN_NUM_STEPS),
        eval_args=tfx.proto.EvalArgs(num_steps=configs.EVAL_NUM_STEPS),
        eval_accuracy_threshold=configs.EVAL_ACCURACY_THRESHOLD,
        serving_model_dir=_SERVING_MODEL_DIR,
    )
    runner = tfx.orchestration.experimental.KubeflowV2DagRunner(config=runner_config)
    runner.run(pipeline=dsl_pipeline)


if __name__ == "__main__":
    logging.set_verbosity(logging.INFO)
    run()
