# SPDX-License-Identifier: Apache-2.0
"""ModelValidator's executor."""

from stoker.components.model_validator import Executor
