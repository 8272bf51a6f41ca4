# SPDX-License-Identifier: Apache-2.0
"""A model that makes features for its evaluation is told from a variable of the same name."""

import pytest

from stoker.user_code.made_features import may_make_features


@pytest.mark.parametrize(
    ("text", "makes"),
    [
        ("signatures = {'transformed_labels': make}", True),
        ("model.transformed_features = layer", True),
        ("this is no Python", True),
        ("transformed_features = model.tft_layer(raw)\nreturned = transformed_features", False),
        ("spec = output.transformed_feature_spec()\nkey = transformed_name('label')", False),
    ],
)
def test_what_the_text_names(tmp_path, text, makes):
    path = tmp_path / "module.py"
    path.write_text(text)
    assert may_make_features(str(path)) is makes
