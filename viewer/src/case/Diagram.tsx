/** The sequence diagram of a case, as a picture. */
import { useMemo, useRef } from "preact/hooks";
import { go, link } from "../address";
import type { OpenedCase } from "../data/opened";
import { isObject, type Json } from "../data/pool";
import { Copy, Download } from "../parts/Copy";

interface Message {
  readonly source: number;
  readonly target: number;
  readonly kind: string;
  readonly text: string;
  readonly exchange: number;
}

const STEP = 200;
const ROW = 44;
const LINE = 15;
const TOP = 56;
const SIDE = 110;
/** How many characters of 12 pixels fit between two participants. */
const FIT = 26;

function readSequence(value: Json): { participants: string[]; messages: Message[] } {
  const sequence = isObject(value) ? value : {};
  const list = (name: string) => (Array.isArray(sequence[name]) ? (sequence[name] as readonly Json[]) : []);
  const message = (sent: Json): Message[] =>
    isObject(sent)
      ? [
          {
            source: Number(sent["source"]),
            target: Number(sent["target"]),
            kind: String(sent["kind"]),
            text: String(sent["text"] ?? ""),
            exchange: Number(sent["exchange"] ?? 0),
          },
        ]
      : [];
  return { participants: list("participants").map(String), messages: list("messages").flatMap(message) };
}

export function Diagram({ opened }: { opened: OpenedCase }) {
  const { participants, messages } = useMemo(() => readSequence(opened.sequence), [opened]);
  const picture = useRef<SVGSVGElement>(null);
  if (messages.length === 0) return <p class="empty">There is nothing to draw.</p>;
  return (
    <>
      <div class="acts">
        <Copy label="copy as Mermaid" text={() => opened.mermaid} />
        <Download label="download as SVG" name={`${opened.row.name}.svg`} type="image/svg+xml" text={() => standAlone(picture.current)} />
      </div>
      <div class="sequence-box scrolls" tabIndex={0} role="group" aria-label="Sequence diagram">
        <Drawing id={opened.id} participants={participants} messages={messages} picture={picture} />
      </div>
    </>
  );
}

interface Drawn {
  readonly id: string;
  readonly participants: readonly string[];
  readonly messages: readonly Message[];
  readonly picture: { current: SVGSVGElement | null };
}

function Drawing({ id, participants, messages, picture }: Drawn) {
  let bottom = TOP;
  const placed = messages.map((message) => {
    const lines = split(message.text, FIT * Math.max(1, Math.abs(message.source - message.target)));
    bottom += ROW + (lines.length - 1) * LINE;
    return { message, lines, y: bottom - 16 };
  });
  const width = SIDE * 2 + STEP * (participants.length - 1);
  return (
    <svg
      ref={picture}
      width={width}
      height={bottom + 24}
      viewBox={`0 0 ${width} ${bottom + 24}`}
      role="img"
      aria-label={`Who sent what to whom: ${participants.join(", ")}`}
      class="sequence"
    >
      {participants.map((name, place) => (
        <g key={place}>
          <line class="life" x1={SIDE + place * STEP} x2={SIDE + place * STEP} y1={TOP - 16} y2={bottom + 12} />
          <text class="participant" x={SIDE + place * STEP} y={TOP - 30} text-anchor="middle">
            <title>{name}</title>
            {shorten(name, FIT)}
          </text>
        </g>
      ))}
      {placed.map(({ message, lines, y }, index) => (
        <Arrow key={index} id={id} message={message} lines={lines} y={y} />
      ))}
    </svg>
  );
}

function Arrow({ id, message, lines, y }: { id: string; message: Message; lines: readonly string[]; y: number }) {
  const from = SIDE + message.source * STEP;
  const to = SIDE + message.target * STEP;
  const itself = from === to;
  const way = to >= from ? 1 : -1;
  const head = itself ? `M${from + 8},${y - 4} L${from},${y} L${from + 8},${y + 4}` : `M${to - way * 8},${y - 4} L${to},${y} L${to - way * 8},${y + 4}`;
  const open = () => message.exchange > 0 && go(link.case(id, message.exchange));
  return (
    <g class={`arrow ${message.kind} ${message.exchange ? "leads" : ""}`} onClick={open}>
      <title>{message.text}</title>
      {lines.map((line, index) => (
        <text key={index} x={itself ? from + 12 : (from + to) / 2} y={y - 8 - (lines.length - 1 - index) * LINE} text-anchor={itself ? "start" : "middle"}>
          {line}
        </text>
      ))}
      <path class="shaft" d={itself ? `M${from},${y - 14} h30 v14 h-30` : `M${from},${y} L${to},${y}`} />
      {message.kind === "failure" ? (
        <path class="head" d={`M${to - way * 10},${y - 5} l${way * 10},10 m0,-10 l${-way * 10},10`} />
      ) : (
        <path class="head" d={head} />
      )}
    </g>
  );
}

const shorten = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Breaks a text into lines of at most so many characters, at spaces where there are some. */
function split(text: string, most: number): string[] {
  const lines: string[] = [];
  let rest = text.trim();
  while (rest.length > most && lines.length < 3) {
    const space = rest.lastIndexOf(" ", most);
    const at = space > most / 2 ? space : most;
    lines.push(rest.slice(0, at));
    rest = rest.slice(at).trim();
  }
  return [...lines, shorten(rest, most)];
}

/** Writes the picture with its colours, so that it looks the same elsewhere. */
function standAlone(picture: SVGSVGElement | null): string {
  if (!picture) return "";
  const copy = picture.cloneNode(true) as SVGSVGElement;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const shapes = picture.querySelectorAll("text, line, path");
  copy.querySelectorAll("text, line, path").forEach((shape, index) => {
    const source = shapes[index];
    if (!source) return;
    const style = getComputedStyle(source);
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight"])
      shape.setAttribute(name, style.getPropertyValue(name));
  });
  return new XMLSerializer().serializeToString(copy);
}
