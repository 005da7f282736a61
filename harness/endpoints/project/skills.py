"""`/skills`: instructions for agents, in versions numbered by the service, each with a package to download."""

from __future__ import annotations

from harness.api.http.multipart import CONTENT_TYPE, sent_files
from harness.api.operations import operation
from harness.api.project.lists import SKILL_LIST, page_list
from harness.api.project.skills import VERSIONED_SKILLS_SINCE, package_of, read_header, render_skill, write_package
from harness.api.project.versions import Versioned
from harness.core.exchange import Answer
from harness.core.json_values import as_object, as_string
from harness.world.api_call import ApiCall
from harness.world.project_resources import put_skill

SKILLS = "/skills"
SKILL = f"{SKILLS}/{{name}}"
VERSIONS = f"{SKILL}/versions"
VERSION = f"{VERSIONS}/{{version}}"


@operation("POST", VERSIONS, project=True, content="form or json")
def create_version(call: ApiCall) -> Answer:
    """Add a version to a skill, from JSON content or from uploaded files: one zip, or several files."""
    name, body = call.params["name"], call.body
    uploaded = call.request.headers.get("content-type", "").startswith(CONTENT_TYPE)
    if uploaded:
        package = package_of(
            (file["filename"], content.read())
            for file, content in zip(body["files"], sent_files(call.request, "files"), strict=True)
        )
        description = read_header(package).get("description", "")
    else:
        package, description = write_package(name, body["inline_content"]), body["inline_content"]["description"]
    default = str(body.get("default", "")).lower() == "true"
    return Answer(200, put_skill(call.world, name, package, description, default=default, uploaded=uploaded))


@operation("POST", f"{SKILLS}:import", project=True, content="bytes")
def import_package(call: ApiCall) -> Answer:
    """Create a skill from a zip that contains its name, as clients up to azure-ai-projects 2.1 do (recorded)."""
    header = read_header(call.request.raw)
    name = header.get("name") or "skill"
    put_skill(call.world, name, call.request.raw, header.get("description", ""), uploaded=True)
    shown = render_skill(call.store.skills[name], call.world.as_of)
    return Answer(201, {member: value for member, value in shown.items() if member != "metadata"})


@operation("POST", SKILLS, project=True)
def create(call: ApiCall) -> Answer:
    """Create a skill from its texts, as clients did before skills had versions (recorded 2026-04-16)."""
    name, body = as_string(call.body["name"]), call.body
    put_skill(call.world, name, write_package(name, body), as_string(body["description"]), default=True)
    return Answer(201, render_skill(call.store.skills[name], call.world.as_of))


@operation("GET", SKILLS, project=True)
def list_skills(call: ApiCall) -> Answer:
    """List the skills, newest first unless `order=asc`."""
    shown = [render_skill(skill, call.world.as_of) for skill in call.store.skills.values()]
    if call.world.as_of < VERSIONED_SKILLS_SINCE:
        return Answer(200, page_list(shown, call.query, id_member="skill_id"))
    return Answer(200, page_list(shown, call.query, SKILL_LIST, None))


@operation("GET", SKILL, project=True)
def retrieve(call: ApiCall) -> Answer:
    """Retrieve a skill with its default version."""
    return Answer(200, render_skill(call.store.skills[call.params["name"]], call.world.as_of))


@operation("POST", SKILL, project=True)
def update(call: ApiCall) -> Answer:
    """Change the default version; before skills had versions, change the skill's texts (recorded 2026-04-17)."""
    name, body = call.params["name"], as_object(call.body)
    if isinstance(version := body.get("default_version"), str):
        call.store.skills[name].default = version
    else:
        description = as_string(body.get("description"))
        put_skill(call.world, name, write_package(name, body), description, default=True)
    return Answer(200, render_skill(call.store.skills[name], call.world.as_of))


@operation("DELETE", SKILL, project=True)
def delete(call: ApiCall) -> Answer:
    """Delete a skill with all its versions."""
    name = call.params["name"]
    named = {"id": call.store.skills.pop(name).id} if call.world.as_of >= VERSIONED_SKILLS_SINCE else {}
    return Answer(200, {"object": "skill.deleted", **named, "name": name, "deleted": True})


@operation("GET", VERSIONS, project=True)
def list_versions(call: ApiCall) -> Answer:
    """List the versions of a skill, newest first unless `order=asc`."""
    versions = call.store.skills[call.params["name"]].versions
    return Answer(200, page_list(list(versions.values()), call.query, SKILL_LIST, None))


@operation("GET", VERSION, project=True)
def retrieve_version(call: ApiCall) -> Answer:
    """Retrieve a version of a skill."""
    return Answer(200, call.store.skills[call.params["name"]].versions[call.params["version"]])


@operation("DELETE", VERSION, project=True)
def delete_version(call: ApiCall) -> Answer:
    """Delete a version; a skill without versions is gone."""
    skills, name, version = call.store.skills, call.params["name"], call.params["version"]
    id = skills[name].versions[version]["id"]
    skills[name].remove(version)
    if not skills[name].versions:
        del skills[name]
    return Answer(200, {"object": "skill.version.deleted", "id": id, "name": name, "deleted": True, "version": version})


@operation("GET", f"{SKILL}/content", project=True)
def download(call: ApiCall) -> Answer:
    """Return the package of the default version."""
    skill = call.store.skills[call.params["name"]]
    return _package_answer(skill, call.params["name"], skill.default)


@operation("GET", f"{VERSION}/content", project=True)
def download_version(call: ApiCall) -> Answer:
    """Return the package of a version."""
    name = call.params["name"]
    return _package_answer(call.store.skills[name], name, call.params["version"])


@operation("GET", f"{SKILL}:download", project=True)
def download_as_before(call: ApiCall) -> Answer:
    """Return a skill's package as clients up to azure-ai-projects 2.1 request it; recorded: labelled as gzip."""
    skill = call.store.skills[call.params["name"]]
    return Answer(200, skill.packages[skill.default], {"content-type": "application/gzip"})


def _package_answer(skill: Versioned, name: str, version: str) -> Answer:
    named = f"{name}-v{version}.zip"
    disposition = f"attachment; filename={named}; filename*=UTF-8''{named}"
    return Answer(200, skill.packages[version], {"content-type": "application/zip", "content-disposition": disposition})
