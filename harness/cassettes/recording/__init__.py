"""Records exchanges, through a proxy or vcrpy, and replays them; what a cassette looks like is `format`."""
