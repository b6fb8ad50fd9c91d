"""Generates question-answer data in a simulator, as EXPRESS-Bench and ExploraQA did (docs/generate.md)."""
