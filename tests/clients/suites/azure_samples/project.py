"""The project that the samples start with: the variables they read, and the resources these name."""

MODEL = "gpt-4.1"
MODELS = {
    **dict.fromkeys(
        (
            *("FOUNDRY_MODEL_NAME", "MODEL_DEPLOYMENT_NAME", "AZURE_AI_MODEL_DEPLOYMENT_NAME", "OPTIMIZATION_MODEL"),
            *("EVAL_MODEL", "MEMORY_STORE_CHAT_MODEL_DEPLOYMENT_NAME", "FOUNDRY_INSTANT_MODEL_NAME"),
        ),
        MODEL,
    ),
    "AZURE_AI_MODEL_DEPLOYMENT_NAME_FOR_AUDIO": "gpt-4o-audio-preview",
    "COMPUTER_USE_MODEL_DEPLOYMENT_NAME": "computer-use-preview",
    "DEEP_RESEARCH_MODEL_DEPLOYMENT_NAME": "o3-deep-research",
    "FOUNDRY_VOICE_AGENT_MODEL": "gpt-realtime",
    "IMAGE_GENERATION_MODEL_DEPLOYMENT_NAME": "gpt-image-1",
    "IMAGE_GEN_DEPLOYMENT_NAME": "gpt-image-1",
    "MEMORY_STORE_EMBEDDING_MODEL_DEPLOYMENT_NAME": "text-embedding-3-small",
}
"""The variables that name a model, and what it is."""
ACCOUNT = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/harness/providers"
CONNECTIONS = {
    "A2A_PROJECT_CONNECTION_ID": ("a2a", "RemoteA2A"),
    "AI_SEARCH_PROJECT_CONNECTION_ID": ("search", "CognitiveSearch"),
    "AZURE_PLAYWRIGHT_CONNECTION_ID": ("playwright", "Serverless"),
    "BING_CUSTOM_SEARCH_PROJECT_CONNECTION_ID": ("bing-custom", "GroundingWithCustomSearch"),
    "BING_PROJECT_CONNECTION_ID": ("bing", "GroundingWithBingSearch"),
    "BROWSER_AUTOMATION_PROJECT_CONNECTION_ID": ("playwright", "Serverless"),
    "FABRIC_IQ_PROJECT_CONNECTION_ID": ("fabric-iq", "RemoteTool"),
    "FABRIC_PROJECT_CONNECTION_ID": ("fabric", "CustomKeys"),
    "MCP_PROJECT_CONNECTION_ID": ("github", "CustomKeys"),
    "OPENAPI_PROJECT_CONNECTION_ID": ("tripadvisor", "CustomKeys"),
    "SHAREPOINT_PROJECT_CONNECTION_ID": ("sharepoint", "CustomKeys"),
    "WEB_IQ_PROJECT_CONNECTION_ID": ("web-iq", "RemoteTool"),
    "WORK_IQ_PROJECT_CONNECTION_ID": ("work-iq", "RemoteTool"),
}
"""The variables that hold the id of a connection: its name and its type."""
NAMED_CONNECTIONS = {
    "AI_SEARCH_CONNECTION_NAME": ("search", "CognitiveSearch"),
    "AZURE_PLAYWRIGHT_CONNECTION_NAME": ("playwright", "Serverless"),
    "BING_CONNECTION_NAME": ("bing", "GroundingWithBingSearch"),
    "BING_CUSTOM_CONNECTION_NAME": ("bing-custom", "GroundingWithCustomSearch"),
    "BING_RESOURCE_NAME": ("bing", "GroundingWithBingSearch"),
    "CONNECTION_NAME": ("storage", "AzureStorageAccount"),
    "FABRIC_CONNECTION_NAME": ("fabric", "CustomKeys"),
    "GITHUB_CONNECTION_NAME": ("github", "CustomKeys"),
    "PROJECT_OPENAPI_CONNECTION_NAME": ("tripadvisor", "CustomKeys"),
    "SHAREPOINT_CONNECTION_NAME": ("sharepoint", "CustomKeys"),
    "TEAMS_CONNECTION_NAME": ("teams", "CustomKeys"),
}
"""The variables that hold the name of a connection: that and its type."""
ELSEWHERE = "https://harness.blob.core.windows.net"
SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
VARIABLES = {
    "AGENT_ID": "asst_abc123",
    "AI_SEARCH_INDEX_NAME": "products",
    "APPLICATIONINSIGHTS_CONNECTION_STRING": f"InstrumentationKey={SUBSCRIPTION};IngestionEndpoint=https://harness.invalid/",
    "APPINSIGHTS_RESOURCE_ID": f"{ACCOUNT}/microsoft.insights/components/harness",
    "APP_INSIGHTS_RESOURCE_ID": f"{ACCOUNT}/microsoft.insights/components/harness",
    "AZURE_AI_PROJECTS_AZURE_AOAI_ACCOUNT": "harness",
    "AZURE_AI_PROJECTS_AZURE_RESOURCE_GROUP": "harness",
    "AZURE_AI_PROJECTS_AZURE_SUBSCRIPTION_ID": SUBSCRIPTION,
    "AZURE_BLOB_URI": f"{ELSEWHERE}/container/file.md",
    "AZURE_DATASET_NAME": "products",
    "AZURE_DATASET_VERSION": "1",
    "AZURE_RESOURCE_GROUP": "harness",
    "AZURE_RESOURCE_GROUP_NAME": "harness",
    "AZURE_SUBSCRIPTION_ID": SUBSCRIPTION,
    "BING_CONFIGURATION_NAME": "hiking",
    "BING_CUSTOM_SEARCH_INSTANCE_NAME": "hiking",
    "ENDPOINT_API_KEY": "key",
    "ENDPOINT_APP_ID": SUBSCRIPTION,
    "ENDPOINT_URL": "https://harness.invalid/evaluate",
    "EVALUATOR_NAME": "builtin.task_adherence",
    "FOUNDRY_AGENT_CONTAINER_IMAGE": "harness.azurecr.io/agent:1",
    "FOUNDRY_AGENT_NAME": "MyAgent",
    "GITHUB_REPOSITORY_NAME": "repository",
    "GITHUB_USERNAME": "octocat",
    "MODEL_API_KEY": "key",
    "MODEL_ENDPOINT": "https://harness.services.ai.azure.com",
    "SKIP_RBAC": "1",
    "STORAGE_INPUT_QUEUE_NAME": "input",
    "STORAGE_OUTPUT_QUEUE_NAME": "output",
    "STORAGE_QUEUE_SERVICE_ENDPOINT": "https://harness.queue.core.windows.net",
    "STORAGE_QUEUE_URI": "https://harness.queue.core.windows.net",
    "STORAGE_SERVICE_ENDPONT": "https://harness.queue.core.windows.net",
    "SUBSCRIPTION_ID": SUBSCRIPTION,
    "TEAMS_CHANNEL_URL": "https://teams.microsoft.com/l/channel/19%3Aabc%40thread.tacv2/General?groupId=g&tenantId=t",
    "resource_group_name": "harness",
}
"""What else the samples read, beside the endpoint of the project."""
ENDPOINTS = ("FOUNDRY_PROJECT_ENDPOINT", "PROJECT_ENDPOINT", "AZURE_AI_PROJECT_ENDPOINT")


def variables_of(mock):
    """Return the environment variables of a sample."""
    root = f"{ACCOUNT}/Microsoft.CognitiveServices/accounts/harness/projects/harness/connections"
    ids = {name: f"{root}/{of}" for name, (of, _) in CONNECTIONS.items()}
    names = {name: of for name, (of, _) in NAMED_CONNECTIONS.items()}
    return {**MODELS, **VARIABLES, **ids, **names, **dict.fromkeys(ENDPOINTS, mock.project_endpoint)}


def prepare(mock):
    """Make in a World what these variables name."""
    insights = VARIABLES["APPLICATIONINSIGHTS_CONNECTION_STRING"]
    kinds = {**dict(CONNECTIONS.values()), **dict(NAMED_CONNECTIONS.values()), "openai": "AzureOpenAI"}
    for name, kind in kinds.items():
        mock.connection(name, type=kind, target=f"https://{name}.invalid/", credentials="key")
    mock.connection("insights", type="AppInsights", credentials=insights)
    for model in {*MODELS.values()}:
        mock.deployment(model)
