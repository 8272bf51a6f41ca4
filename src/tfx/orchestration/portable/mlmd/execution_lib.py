# SPDX-License-Identifier: Apache-2.0
"""What executions read and made."""

from stoker.stand_ins.tfx.metadata import (
    get_artifacts_dict,
    get_executions_associated_with_all_contexts,
    get_input_artifacts,
    get_output_artifacts,
    is_execution_active,
    is_execution_failed,
    is_execution_successful,
    sort_executions_newest_to_oldest,
)
