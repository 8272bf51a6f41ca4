# SPDX-License-Identifier: Apache-2.0
"""TFX's extensions for Google's cloud: keys are there, and classes say what to use instead.

Templates mention them whether they use them or not, so a mention is no error: making a step of one
is.
"""

from typing import Any

from stoker.dsl import BaseComponent, BaseExecutor
from stoker.errors import MissingPart

ENABLE_VERTEX_KEY = "ai_platform_enable_vertex"
VERTEX_REGION_KEY = "ai_platform_vertex_region"
VERTEX_CONTAINER_IMAGE_URI_KEY = "ai_platform_vertex_container_image_uri"
SERVING_ARGS_KEY = "ai_platform_serving_args"
ENDPOINT_ARGS_KEY = "endpoint"
TRAINING_ARGS_KEY = "ai_platform_training_args"
JOB_ID_KEY = "ai_platform_training_job_id"
LABELS_KEY = "ai_platform_training_labels"
ENABLE_UCAIP_KEY = "ai_platform_training_enable_ucaip"
UCAIP_REGION_KEY = "ai_platform_training_ucaip_region"
TUNING_ARGS_KEY = "ai_platform_tuning_args"
REMOTE_TRIALS_WORKING_DIR_KEY = "remote_trials_working_dir"
BIG_QUERY_SERVING_ARGS_KEY = "bigquery_serving_args"

_AI_PLATFORM = "tfx.extensions.google_cloud_ai_platform"
_BIG_QUERY = "tfx.extensions.google_cloud_big_query"
_TRAIN = (
    "Use Trainer from tfx.components: Stoker trains on this machine, or with workers on Ray, "
    "LocalDagRunner(OnRay())."
)
_TUNE = "Use Tuner from tfx.components: its trials run side by side on this machine."
_PUSH = "Use Pusher from tfx.components, which pushes to a folder."
_INFER = "Use BulkInferrer from tfx.components."


def _refuse(path: str, advice: str, base: type) -> Any:
    """A class that can be named, and nothing else."""
    reason = f"{path} is not in this version of Stoker. {advice}"

    def __init__(*_: Any, **__: Any) -> None:  # noqa: N807
        raise MissingPart(reason, name=path)

    members = {"__init__": __init__, "__doc__": reason, "MISSING_PART": reason}
    return type(path.rpartition(".")[2], (base,), members)


Trainer = _refuse(f"{_AI_PLATFORM}.trainer.component.Trainer", _TRAIN, BaseComponent)
TrainerExecutor = _refuse(f"{_AI_PLATFORM}.trainer.executor.Executor", _TRAIN, BaseExecutor)
GenericExecutor = _refuse(f"{_AI_PLATFORM}.trainer.executor.GenericExecutor", _TRAIN, BaseExecutor)
Tuner = _refuse(f"{_AI_PLATFORM}.tuner.component.Tuner", _TUNE, BaseComponent)
TunerExecutor = _refuse(f"{_AI_PLATFORM}.tuner.executor.Executor", _TUNE, BaseExecutor)
Pusher = _refuse(f"{_AI_PLATFORM}.pusher.component.Pusher", _PUSH, BaseComponent)
PusherExecutor = _refuse(f"{_AI_PLATFORM}.pusher.executor.Executor", _PUSH, BaseExecutor)
BulkInferrer = _refuse(
    f"{_AI_PLATFORM}.bulk_inferrer.component.CloudAIBulkInferrerComponent", _INFER, BaseComponent
)
BulkInferrerExecutor = _refuse(
    f"{_AI_PLATFORM}.bulk_inferrer.executor.Executor", _INFER, BaseExecutor
)
BigQueryPusher = _refuse(f"{_BIG_QUERY}.pusher.component.Pusher", _PUSH, BaseComponent)
BigQueryPusherExecutor = _refuse(f"{_BIG_QUERY}.pusher.executor.Executor", _PUSH, BaseExecutor)
