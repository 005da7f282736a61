"""`/skills`: instructions for agents, in versions numbered by the service, each with a package to download.

The content of a version is a zip with a `SKILL.md`. Recorded 2026-05 to 2026-07: their members and order, and that a
recreated one begins with version 1. Before that they had no versions: recorded 2026-04-16 and 2026-04-17, with .NET.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from harness.api.http.dialects import FOUNDRY
from harness.api.http.multipart import CONTENT_TYPE, sent_files
from harness.api.operations import operation
from harness.api.skill_files import SKILL_FILE, read_header, zip_files
from harness.contract.rule import RuleScope, Source, WorldView, after, assumed, recorded, rule
from harness.contract.rules.http.azure import NO_ROUTE
from harness.core.exchange import Answer, Json, Request
from harness.core.json_values import as_object, as_string, omit
from harness.core.registry import TableKind, declare_table
from harness.foundry.resources import (
    ASSETS_REPOSITORY,
    Collection,
    Versioned,
    find_missing,
    page_list,
    project_case,
    project_not_found,
)
from harness.world.api_call import ApiCall
from harness.world.resources import declare_resource, member_types
from harness.world.world import World

SCOPE = RuleScope(area="resources", dialects=FOUNDRY)
SKILLS: TableKind[Versioned] = declare_table("skills")
SKILL = "/skills/{name}"
VERSIONS = f"{SKILL}/versions"
VERSIONED_SKILLS_SINCE = "2026-05-28"
"""The first day on which skills are shown with versions (recorded, with .NET)."""
SKILL_LIST = ("object", "data", "first_id", "last_id", "has_more")
"""The members of a paged list of skills (recorded 2026-07-01)."""
_HEADER_MEMBERS = {"license": "license", "compatibility": "compatibility", "allowed_tools": "allowed-tools"}
MAKE_SKILL = project_case(
    "POST /skills/mine/versions", {"inline_content": {"description": "Helps.", "instructions": "Help."}}
)


class Skills(Collection):
    """The skills of a project."""

    table = SKILLS
    list_items = staticmethod(partial(page_list, members=SKILL_LIST, no_id=None))

    def show(self, resource: Versioned, as_of: str) -> Json:
        """Show a skill with its default version."""
        shown = resource.versions[resource.default]
        if as_of < VERSIONED_SKILLS_SINCE:
            old = {"object": "skill", "skill_id": resource.id, "has_blob": resource.default in resource.uploaded}
            return {**old, "name": shown["name"], "description": shown["description"], "metadata": {}}
        return {
            "id": resource.id,
            "name": shown["name"],
            "description": shown["description"],
            "created_at": resource.created_at,
            "default_version": resource.default,
            "latest_version": resource.latest["version"],
            "object": "skill",
        }

    def list_all(self, call: ApiCall) -> Answer:
        """List the skills, newest first unless `order=asc`."""
        if call.world.as_of >= VERSIONED_SKILLS_SINCE:
            return super().list_all(call)
        shown = [self.show(skill, call.world.as_of) for skill in call.store.table(SKILLS).values()]
        return Answer(200, page_list(shown, call.query, id_member="skill_id"))

    def delete(self, call: ApiCall) -> Answer:
        """Delete a skill with all its versions."""
        named = {"id": self.find(call).id} if call.world.as_of >= VERSIONED_SKILLS_SINCE else {}
        super().delete(call)
        return Answer(200, {"object": "skill.deleted", **named, "name": call.params["name"], "deleted": True})

    def delete_version(self, call: ApiCall) -> Answer:
        """Delete a version; a skill without versions is gone."""
        name, version = call.params["name"], call.params["version"]
        named = {"id": self.find(call).versions[version]["id"], "name": name}
        super().delete_version(call)
        return Answer(200, {"object": "skill.version.deleted", **named, "deleted": True, "version": version})

    def put(
        self,
        world: World,
        name: str,
        package: bytes,
        description: str,
        *,
        default: bool = False,
        uploaded: bool = False,
    ) -> Json:
        """Add a version with its package, which was `uploaded` or made from texts, to a new or existing skill."""
        skill = self.find_or_make(world, name)
        number = skill.take_number("skill", name)
        skill.packages[number] = package
        if uploaded:
            skill.uploaded.add(number)
        now = world.tick()
        made = {
            "id": f"{skill.id}:{number}",
            "skill_id": skill.id,
            "name": name,
            "version": number,
            "description": description,
            "created_at": now,
            "object": "skill.version",
        }
        skill.add(now, made)
        if default:
            skill.default = number
        return made


_SKILLS = Skills()
_SKILLS.register()


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
    return Answer(200, _SKILLS.put(call.world, name, package, description, default=default, uploaded=uploaded))


@operation("POST", "/skills:import", project=True, content="bytes")
def import_package(call: ApiCall) -> Answer:
    """Create a skill from a zip that contains its name, as clients up to azure-ai-projects 2.1 do (recorded)."""
    header = read_header(call.request.raw)
    name = header.get("name") or "skill"
    _SKILLS.put(call.world, name, call.request.raw, header.get("description", ""), uploaded=True)
    shown = _SKILLS.show(call.store.table(SKILLS)[name], call.world.as_of)
    return Answer(201, omit(shown, "metadata"))


@operation("POST", "/skills", project=True)
def create(call: ApiCall) -> Answer:
    """Create a skill from its texts, as clients did before skills had versions (recorded 2026-04-16)."""
    name, body = as_string(call.body["name"]), call.body
    _SKILLS.put(call.world, name, write_package(name, body), as_string(body["description"]), default=True)
    return Answer(201, _SKILLS.show(call.store.table(SKILLS)[name], call.world.as_of))


@operation("POST", SKILL, project=True)
def update(call: ApiCall) -> Answer:
    """Change the default version; before skills had versions, change the skill's texts (recorded 2026-04-17)."""
    name, body = call.params["name"], as_object(call.body)
    if isinstance(version := body.get("default_version"), str):
        _SKILLS.find(call).default = version
    else:
        description = as_string(body.get("description"))
        _SKILLS.put(call.world, name, write_package(name, body), description, default=True)
    return _SKILLS.retrieve(call)


@operation("GET", f"{SKILL}/content", project=True)
def download(call: ApiCall) -> Answer:
    """Return the package of the default version."""
    return _answer_package(call, _SKILLS.find(call).default)


@operation("GET", f"{VERSIONS}/{{version}}/content", project=True)
def download_version(call: ApiCall) -> Answer:
    """Return the package of a version."""
    return _answer_package(call, call.params["version"])


@operation("GET", f"{SKILL}:download", project=True)
def download_as_before(call: ApiCall) -> Answer:
    """Return a skill's package as clients up to azure-ai-projects 2.1 request it; recorded: labelled as gzip."""
    return Answer(200, _SKILLS.find(call).package(), {"content-type": "application/gzip"})


def _answer_package(call: ApiCall, version: str) -> Answer:
    named = f"{call.params['name']}-v{version}.zip"
    disposition = f"attachment; filename={named}; filename*=UTF-8''{named}"
    headers = {"content-type": "application/zip", "content-disposition": disposition}
    return Answer(200, _SKILLS.find(call).packages[version], headers)


def write_package(name: str, content: Json) -> bytes:
    """Make the package of a skill whose content is in the request: a SKILL.md with its instructions."""
    lines = [f"name: {name}", f"description: {content.get('description', '')}"]
    lines += [f"{label}: {content[member]}" for member, label in _HEADER_MEMBERS.items() if content.get(member)]
    metadata = content.get("metadata")
    if isinstance(metadata, Mapping) and metadata:
        lines += ["metadata:", *(f"  {key}: {value}" for key, value in metadata.items())]
    text = "\n".join(["---", *lines, "---", "", str(content.get("instructions", ""))])
    return zip_files([(SKILL_FILE, text.encode("utf-8", "replace"))])


def package_of(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Make a package of uploaded files: the zip itself if that is the only one, otherwise a zip of them."""
    uploaded = list(files)
    if len(uploaded) == 1 and uploaded[0][1].startswith(b"PK"):
        return uploaded[0][1]
    return zip_files(uploaded)


@declare_resource("skill", member_types("instructions description license compatibility", "metadata", "allowed_tools"))
def make_skill(world: World, name: str, members: Json) -> str:
    """Create a version of a skill, its default."""
    package = write_package(name, members)
    return str(_SKILLS.put(world, name, package, members.get("description", ""), default=True)["id"])


@rule(
    project_not_found("Skill '{name}'{version} not found."),
    recorded(f"{ASSETS_REPOSITORY}: azure-ai-projects for Python, sample_skills_crud", "2026-07-01"),
    assumed("the words about a version"),
    on=("GET /skills/{name}*", "DELETE /skills/{name}*", "POST /skills/{name}"),
    rejects={
        "Skill 'other' not found.": project_case("DELETE /skills/other"),
        "Skill 'mine' version '2' not found.": after(MAKE_SKILL, project_case("GET /skills/mine/versions/2")),
    },
    accepts=[after(MAKE_SKILL, project_case("GET /skills/mine"))],
    fix="Create it first: `POST /skills/{name}/versions`, or `mock.skill(…)`.",
)
def skill_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """A skill must exist, in the version that is requested or made the default."""
    yield from find_missing(request, world, SKILLS)


@rule(
    NO_ROUTE,
    Source("typed", "azure-ai-projects 2.10: a skill is made by its first version"),
    assumed("that the former path has been gone since the first day on which versions were recorded"),
    area="resource_bodies",
    on="POST /skills",
    since=VERSIONED_SKILLS_SINCE,
    rejects=[project_case("POST /skills", {"name": "mine", "description": "Helps.", "instructions": "Help."})],
    accepts=[MAKE_SKILL],
    fix="Create a version: `POST /skills/{name}/versions`; `as_of` a day before 2026-05-28 has the path.",
)
def skill_without_version(request: Request) -> bool:
    """Since skills have versions, a skill is created by creating its first version."""
    return True
