"""What a test plays itself: a chat UI in front of a server under test, and counted tool functions."""

from harness.drive.chat import Chat as Chat
from harness.drive.chat import linear as linear
