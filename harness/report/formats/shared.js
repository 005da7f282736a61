/* What the pages of reports share: elements, drawn diagrams, light and dark. */
const at = (id) => document.getElementById(id);

function made(name, props = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (key in node && key !== "list") node[key] = value; else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== ""));
  return node;
}

/* The flow, as a drawing. */
const SVG = "http://www.w3.org/2000/svg";
function drawn(name, props, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(props)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}
const shortened = (text, size) => ([...text].length > size ? [...text].slice(0, size - 1).join("") + "…" : text);
let drawings = 0;
function drawSequence({ participants, messages }, body) {
  const wide = 260, high = 30, top = 44, id = `d${drawings++}`;
  const width = Math.max(2, participants.length) * wide, height = top + messages.length * high + 16;
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Sequence of ${messages.length} messages between ${participants.join(", ")}` });
  for (const [name, path] of [["to", "M0 0 L8 4 L0 8 z"], ["no", "M0 0 L8 8 M8 0 L0 8"]]) {
    const marker = drawn("marker", { id: id + name, markerWidth: 8, markerHeight: 8, refX: 8, refY: 4, orient: "auto" });
    marker.append(drawn("path", { d: path, fill: "currentColor", stroke: "currentColor" }));
    svg.append(marker);
  }
  const middle = (place) => place * wide + wide / 2;
  for (const [place, name] of participants.entries()) {
    svg.append(drawn("line", { x1: middle(place), x2: middle(place), y1: 32, y2: height, stroke: "var(--line)" }));
    svg.append(drawn("rect", { x: middle(place) - 95, y: 6, width: 190, height: 26, rx: 5, fill: "var(--raised)", stroke: "var(--line)" }));
    svg.append(drawn("text", { x: middle(place), y: 23, "text-anchor": "middle", fill: "currentColor" }, shortened(name, 26)));
  }
  for (const [row, message] of messages.entries()) svg.append(drawMessage(message, top + row * high, middle, id, wide, body));
  return made("div", { className: "diagram", tabIndex: 0 }, svg);
}
function drawMessage({ source, target, kind, text, exchange }, y, middle, id, wide, body) {
  const group = drawn("g", {}), failed = kind === "failure", color = failed ? "var(--bad)" : "currentColor";
  const span = Math.max(1, Math.abs(source - target)), left = Math.min(middle(source), middle(target));
  group.append(drawn("title", {}, text));
  const line = { x1: middle(source), x2: middle(target), y1: y + 18, y2: y + 18, stroke: color, style: `color:${color}`,
    "stroke-dasharray": kind === "request" ? "none" : "5 4", "marker-end": `url(#${id}${failed ? "no" : "to"})` };
  group.append(drawn("line", line));
  group.append(drawn("text", { x: left + span * wide / 2, y: y + 13, "text-anchor": "middle", fill: color }, shortened(text, span * 40)));
  if (exchange) {
    group.setAttribute("style", "cursor:pointer");
    group.addEventListener("click", () => {
      const row = body.querySelector(`.row[data-number="${exchange}"]`);
      row?.drawNow();
      row?.scrollIntoView({ block: "center" });
    });
  }
  return group;
}

/* Light and dark */
const THEMES = ["auto", "light", "dark"];
function setTheme(theme) {
  if (theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = theme;
  at("theme").textContent = `Theme: ${theme}`;
  try { localStorage.setItem("theme", theme); } catch { /* a page from a file may not store */ }
}
function drawTheme() {
  let theme = "auto";
  try { theme = localStorage.getItem("theme") ?? "auto"; } catch { /* likewise */ }
  if (!THEMES.includes(theme)) theme = "auto";
  setTheme(theme);
  at("theme").addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    setTheme(theme);
  });
}
