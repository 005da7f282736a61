"""Recording evidence for the rules: their examples sent to the live API, judged and stored. No other server is asked."""
