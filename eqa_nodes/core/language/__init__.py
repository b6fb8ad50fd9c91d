"""English of questions and answers: rules and tables, no model."""
