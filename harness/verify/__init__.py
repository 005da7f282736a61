"""`harness verify`: recordings of anyone read from files, judged, and told."""
