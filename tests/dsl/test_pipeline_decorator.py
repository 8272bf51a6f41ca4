# SPDX-License-Identifier: Apache-2.0
"""A pipeline of TFX 0.12 is a function that returns its components, under a decorator."""

from tfx.components.example_gen.csv_example_gen.component import CsvExampleGen
from tfx.orchestration.pipeline import PipelineDecorator
from tfx.utils.dsl_utils import csv_input


def test_a_decorated_function_returns_the_pipeline_of_its_components(tmp_path):
    @PipelineDecorator(
        pipeline_name="titanic",
        enable_cache=True,
        metadata_db_root=str(tmp_path / "metadata"),
        additional_pipeline_args={"logger_args": {"log_root": str(tmp_path)}},
        pipeline_root=str(tmp_path / "root"),
    )
    def create_pipeline():
        """As it was declared."""
        return [CsvExampleGen(input_base=csv_input(str(tmp_path)))]

    pipeline = create_pipeline()
    assert (pipeline.pipeline_name, pipeline.enable_cache) == ("titanic", True)
    assert [step.id for step in pipeline.components] == ["CsvExampleGen"]
    assert pipeline.store_config("").path == str(tmp_path / "metadata" / "metadata.db")
    assert create_pipeline.__doc__ == "As it was declared."
