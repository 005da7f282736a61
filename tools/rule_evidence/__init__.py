"""Records evidence for the rules: sends their examples to the live API, judges its answers and stores them."""
