"""The built-in houses: seeded, furnished, with several rooms, rendered on the CPU, with known ground truth."""
