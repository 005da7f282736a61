"""A credential for clients of Azure: its token is the key of the test."""

import time

from azure.core.credentials import AccessToken


class AsyncCredential:
    """An asynchronous `TokenCredential` that gives one token, whatever it is asked for."""

    def __init__(self, token):
        self.token = token

    async def get_token(self, *scopes, **options):
        return AccessToken(self.token, int(time.time()) + 3600)

    async def close(self):
        pass
