"""The fault drill: episodes with faults drawn from a seeded schedule, and what must hold after each."""
