"""The control plane at `/_harness`: its endpoints, who may use them, its documentation.

The state that it shows and changes is a World's, in `world`.
"""
