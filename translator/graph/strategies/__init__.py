"""Layouts: how the steps of a graph are arranged in sequences, branches and task tokens."""
