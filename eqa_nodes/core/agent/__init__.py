"""The agent: the episode of one question, with its strategies, views, drives, dialogue and stopping rule."""
