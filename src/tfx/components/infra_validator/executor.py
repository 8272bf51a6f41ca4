# SPDX-License-Identifier: Apache-2.0
"""What InfraValidator does in a worker."""

from stoker.components.infra_validator import Executor
