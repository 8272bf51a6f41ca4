# SPDX-License-Identifier: Apache-2.0
"""`tfma.types`, where TFMA is not installed: what code of others names in its signatures."""

from stoker.models.extractors import Extracts
from stoker.stand_ins.tfma.shared_models import (
    EvalSharedModel,
    MaybeMultipleEvalSharedModels,
    ModelLoader,
)

__all__ = ["EvalSharedModel", "Extracts", "MaybeMultipleEvalSharedModels", "ModelLoader"]
