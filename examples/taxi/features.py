"""What the columns of a trip are: shared by the preprocessing and by both models."""

NUMBERS = ["trip_km", "trip_minutes", "fare"]
PLACES = ["start_latitude", "start_longitude"]
WORDS = ["payment", "company"]
CATEGORIES = {"start_hour": 24, "start_weekday": 8, "start_area": 41}
TIP, FARE = "tip", "fare"
LABEL = "big_tip"

NUM_BUCKETS = 10
NUM_OOV_BUCKETS = 2
MAX_WORDS = 50

# How many values each number that stands for something may have, after the transformation.
WIDE = {
    **dict.fromkeys(PLACES, NUM_BUCKETS),
    **dict.fromkeys(WORDS, MAX_WORDS + NUM_OOV_BUCKETS),
    **CATEGORIES,
}


def transformed_name(key):
    """A transformed feature has a name of its own, so that nobody takes it for the raw one."""
    return key + "_xf"
