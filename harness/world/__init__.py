"""The state behind one API key: what is stored, the script, the clock; endpoints read and change it."""
