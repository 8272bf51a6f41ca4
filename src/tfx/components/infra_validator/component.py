# SPDX-License-Identifier: Apache-2.0
"""InfraValidator as a pipeline sees it."""

from stoker.components.infra_validator import InfraValidator
