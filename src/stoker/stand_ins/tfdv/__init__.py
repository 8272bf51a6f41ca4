# SPDX-License-Identifier: Apache-2.0
"""TensorFlow Data Validation for those who have not installed it, over `stoker.statistics`.

names.py is the table of what is here; `tensorflow_data_validation` on the path asks it. Each other
file is one of its subjects. Nothing here imports TensorFlow, and pandas, IPython and Apache Beam
are imported when a function that needs one is called.
"""
