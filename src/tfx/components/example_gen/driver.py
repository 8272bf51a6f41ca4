# SPDX-License-Identifier: Apache-2.0
"""What ExampleGens find out before they read."""

from stoker.components.example_gen.driver import Driver, FileBasedDriver, QueryBasedDriver
