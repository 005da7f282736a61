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

/* The diagram: what the Mermaid text of a test says, as a drawing. */
const SVG = "http://www.w3.org/2000/svg";
function drawn(name, props, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(props)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}
function readDiagram(text) {
  const plain = (told) => told.replace(/#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)));
  const people = new Map(), arrows = [];
  for (const line of text.split("\n").slice(1)) {
    const named = /^\s*(participant|actor) (\S+) as (.*)$/.exec(line);
    const arrow = /^\s*(P\d+)(->>|-->>|--x)(P\d+): (.*)$/.exec(line);
    if (named) people.set(named[2], { name: plain(named[3]), place: people.size });
    else if (arrow) arrows.push({ by: arrow[1], head: arrow[2], to: arrow[3], text: plain(arrow[4]) });
  }
  return { people: [...people.values()], arrows: arrows.map((one) =>
    ({ ...one, by: people.get(one.by).place, to: people.get(one.to).place })) };
}
const shortened = (text, size) => ([...text].length > size ? [...text].slice(0, size - 1).join("") + "…" : text);
let drawings = 0;
function drawDiagram(test, body) {
  const { people, arrows } = readDiagram(test.diagram);
  const wide = 260, high = 30, top = 44, id = `d${drawings++}`;
  const width = Math.max(2, people.length) * wide, height = top + arrows.length * high + 16;
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Sequence of ${arrows.length} messages between ${people.map((one) => one.name).join(", ")}` });
  for (const [name, path] of [["to", "M0 0 L8 4 L0 8 z"], ["no", "M0 0 L8 8 M8 0 L0 8"]]) {
    const marker = drawn("marker", { id: id + name, markerWidth: 8, markerHeight: 8, refX: 8, refY: 4, orient: "auto" });
    marker.append(drawn("path", { d: path, fill: "currentColor", stroke: "currentColor" }));
    svg.append(marker);
  }
  const middle = (place) => place * wide + wide / 2;
  for (const { name, place } of people) {
    svg.append(drawn("line", { x1: middle(place), x2: middle(place), y1: 32, y2: height, stroke: "var(--line)" }));
    svg.append(drawn("rect", { x: middle(place) - 95, y: 6, width: 190, height: 26, rx: 5, fill: "var(--raised)", stroke: "var(--line)" }));
    svg.append(drawn("text", { x: middle(place), y: 23, "text-anchor": "middle", fill: "currentColor" }, shortened(name, 26)));
  }
  for (const [row, arrow] of arrows.entries()) svg.append(drawArrow(arrow, top + row * high, middle, id, wide, body));
  return made("div", { className: "diagram", tabIndex: 0 }, svg);
}
function drawArrow({ by, to, head, text }, y, middle, id, wide, body) {
  const group = drawn("g", {}), color = head === "--x" ? "var(--bad)" : "currentColor";
  const span = Math.max(1, Math.abs(by - to)), left = Math.min(middle(by), middle(to));
  group.append(drawn("title", {}, text));
  const line = { x1: middle(by), x2: middle(to), y1: y + 18, y2: y + 18, stroke: color, style: `color:${color}`,
    "stroke-dasharray": head === "->>" ? "none" : "5 4", "marker-end": `url(#${id}${head === "--x" ? "no" : "to"})` };
  group.append(drawn("line", line));
  group.append(drawn("text", { x: left + span * wide / 2, y: y + 13, "text-anchor": "middle", fill: color }, shortened(text, span * 40)));
  const number = /^(\d+)\. /.exec(text)?.[1];
  if (number) {
    group.setAttribute("style", "cursor:pointer");
    group.addEventListener("click", () => {
      const row = body.querySelector(`.row[data-number="${number}"]`);
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
