"""Tasks as EmbodiedEval sets them (Cheng et al., 2025): a navigation graph, options to pick from, goal predicates."""
