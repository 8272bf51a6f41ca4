# SPDX-License-Identifier: Apache-2.0
"""What lies where below a pipeline root."""

import pytest

from stoker.storage.root import Root, manifest_file, output_dir

ROOT = Root("/penguins")


@pytest.mark.parametrize("is_value", [True, False])
def test_an_output_tells_where_its_manifest_is(is_value):
    uri = ROOT.output_uri("Trainer", "model", 7, is_value=is_value)
    assert output_dir(uri) == "/penguins/Trainer/model/7"
    assert manifest_file(uri) == "/penguins/.stoker/manifests/Trainer/model/7.json"


@pytest.mark.parametrize(
    ("directory", "is_ours"),
    [
        ("/penguins/Trainer/model/7", True),
        ("/penguins/Trainer/model/latest", False),
        ("/penguins/Trainer/model", False),
        ("/penguins/../model/7", False),
        ("/elsewhere/model/7", False),
    ],
)
def test_only_what_an_execution_wrote_is_an_output(directory, is_ours):
    assert ROOT.has_output(directory) is is_ours
