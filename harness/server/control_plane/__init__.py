"""The control plane at `/_harness`: its endpoints, its access rules, its documentation.

The state that it shows and changes belongs to a World, in `world`.
"""
