# SPDX-License-Identifier: Apache-2.0
"""What is reused, resumed or pushed is what a run from nothing would have made.

project.py    a user's project on disk: code, data, flags, variables, an installed package
edits.py      everything that can happen to it between two runs
oracle.py     random edits, a run after each, and the same from nothing to compare with
light/        the project: steps of every kind, without TensorFlow
trained/      another one: Transform, and a Trainer that resumes
"""
