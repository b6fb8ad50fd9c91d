"""EmbodiedEval tasks (Cheng et al., 2025): a navigation graph, options to choose from, goal predicates."""
