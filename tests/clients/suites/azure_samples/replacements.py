"""All that is replaced from outside before a sample runs: its credential, sleeping, typing, the network.

The samples run unmodified; nothing else of theirs or of the packages is touched.
"""

import asyncio
import builtins
import os
import socket
import time

import azure.identity
import azure.identity.aio

from harness.drive import FoundryCredential

LONGEST_SLEEP = 0.01
"""Seconds that a sample really sleeps, at most: the mock moves on by being asked, not by the clock."""
LOCAL = ("127.0.0.1", "localhost", "::1", "", None)
QUIT = "quit"
TYPED = {
    "Enter your choice (1-4): ": ["4"],
    "Input (type 'quit' or 'exit' to exit): ": ["Write a function that adds two numbers.", QUIT],
    "You:  ": [QUIT],
}
"""By its prompt what is typed, one line after the other; to any other prompt it is a question."""
QUESTION = "What can you tell me about hiking in Seattle?"


class Credential(FoundryCredential):
    """What stands for `DefaultAzureCredential`: its token is the key of the sample's World."""

    def __init__(self, *_, **__):
        super().__init__(os.environ["SAMPLE_KEY"])


def install():
    """Replace all of it in this process."""
    azure.identity.DefaultAzureCredential = azure.identity.aio.DefaultAzureCredential = Credential
    _shorten_sleep()
    builtins.input = lambda prompt="": TYPED[prompt].pop(0) if TYPED.get(prompt) else QUESTION
    _keep_inside()


def _shorten_sleep():
    sleep, sleep_async = time.sleep, asyncio.sleep
    time.sleep = lambda seconds: sleep(min(seconds, LONGEST_SLEEP))

    async def shorter(seconds, result=None):
        return await sleep_async(min(seconds, LONGEST_SLEEP), result)

    asyncio.sleep = shorter


def _keep_inside():
    """No sample reaches a host outside this machine: the name of one is not found."""
    resolve = socket.getaddrinfo

    def resolve_local(host, *rest, **more):
        name = host.decode() if isinstance(host, bytes) else host
        if name not in LOCAL:
            raise socket.gaierror(socket.EAI_NONAME, f"{name} is outside the test")
        return resolve(host, *rest, **more)

    socket.getaddrinfo = resolve_local
