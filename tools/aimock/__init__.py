"""Converts fixtures of aimock, `{"fixtures": [{"match": {…}, "response": {…}}]}`, to scripts: conditions and turns."""
