"""A server of WebSockets that talks as a test wants."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.server import serve


@contextmanager
def over_sockets(talk: Callable[[Any], None], refuse: int | None = None) -> Iterator[str]:
    """Provide the base URL of a server that talks so over each WebSocket, or refuses all with a status."""

    def check(connection: Any, request: Any) -> Any:
        return None if refuse is None else connection.respond(refuse, "No.\n")

    with serve(talk, "127.0.0.1", 0, process_request=check) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.socket.getsockname()[1]}/v1"
        made.shutdown()
