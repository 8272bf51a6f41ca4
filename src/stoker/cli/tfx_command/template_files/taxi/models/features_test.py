"""Tests to start from: python -m unittest models.features_test"""

import unittest

from models import features


class FeaturesTest(unittest.TestCase):
    """What other files expect of the columns."""

    def test_label_is_no_feature(self):
        """The label is not among what the model reads."""
        read = {*features.DENSE_FLOAT_FEATURE_KEYS, *features.CATEGORY_SIZES}
        self.assertNotIn(features.LABEL_KEY, read)

    def test_transformed_names(self):
        """A transformed feature is not called as the raw one."""
        self.assertEqual("fare_xf", features.transformed_name("fare"))


if __name__ == "__main__":
    unittest.main()
