"""Clients of Azure on the mock, over plain http: a credential whose token is the key of the test."""

import time

import pytest
from azure.core.credentials import AccessToken, AzureKeyCredential
from azure.core.pipeline.policies import AzureKeyCredentialPolicy


class Credential:
    """A `TokenCredential` that gives one token, whatever it is asked for."""

    def __init__(self, token):
        self.token = token

    def get_token(self, *scopes, **options):
        return AccessToken(self.token, int(time.time()) + 3600)

    def close(self):
        pass


class AsyncCredential(Credential):
    """The same, awaited."""

    async def get_token(self, *scopes, **options):
        return super().get_token()

    async def close(self):
        pass

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass


@pytest.fixture
def credential(mock):
    return Credential(mock.api_key)


@pytest.fixture
def async_credential(mock):
    return AsyncCredential(mock.api_key)


@pytest.fixture
def by_key(mock):
    """How a client that sends no token over plain http says who it is."""
    return AzureKeyCredentialPolicy(AzureKeyCredential(mock.api_key), "api-key")
