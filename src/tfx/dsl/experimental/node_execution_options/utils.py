# SPDX-License-Identifier: Apache-2.0
"""How nodes are run."""

from stoker.stand_ins.tfx.pipeline_options import NodeExecutionOptions, TriggerStrategy
