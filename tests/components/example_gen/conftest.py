# SPDX-License-Identifier: Apache-2.0
import pytest

from stoker.artifacts import Examples
from stoker.components.example_gen.executor import CsvExecutor
from stoker.data.input_files import matching_files
from stoker.data.tfrecord import read_records


@pytest.fixture
def run(tmp_path):
    """Runs the driver and the executor of an ExampleGen, and gives its output."""

    def do(component, executor=CsvExecutor, name="examples"):
        examples = Examples()
        examples.uri = str(tmp_path / name)
        outputs = {"examples": [examples]}
        parameters = component.DRIVER_CLASS.drive(component.spec.values({}), outputs)
        executor().Do({}, outputs, parameters)
        return examples

    return do


@pytest.fixture
def records():
    """The records of a split, in order."""

    def read(examples, split):
        files = matching_files(examples.path(split=split))
        return [record for path in files for record in read_records(path)]

    return read
