# SPDX-License-Identifier: Apache-2.0
"""Names of a module that only imports them, each imported when it is used."""

import subprocess
import sys
import textwrap

import pytest

from stoker.patches.changes import find_homes

USES = textwrap.dedent(
    """
    import sys
    from stoker.patches.tfx_bsl import put_off_beam
    put_off_beam()
    from tfx_bsl.public import tfxio
    from tfx_bsl.public.tfxio import TensorFlowDatasetOptions
    assert tfxio.TensorFlowDatasetOptions is TensorFlowDatasetOptions
    assert tfxio.TensorFlowDatasetOptions(batch_size=3).batch_size == 3
    assert "TFExampleRecord" in dir(tfxio)
    assert not hasattr(tfxio, "TfExampleRecord")
    assert "apache_beam" not in sys.modules
    from tfx_bsl.tfxio.tf_example_record import TFExampleRecord
    assert tfxio.TFExampleRecord is TFExampleRecord
    from tfx_bsl.public.tfxio import *
    assert TFXIO.__name__ == "TFXIO"
    """
)


def test_a_module_that_only_imports_names_says_where_they_are():
    source = '"""What it is."""\nfrom a.b import C, D\nfrom e import F\n__all__ = ["C", "D", "F"]\n'
    assert find_homes(source) == {"C": "a.b:C", "D": "a.b:D", "F": "e:F"}


@pytest.mark.parametrize("more", ["import os", "from . import x", "print(1)", "def f(): pass"])
def test_one_that_does_anything_else_is_left_alone(more):
    assert find_homes(f"from a.b import C\n{more}\n") == {}


def test_a_name_may_be_another_there():
    assert find_homes("from a import B as B\nfrom a import B as C\n") == {"B": "a:B", "C": "a:B"}


def test_all_names_of_a_module_cannot_be_known_without_importing_it():
    assert find_homes("from a import *\n") == {}


@pytest.mark.tf
def test_the_options_of_an_accessor_are_named_without_apache_beam():
    pytest.importorskip("tfx_bsl")
    subprocess.run([sys.executable, "-W", "ignore", "-c", USES], check=True)


def test_the_encoder_of_its_extension_is_there_after_tfx():
    code = textwrap.dedent(
        """
        import tfx
        import pyarrow as pa
        from tfx_bsl.cc.tfx_bsl_extension.coders import RecordBatchToExamples
        from tfx_bsl.coders import example_coder
        batch = pa.RecordBatch.from_arrays([pa.array([[1], [2, 3]])], ["a"])
        assert RecordBatchToExamples(batch) == example_coder.RecordBatchToExamples(batch)
        print(len(RecordBatchToExamples(batch)))
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stdout == "2\n", done.stderr
