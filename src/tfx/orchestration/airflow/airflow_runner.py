# SPDX-License-Identifier: Apache-2.0
"""The runner for Airflow, under its first name."""

from stoker.orchestrators.airflow import AirflowDagRunner as AirflowDAGRunner
