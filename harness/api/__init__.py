"""What the provider's API is made of, stateless: addresses, bodies, transcripts, tools, models.

No rules and no stored state.
"""
