# SPDX-License-Identifier: Apache-2.0
"""Whether a model is blessed."""

from stoker.stand_ins.tfx.executor_tools import is_infra_validated, is_model_blessed
