"""Registration of one map in another, from the views of both."""
