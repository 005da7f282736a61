"""Records exchanges, through a proxy or vcrpy, and replays them; the format of cassettes is in `format`."""
