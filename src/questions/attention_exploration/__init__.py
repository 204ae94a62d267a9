"""The attention exploration: queries, keys and matrices, with numpy alone."""
