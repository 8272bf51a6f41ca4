# SPDX-License-Identifier: Apache-2.0
"""What ExampleValidator does in a worker."""

from stoker.components.example_validator import Executor
