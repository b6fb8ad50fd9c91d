"""Makes question-answer data in a simulator, as EXPRESS-Bench and ExploraQA made theirs (docs/generate.md)."""
