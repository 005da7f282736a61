import "./item.css";
import "./prose.css";
import { JsonView, Picture } from "./json";
import { isObject } from "./json_rows";
import { LongText } from "./Text";

type Members = Readonly<Record<string, unknown>>;

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Who speaks in an item and what it is, in a word or two: `user`, `get_weather`, `output`. */
export function speakerOf(item: unknown): string {
  if (!isObject(item)) return "item";
  const type = text(item.type);
  if (text(item.role)) return text(item.role);
  if (type.endsWith("_call_output")) return "output";
  if (type === "function_call") return "call";
  return type.replaceAll("_", " ") || "item";
}

/** Shows an item of a transcript as it is read: a message by its text, a call by its name and arguments, others as JSON. */
export function ItemView({ item }: { item: unknown }) {
  if (!isObject(item)) return <JsonView value={item} />;
  const type = text(item.type);
  if (text(item.role) || type === "message") return <Message item={item} />;
  if (type === "reasoning") return <Reasoning item={item} />;
  if (typeof item.arguments === "string" && text(item.name)) return <Call item={item} />;
  if (type.endsWith("_output") && "output" in item) return <Output item={item} />;
  if (type === "image_generation_call" && text(item.result)) return <Picture text={text(item.result)} />;
  return <JsonView value={item} label={speakerOf(item)} />;
}

function Message({ item }: { item: Members }) {
  const calls = list(item.tool_calls);
  return (
    <div class="item-message">
      <Content content={item.content} />
      {calls.length > 0 && <JsonView value={calls} label="tool calls" />}
    </div>
  );
}

function Content({ content }: { content: unknown }) {
  if (content === null || content === undefined) return null;
  if (typeof content === "string") return <Prose text={content} />;
  if (!Array.isArray(content)) return <JsonView value={content} />;
  if (content.length === 0) return <p class="dim">no content</p>;
  return (
    <>
      {content.map((part, index) => (
        <Part key={index} part={part} />
      ))}
    </>
  );
}

const Prose = ({ text: prose }: { text: string }) => <p class="prose">{prose ? <LongText text={prose} /> : <span class="dim">empty text</span>}</p>;

function Part({ part }: { part: unknown }) {
  if (!isObject(part)) return <JsonView value={part} />;
  if (typeof part.text === "string") {
    return (
      <>
        <Prose text={part.text} />
        {list(part.annotations).map((annotation, index) => (
          <Annotation key={index} annotation={annotation} />
        ))}
      </>
    );
  }
  if (typeof part.refusal === "string") return <Prose text={part.refusal} />;
  const address = isObject(part.image_url) ? text(part.image_url.url) : text(part.image_url);
  if (address.startsWith("data:")) return <Picture text={address} />;
  return <JsonView value={part} label={text(part.type) || "content"} />;
}

function Annotation({ annotation }: { annotation: unknown }) {
  if (!isObject(annotation)) return null;
  const told = ["title", "filename", "url", "file_id"].map((name) => text(annotation[name])).filter(Boolean);
  return (
    <p class="item-annotation dim">
      ※ {text(annotation.type).replaceAll("_", " ")} <span class="mono">{told.join(" · ")}</span>
    </p>
  );
}

function Reasoning({ item }: { item: Members }) {
  const parts = [...list(item.summary), ...list(item.content)];
  const hidden = text(item.encrypted_content);
  return (
    <div class="item-reasoning dim">
      {parts.map((part, index) => (
        <Part key={index} part={part} />
      ))}
      {hidden && <p>encrypted, {hidden.length.toLocaleString("en")} characters</p>}
      {!hidden && parts.length === 0 && <p>no summary</p>}
    </div>
  );
}

function Call({ item }: { item: Members }) {
  const sent = text(item.arguments);
  return (
    <div class="item-call">
      <p class="mono">
        <b>{text(item.name)}</b> <span class="dim">{text(item.call_id) || text(item.id)}</span>
      </p>
      <Encoded text={sent} label="arguments" />
    </div>
  );
}

function Output({ item }: { item: Members }) {
  return (
    <div class="item-output">
      <p class="mono dim">{text(item.call_id) || text(item.id)}</p>
      {typeof item.output === "string" ? <Encoded text={item.output} label="output" /> : <Content content={item.output} />}
    </div>
  );
}

/** Shows JSON that is written in a text as JSON, any other text as it is. */
function Encoded({ text: encoded, label }: { text: string; label: string }) {
  const value = parse(encoded);
  if (isObject(value) && Object.keys(value).length === 0) return <p class="mono dim">{encoded}</p>;
  if (typeof value === "object" && value !== null) return <JsonView value={value} label={label} />;
  return (
    <p class="mono prose">
      <LongText text={encoded} />
    </p>
  );
}

function parse(encoded: string): unknown {
  if (!/^\s*[[{]/.test(encoded)) return undefined;
  try {
    return JSON.parse(encoded);
  } catch {
    return undefined;
  }
}
