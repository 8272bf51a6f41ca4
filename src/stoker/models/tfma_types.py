# SPDX-License-Identifier: Apache-2.0
"""`tfma.types`, where TFMA is not installed: what code of others names in its signatures."""

from typing import Any

from stoker.models.extractors import Extracts
from stoker.stand_ins.tfma.shared_models import (
    EvalSharedModel,
    MaybeMultipleEvalSharedModels,
    ModelLoader,
)

__all__ = [
    "AddMetricsCallbackType",
    "EvalSharedModel",
    "Extracts",
    "FeaturesPredictionsLabels",
    "MaterializedColumn",
    "MaybeMultipleEvalSharedModels",
    "ModelLoader",
    "RaggedTensorValue",
    "SparseTensorValue",
    "TensorType",
    "TensorTypeMaybeDict",
    "TensorValue",
    "VarLenTensorValue",
]

AddMetricsCallbackType = FeaturesPredictionsLabels = MaterializedColumn = Any
RaggedTensorValue = SparseTensorValue = VarLenTensorValue = Any
TensorType = TensorTypeMaybeDict = TensorValue = Any
