"""Recordings of episodes for viewers: a Rerun file of what the robot saw, knew, decided and answered."""
