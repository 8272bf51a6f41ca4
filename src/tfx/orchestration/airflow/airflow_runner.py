# SPDX-License-Identifier: Apache-2.0
"""The runner for Airflow, under its first name."""

from stoker.runner.other_runners import AirflowDagRunner as AirflowDAGRunner
