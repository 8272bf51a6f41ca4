# SPDX-License-Identifier: Apache-2.0
"""The flags of the program; the pipeline and its module import them."""

from absl import flags

ROOT = flags.DEFINE_string("root", None, "Where outputs and records go.")
SERVED = flags.DEFINE_string("served", None, "The folder that a server watches.")
PARAMETER = flags.DEFINE_integer("parameter", 0, "A parameter of the Trainer.")
flags.DEFINE_integer("rate", 0, "Read by the module: how fast it learns.")
