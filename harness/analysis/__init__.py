"""Reads a journal of exchanges: the agents behind it, their calls and approvals, replies, flow and losses.

Nothing here changes a World or sends a request.
"""
