# SPDX-License-Identifier: Apache-2.0
"""CsvExampleGen as a pipeline sees it."""

from stoker.components.example_gen.component import CsvExampleGen
