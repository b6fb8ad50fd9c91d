"""The nodes. A callback converts messages, calls the core once, converts the result and publishes it."""
