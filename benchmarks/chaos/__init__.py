"""The fault drill: episodes with faults drawn from a seeded schedule, and checks after each."""
