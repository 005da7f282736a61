"""Shows how well the rules are known: their evidence, and how each rule did on recordings."""
