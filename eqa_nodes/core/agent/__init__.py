"""What the agent keeps about a question while it works on it: costs, limits, views, and when to stop."""
