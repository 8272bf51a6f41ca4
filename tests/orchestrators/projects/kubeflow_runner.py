"""Writes the package for Kubeflow Pipelines, as files of its first edition do."""

import os

from absl import logging
from pipeline import configs, pipeline
from tfx import v1 as tfx

OUTPUT_DIR = os.path.join(".", "bucket")
PIPELINE_ROOT = os.path.join(OUTPUT_DIR, "tfx_pipeline_output", configs.PIPELINE_NAME)
SERVING_MODEL_DIR = os.path.join(PIPELINE_ROOT, "serving_model")
DATA_PATH = "data"
PIPELINE_IMAGE = "example/project:latest"


def run():
    metadata_config = tfx.orchestration.experimental.get_default_kubeflow_metadata_config()
    runner_config = tfx.orchestration.experimental.KubeflowDagRunnerConfig(
        kubeflow_metadata_config=metadata_config, tfx_image=PIPELINE_IMAGE
    )
    pod_labels = {tfx.orchestration.experimental.LABEL_KFP_SDK_ENV: "tfx-template"}
    tfx.orchestration.experimental.KubeflowDagRunner(
        config=runner_config, pod_labels_to_attach=pod_labels
    ).run(
        pipeline.create_pipeline(
            pipeline_name=configs.PIPELINE_NAME,
            pipeline_root=PIPELINE_ROOT,
            data_path=DATA_PATH,
            preprocessing_fn=configs.PREPROCESSING_FN,
            run_fn=configs.RUN_FN,
            train_args=tfx.proto.TrainArgs(num_steps=configs.TRAIN_NUM_STEPS),
            eval_args=tfx.proto.EvalArgs(num_steps=configs.EVAL_NUM_STEPS),
            eval_accuracy_threshold=configs.EVAL_ACCURACY_THRESHOLD,
            serving_model_dir=SERVING_MODEL_DIR,
        )
    )


if __name__ == "__main__":
    logging.set_verbosity(logging.INFO)
    run()
