NAMES = ["bill_length_mm", "body_mass_g"]
