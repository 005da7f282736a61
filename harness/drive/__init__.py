"""Parts that a test plays itself: a chat UI in front of a server under test, recorded tool functions, a credential.

They stand in for the client; the World's script plays the model. Names exported here are imported on first use.
"""

TYPE_CHECKING = False  # as in `typing`, whose import takes time
if TYPE_CHECKING:
    from harness.drive.chat import Chat as Chat
    from harness.drive.chat import linear as linear
    from harness.drive.clients import FoundryCredential as FoundryCredential
    from harness.drive.coding_agents import CodingAgent as CodingAgent
    from harness.drive.container import MockContainer as MockContainer

_LAZY = {
    "Chat": "harness.drive.chat",
    "CodingAgent": "harness.drive.coding_agents",
    "FoundryCredential": "harness.drive.clients",
    "MockContainer": "harness.drive.container",
    "linear": "harness.drive.chat",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'harness.drive' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)
