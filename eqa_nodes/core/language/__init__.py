"""English of questions and answers: rules and tables, without a model."""
