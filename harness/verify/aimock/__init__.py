"""Fixtures of aimock, `{"fixtures": [{"match": {…}, "response": {…}}]}`, as scripts: for which requests which turns."""
