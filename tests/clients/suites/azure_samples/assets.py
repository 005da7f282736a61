"""The files that samples read and that no distribution of theirs carries: stand-ins, each as small as serves."""

import base64
import json

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
"""One grey pixel; what is named `.jpg` has it, too: no client looks into a picture."""
RESULTS = "quarter,sector,profit\n2023-Q1,TRANSPORTATION,1200\n2023-Q2,TRANSPORTATION,1350\n"
TEAM = """\
TEAM_LEADER_INSTRUCTIONS: "You are {agent_name}, the leader of {team_name}. Your team:"
TEAM_LEADER_INITIAL_REQUEST: "Break this request into tasks: {original_request}"
TEAM_LEADER_TASK_COMPLETENESS_CHECK_INSTRUCTIONS: "Check whether the request is complete."
TEAM_MEMBER_CAN_DELEGATE_INSTRUCTIONS: "You are {name} of {team_name}. {original_instructions} Others: {team_description}"
TEAM_MEMBER_NO_DELEGATE_INSTRUCTIONS: "You are {name} of {team_name}. {original_instructions} Others: {team_description}"
TEAM_LEADER_MODEL: gpt-4.1
"""


def _api(title, operation, parameter):
    """Return an OpenAPI specification with one operation of one parameter."""
    told = {"name": parameter, "in": "query", "required": True, "schema": {"type": "string"}}
    answered = {"200": {"description": "What was found."}}
    called = {"get": {"operationId": operation, "parameters": [told], "responses": answered}}
    info = {"title": title, "version": "1.0.0"}
    return json.dumps(
        {"openapi": "3.1.0", "info": info, "servers": [{"url": "https://example.com"}], "paths": {"/": called}}
    )


FILES = {
    "agents_tools": {
        "assets/image_file.png": PICTURE,
        "assets/cua_screenshot.jpg": PICTURE,
        "assets/cua_screenshot_next.jpg": PICTURE,
        "assets/synthetic_500_quarterly_results.csv": RESULTS,
        "assets/weather_openapi.json": _api("get weather", "GetCurrentWeather", "location"),
        "assets/countries.json": _api("countries", "LookupCountryByCurrency", "currency"),
        "assets/tripadvisor_openapi.json": _api("trips", "SearchLocations", "query"),
        "agents_multiagent/utils/agent_team_config.yaml": TEAM,
    }
}
"""By a folder that the samples of a package have, files below all of them: azure-ai-agents carries but one."""


def add_assets(root):
    """Write what the samples of a package lack."""
    for folder, files in FILES.items():
        if (root / folder).is_dir():
            for place, content in files.items():
                _write(root / place, content if isinstance(content, bytes) else content.encode())


def _write(file, content):
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
