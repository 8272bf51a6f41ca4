# SPDX-License-Identifier: Apache-2.0
"""ExampleValidator as a pipeline sees it."""

from stoker.components.example_validator import ExampleValidator
