"""The formulas of the field and the statistics over them."""
