# SPDX-License-Identifier: Apache-2.0
"""Labels that runners put on jobs."""

from stoker.stand_ins.tfx.labels import (
    LABEL_KFP_SDK_ENV,
    LABEL_TFX_EXECUTOR,
    LABEL_TFX_RUNNER,
    make_labels_dict,
    scoped_labels,
)
