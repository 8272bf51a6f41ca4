# SPDX-License-Identifier: Apache-2.0
"""TensorFlow Transform's analysis on this machine, without Beam."""
