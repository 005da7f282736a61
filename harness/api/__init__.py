"""Stateless parts of the provider's API: paths, dialects, bodies, tools, models, and the objects of its resources.

Contains neither rules (`harness.contract`) nor stored state (`harness.world`).
"""
