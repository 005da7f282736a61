"""What the model says to samples that small talk does not serve, by sample."""

SCRIPTS = {}
