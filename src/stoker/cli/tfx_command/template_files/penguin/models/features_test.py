"""Tests to start from: python -m unittest models.features_test"""

import unittest

from models import features


class FeaturesTest(unittest.TestCase):
    """What other files expect of the columns."""

    def test_number_of_features(self):
        """The label is not among what the model reads."""
        self.assertEqual(4, len(features.FEATURE_KEYS))
        self.assertNotIn(features.LABEL_KEY, features.FEATURE_KEYS)

    def test_transformed_names(self):
        """A transformed feature is not called as the raw one."""
        self.assertEqual("culmen_xf", features.transformed_name("culmen"))


if __name__ == "__main__":
    unittest.main()
