# SPDX-License-Identifier: Apache-2.0
"""The runner for Airflow."""

from stoker.orchestrators.airflow import AirflowDagRunner, AirflowPipelineConfig
