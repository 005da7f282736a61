"""What must not be in a recording, found and hidden: of takes, texts, and the finished file."""
