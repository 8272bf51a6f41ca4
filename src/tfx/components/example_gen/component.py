# SPDX-License-Identifier: Apache-2.0
"""An ExampleGen whose executor is chosen by the pipeline."""

from stoker.components.example_gen import FileBasedExampleGen
