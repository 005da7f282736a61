"""What a journal of exchanges tells: agents, calls, approvals, losses. It reads and never changes a World."""
