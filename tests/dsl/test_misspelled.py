# SPDX-License-Identifier: Apache-2.0
"""What is misspelled in a pipeline file is told the name that was meant."""

import pytest

from stoker.components.example_gen.component import CsvExampleGen
from stoker.components.trainer.component import Trainer
from stoker.dsl import Pipeline, component
from stoker.dsl.partial_run import PartialRun


def test_an_argument_of_a_component(tmp_path):
    with pytest.raises(TypeError, match=r"has no argument 'input_bas'. Did you mean 'input_base'"):
        CsvExampleGen(input_bas=str(tmp_path))
    with pytest.raises(TypeError, match=r"Trainer has no argument 'modul_file'.*'module_file'"):
        Trainer(modul_file="module.py")


def test_an_output_of_a_component(tmp_path):
    with pytest.raises(KeyError, match=r"there is no 'example' here.*Did you mean 'examples'"):
        CsvExampleGen(input_base=str(tmp_path)).outputs["example"]


def test_an_argument_of_a_pipeline(tmp_path):
    with pytest.warns(UserWarning, match="no argument 'enable_cach'.*Did you mean 'enable_cache'"):
        Pipeline("p", str(tmp_path), components=[], enable_cach=True)


def test_an_argument_of_the_decorator():
    with pytest.raises(TypeError, match=r"@component has no argument 'use_bean'.*mean 'use_beam'"):
        component(use_bean=True)


def test_a_step_of_a_partial_run(tmp_path):
    step = CsvExampleGen(input_base=str(tmp_path))
    with pytest.raises(ValueError, match=r"no step 'CsvExamplGen'.*Did you mean 'CsvExampleGen'"):
        PartialRun(from_nodes=["CsvExamplGen"]).choose([step])
