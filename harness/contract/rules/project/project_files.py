"""The files of a Foundry project, and which of them its vector stores accept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from posixpath import splitext

from harness.api.http.dialects import FOUNDRY
from harness.contract.rule import Case, WorldView, after, assumed, recorded, rule
from harness.contract.rules.example_requests import PROJECT_PATH, upload
from harness.contract.rules.stored.vector_stores import STORE_PATH
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request


def _attach(name: str) -> Case:
    """Make an example that adds a file of this name to a project's vector store."""
    uploaded = upload("purpose=assistants", name=name)
    root = f"!{PROJECT_PATH}/openai/v1"
    return after(
        replace(uploaded, on=f"POST {root}/files"),
        Case({}, on=f"POST {root}/vector_stores"),
        Case({"file_id": "{0.id}"}, on=f"POST {root}/vector_stores/{{1.id}}/files"),
    )


SEARCHABLE_EXTENSIONS = (
    *(".c", ".cpp", ".cs", ".css", ".doc", ".docx", ".go", ".html", ".java", ".js", ".json", ".md", ".pdf", ".php"),
    *(".pptx", ".py", ".rb", ".sh", ".tex", ".ts", ".txt"),
)
"""The extensions of files that a project's vector stores accept."""


@rule(
    on=f"POST {STORE_PATH}/files",
    dialects=FOUNDRY,
    error=ApiError(
        400,
        "Files with extensions [{extension}] are not supported for retrieval. Supported file types include: "
        f"[{', '.join(SEARCHABLE_EXTENSIONS)}].",
        "file_id",
        "unsupported_file",
    ),
    source=[
        recorded("Azure/azure-sdk-assets, a Python client: the whole body", "2025-12-08"),
        assumed("that the other extensions it does not list are refused, too, and a name without one is not"),
    ],
    rejects={
        "Files with extensions [.csv] are not supported for retrieval. Supported file types include: "
        f"[{', '.join(SEARCHABLE_EXTENSIONS)}].": _attach("products.CSV")
    },
    accepts=[_attach("products.md"), _attach("products")],
    since="2025-12-08",
    fix="Convert the file, say to `.txt` or `.json`, or give it to the code interpreter.",
)
def file_not_searchable(request: Request, world: WorldView) -> Iterator[Json]:
    """A project's vector stores only accept files with certain extensions."""
    file = world.uploads.file(str(request.body.get("file_id")))
    extension = splitext(file.object["filename"])[1].lower() if file else ""
    if extension and extension not in SEARCHABLE_EXTENSIONS:
        yield {"extension": extension}
