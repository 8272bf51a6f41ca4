# SPDX-License-Identifier: Apache-2.0
"""ExampleGen: where data enters a pipeline. Files of several kinds become split tf.Examples."""
