"""Optimizations only: without this package every answer is the same."""
