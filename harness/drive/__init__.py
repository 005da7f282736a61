"""What a test runs itself: a chat UI in front of a server under test, and tool functions that record their runs.

It plays a client; the model is played by the World's script. What is shown here is imported when it is first used.
"""

TYPE_CHECKING = False  # as in `typing`, without the time that importing it takes
if TYPE_CHECKING:
    from harness.drive.chat import Chat as Chat
    from harness.drive.chat import linear as linear

_FROM_CHAT = ("Chat", "linear")


def __getattr__(name: str) -> object:
    if name not in _FROM_CHAT:
        raise AttributeError(f"module 'harness.drive' has no attribute {name!r}")
    from harness.drive import chat

    return getattr(chat, name)
