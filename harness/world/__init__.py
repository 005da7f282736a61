"""The state behind one API key: what is stored, the script, the clock. Endpoints read and change it."""
