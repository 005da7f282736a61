/** Instructions, tools and settings of a request, with what changed since the one before in its lane. */
import type { ComponentChildren } from "preact";
import { link } from "../address";
import type { OpenedCase, OpenedExchange } from "../data/opened";
import { JsonDiff, TextDiff } from "../parts/diff";
import { JsonView } from "../parts/json";
import { identify, isEqual } from "../parts/json_difference";
import { isObject } from "../parts/json_rows";

export function SidePanel({ opened, exchange }: { opened: OpenedCase; exchange: OpenedExchange }) {
  const before = opened.before(exchange.number);
  const parts = [
    <Instructions key="instructions" was={before?.instructions} is={exchange.instructions} before={before} opened={opened} />,
    <Tools key="tools" was={before?.tools} is={exchange.tools} before={before} opened={opened} />,
    <Settings key="settings" was={before?.settings} is={exchange.settings} before={before} opened={opened} />,
  ];
  return <div class="side-panel">{parts}</div>;
}

interface PartProps {
  readonly was: unknown;
  readonly is: unknown;
  readonly before: OpenedExchange | undefined;
  readonly opened: OpenedCase;
}

const isNothing = (value: unknown): boolean => value === null || value === undefined || value === "" || (Array.isArray(value) && value.length === 0);

function Part({ title, children, was, is, before, opened }: PartProps & { title: string; children: ComponentChildren }) {
  if (isNothing(is) && isNothing(was)) return null;
  const changed = before !== undefined && !isEqual(was ?? null, is ?? null) && !(isNothing(was) && isNothing(is));
  return (
    <section>
      <h3>
        {title}
        {changed && before && (
          <span class="doubtful">
            {" "}
            ! changed since <a href={link.case(opened.id, before.number)}>request {before.number}</a>
          </span>
        )}
      </h3>
      {children}
    </section>
  );
}

/** What changed in the instructions; as they are they stand first in the transcript. */
function Instructions(props: PartProps) {
  const { was, is, before } = props;
  if (!before || isEqual(was ?? null, is ?? null)) return null;
  return (
    <Part {...props} title="Instructions">
      {typeof was === "string" && typeof is === "string" ? (
        <p class="prose">
          <TextDiff was={was} is={is} />
        </p>
      ) : isNothing(is) ? (
        <p class="dim">none</p>
      ) : (
        <JsonDiff was={was} is={is} />
      )}
    </Part>
  );
}

/** The name of a tool: its own, that of its server, or its kind. */
function nameOf(tool: unknown): string {
  if (!isObject(tool)) return String(tool);
  const inner = isObject(tool.function) ? tool.function : tool;
  const name = inner.name ?? tool.server_label ?? tool.type;
  return typeof name === "string" ? name : "tool";
}

function Tools(props: PartProps) {
  const is = Array.isArray(props.is) ? props.is : [];
  const was = props.before && Array.isArray(props.was) ? props.was : null;
  const known = new Map((was ?? []).map((tool) => [identify(tool), tool]));
  const kept = new Set(is.map(identify));
  const gone = (was ?? []).filter((tool) => !kept.has(identify(tool)));
  return (
    <Part {...props} title={`Tools${is.length ? ` (${is.length})` : ""}`}>
      {is.map((tool, index) => (
        <Tool key={index} tool={tool} was={known.get(identify(tool))} isNew={was !== null && !known.has(identify(tool))} />
      ))}
      {gone.map((tool, index) => (
        <p key={`gone${index}`} class="mono tool">
          <del>{nameOf(tool)}</del> <span class="dim">removed</span>
        </p>
      ))}
      {is.length === 0 && gone.length === 0 && <p class="dim">none</p>}
    </Part>
  );
}

function Tool({ tool, was, isNew }: { tool: unknown; was: unknown; isNew: boolean }) {
  const changed = was !== undefined && !isEqual(was, tool);
  const described = isObject(tool) && typeof tool.description === "string" ? tool.description : "";
  return (
    <details class="tool">
      <summary>
        <span class="mono">{isNew ? <ins>{nameOf(tool)}</ins> : nameOf(tool)}</span>{" "}
        <span class="dim">
          {isNew ? "added " : changed ? "changed " : ""}
          {described}
        </span>
      </summary>
      {changed ? <JsonDiff was={was} is={tool} /> : <JsonView value={tool} label={nameOf(tool)} />}
    </details>
  );
}

/** The chain is told by the transcript; each request has another. */
function withoutChain(settings: unknown): unknown {
  if (!isObject(settings) || !("previous_response_id" in settings)) return settings;
  return Object.fromEntries(Object.entries(settings).filter(([name]) => name !== "previous_response_id"));
}

function Settings({ was: whole, is: wholeNow, before, opened }: PartProps) {
  const [was, is] = [withoutChain(whole), withoutChain(wholeNow)];
  const props = { was, is, before, opened };
  const changed = before && isObject(was) && isObject(is) && !isEqual(was, is);
  return (
    <Part {...props} title="Settings">
      {changed ? <JsonDiff was={was} is={is} /> : isNothing(is) ? <p class="dim">none</p> : <JsonView value={is} label="settings" />}
    </Part>
  );
}
