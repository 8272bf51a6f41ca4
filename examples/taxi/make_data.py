"""Makes taxi trips that never happened: seeded, with a reason behind every tip.

python make_data.py trips.csv --rows 15000
"""

import argparse
import csv
import pathlib

import numpy as np

COMPANIES = ["Ember Cabs", "Flint", "Harbour Taxi", "Lantern", "North Star", "Tinder & Sons"]
PAYMENTS = ["card", "cash", "app", "voucher"]
PAYS_WITH = [0.45, 0.35, 0.17, 0.03]
TIPS_BY_PAYMENT = {"card": 1.6, "cash": -3.5, "app": 2.4, "voucher": -1.0}
TIPS_BY_COMPANY = dict(zip(COMPANIES, [0.8, -0.6, 0.1, 0.5, -0.9, 0.0], strict=True))
CENTRE = (41.88, -87.63)


def make_trips(rows, seed=1):
    """Rows as dicts; a missing value is an empty cell."""
    rng = np.random.default_rng(seed)
    for _ in range(rows):
        km = float(rng.gamma(2.0, 3.0)) + 0.3
        hour = int(rng.integers(24))
        rush = hour in (8, 9, 17, 18)
        minutes = km * float(rng.normal(2.6 if rush else 1.9, 0.2)) + 2
        fare = round(3 + 1.4 * km + 0.25 * minutes, 2)
        payment = str(rng.choice(PAYMENTS, p=PAYS_WITH))
        company = str(rng.choice(COMPANIES))
        night = hour >= 22 or hour < 4
        wish = TIPS_BY_PAYMENT[payment] + TIPS_BY_COMPANY[company] + 0.7 * night - 0.05 * km
        tips = rng.random() < 1 / (1 + np.exp(-2 * wish))
        share = rng.uniform(0.21, 0.35) if tips else rng.uniform(0, 0.15)
        yield {
            "trip_km": _maybe(rng, round(km, 2)),
            "trip_minutes": _maybe(rng, round(max(minutes, 1.0), 1)),
            "fare": fare,
            "tip": round(fare * share, 2),
            "payment": payment,
            "company": _maybe(rng, company, missing=0.2),
            "start_hour": hour,
            "start_weekday": int(rng.integers(1, 8)),
            "start_area": int(rng.integers(1, 40)),
            "start_latitude": round(float(rng.normal(CENTRE[0], 0.05)), 4),
            "start_longitude": round(float(rng.normal(CENTRE[1], 0.05)), 4),
        }


def _maybe(rng, value, missing=0.02):
    return "" if rng.random() < missing else value


def write_trips(path, rows, seed=1, tips=True):
    """Write a CSV file of trips, without their tips if nobody is to know them."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    trips = list(make_trips(rows, seed))
    if not tips:
        trips = [{name: trip[name] for name in trip if name != "tip"} for trip in trips]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(trips[0]))
        writer.writeheader()
        writer.writerows(trips)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--rows", type=int, default=15_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    write_trips(arguments.path, arguments.rows, arguments.seed)
