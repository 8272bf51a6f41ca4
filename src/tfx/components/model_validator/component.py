# SPDX-License-Identifier: Apache-2.0
"""ModelValidator as a pipeline sees it."""

from stoker.components.model_validator import ModelValidator
