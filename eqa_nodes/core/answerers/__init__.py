"""What answers questions from views: rules over labels, a vision-language model, or nothing but priors."""
