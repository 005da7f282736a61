"""Rules of Azure OpenAI and Azure AI Foundry before a request reaches a model: keys, paths, `api-version`, deployments."""
