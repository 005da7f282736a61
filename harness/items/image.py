"""Images that the model generates."""

from collections.abc import Sequence

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.text import show
from harness.items.examples import PNG, between_messages, typed
from harness.items.kind import item
from harness.items.stream_elements import Deltas, EventVisitor, FinalMember, Phase

ONE_PIXEL_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJRU5ErkJggg=="
"""A white PNG of one pixel."""

PARTIAL_IMAGE = "image_generation_call.partial_image"


class StreamedImage(FinalMember):
    """An image with its partial images, the last of which is the image itself."""

    __slots__ = ()

    def extract_deltas(self, value: Json) -> Deltas:
        """Split an image into its partial images, the last of which becomes the result."""
        shown = value.get(self.member)
        if shown is None or isinstance(shown, str):
            return {}
        if not isinstance(shown, list) or not shown or not all(isinstance(image, str) for image in shown):
            raise ScriptError(
                f"{self.member} is {show(shown)}. Pass base64, or a list of it: each image shown, in order."
            )
        value[self.member] = shown[-1]
        return {(PARTIAL_IMAGE, 0): tuple(shown)}

    def emit_events(self, value: Json, visitor: EventVisitor, place: Json) -> None:
        """Emit one event per image, with its properties."""
        like = ("background", "output_format", "quality", "size")
        visitor.visit_images(
            PARTIAL_IMAGE, {**place, **{name: value[name] for name in like if name in value}}, value.get(self.member)
        )


@item(
    "ig",
    *map(FinalMember, ("action", "background", "error", "output_format", "quality", "revised_prompt", "size")),
    Phase("in_progress"),
    Phase("generating"),
    StreamedImage("result"),
    Phase("completed"),
    tool_types=("image_generation",),
    example=between_messages(
        typed("image_generation_call", id="ig_1", result=PNG.partition(",")[2], status="completed")
    ),
)
def image_generation_call(
    result: str | Sequence[str] | None = ONE_PIXEL_PNG,
    *,
    revised_prompt: str = "An image.",
    action: str | None = None,
    size: str = "1024x1024",
    quality: str = "high",
    background: str = "opaque",
    output_format: str = "png",
    error: Json | None = None,
) -> Json:
    """Let the model generate an image: base64, or a list of the partial images in its stream, the last being the result.

    A stream always shows the finished image. With `error` there is no image and the call has failed.
    """
    like = {"background": background, "output_format": output_format, "quality": quality, "size": size}
    if error is not None:
        return {"error": error, "result": None, "status": "failed"}
    members = {**like, "result": result, "revised_prompt": revised_prompt}
    return members if action is None else {**members, "action": action}
